"""Rules of the pages that users read, and which pages still break them.

    python -m tests.docs.prose               hits by rule and page
    python -m tests.docs.prose docs/soft.md  every hit on these pages
    python -m tests.docs.prose --shrink      take pages that keep a rule now out of the list

User pages are the README and the Markdown of ``docs/`` and ``docs/methods/``; pages of research are exempt,
and so are those that only include a file of the checkout. ``open_prose.json`` lists the pages that break a
rule: rule -> pages. A test holds pages to it both ways, so that it can only become shorter.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPEN = Path(__file__).with_name("open_prose.json")
#: They include what contributors read.
INCLUDED = {"docs/changelog.md", "docs/contributing.md"}
#: Most words of a page, code and tables included.
WORDS = {"README.md": 450, "docs/index.md": 250, "docs/methods/": 600, "docs/": 900}

FENCE = re.compile(r"^(`{3,})(\S*)\n(.*?)^\1\s*?$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.S)
NUMBER = re.compile(r"\d*\.\d+|\d+%|\b\d[\d,]*\d\b")

#: Words and turns by rule; each is looked for in prose, without regard for case.
PATTERNS = {
    "history": r"""\bhalf\ [AB]\b | \brule\ before\b | \b(the\ same|confidences|figures?|default)\ before\b
        | \bsince, | \b(was|were|been)\ (chosen|tried|picked|settled|withdrawn|mended|looked\ at|replaced)\b
        | \bfirst\ choice\ was\b | \bno\ longer\b | \buntil\ (they|it)\ (are|is)\ run\b | \bearlier\ commit\b
        | \bformer(ly)?\b | \bused\ to\ be\b | \bnot\ at\ hand\b | \bin\ view,
        | \b(built|not\ built)[:;,] | \bleft\ out: | \bso\ the\ formula\ stays\b""",
    "provenance": r"""\bcommit\ [0-9a-f]{7} | \bload\ (not\ noted|\d) | \bbusy\b | \bseeds?\ \d{2,}
        | \bpython\ -m\ (benchmarks|reproduction) | \bbenchmarks/ | \b2\ cores\ of\b""",
    "private words": r"""\b(rooms?|pools?|witness(es)?|in\ print|printed|as\ given|pieces?|company
        |rightly\ placed|sets\ of\ the\ (choice|report)|the\ like|trust\ in|the\ truth
        |_kernels|_evidence|_results)\b""",
    "unidiomatic": r"""\b(that|which)\ is\ said\b | \bsays?\ so\b | \bwill\ not\ do\b | \banew\b
        | \bdear(er|est)?\b | \bis\ no\ (pickle|proof|cluster|evidence|difference|difficulty|independent)\b
        | \bis\ no\ (untouched|test|descent|product)\b | \bof\ (its|their)\ own\b
        | (?:^|[.;:]\ )(?-i:O)f\ [a-z] | \bamong\ the\ answers\b | \bby\ itself\b | \bhas\ them\b
        | \bat\ home\ here\b | \bmoreover\b | \b(is|are)\ refused\b
        | \bsome\ (ten|hundred|thousand|thirty|dozens?|forty|sixty|fifteen)\b
        | \ba\ (vector|row|method|member|run|object|point|step|round|task)\ and\b""",
    "no leading zero": r"(?<![\w.])\.\d{1,4}\b",
}
EXPRESSIONS = {name: re.compile(words, re.I | re.M | re.X) for name, words in PATTERNS.items()}


def pages() -> list[str]:
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "methods").glob("*.md")]
    names = {file.relative_to(ROOT).as_posix() for file in files}
    return sorted(names - INCLUDED)


def without_code(text: str) -> str:
    return FENCE.sub("", COMMENT.sub("", text))


def passages(text: str) -> Iterator[str]:
    """Paragraphs and items of lists, without headings, tables and indented blocks; code is one word."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", FORMULA.sub(" X ", without_code(text))):
        lines = [line for line in block.split("\n") if not re.match(r" {4}|\s*[|#:]", line)]
        words = re.sub(r"`[^`]*`|doi:[^\]\s]+", "X", re.sub(r"\]\([^)]*\)", "]", " ".join(lines)))
        yield re.sub(r"\s+", " ", words).strip()


def sentences(text: str) -> Iterator[str]:
    for passage in passages(text):
        yield from re.split(r"(?<=[.!?])\s+", passage)


def tables(text: str) -> Iterator[list[str]]:
    """The rows of each table, its head first."""
    for block in re.findall(r"(?:^ *\|.*\n?)+", without_code(text), re.M):
        lines = [line.strip() for line in block.strip().split("\n")]
        yield [line for line in lines if not re.fullmatch(r"[|\s:-]+", line)]


def worded(name: str) -> Callable[[str], list[str]]:
    """Hits of the expressions of a rule, in prose and in tables, outside code and formulas."""

    def hits(text: str) -> list[str]:
        prose = re.sub(r"`[^`]*`", "X", FORMULA.sub(" X ", without_code(text)))
        return [match[0].strip() for match in EXPRESSIONS[name].finditer(prose)]

    return hits


def long_sentences(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(sentence.split()) > 30]


def crowded_sentences(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if len(NUMBER.findall(sentence)) > 3]


def large_tables(text: str) -> list[str]:
    return [rows[0] for rows in tables(text) if len(rows) - 1 > 8 or len(columns(rows[0])) > 5]


def columns(row: str) -> list[str]:
    return re.split(r"(?<!\\)\|", row.strip().strip("|"))


def wide_code(text: str) -> list[str]:
    """Lines of blocks that a reader copies: not of output, nor of what the site makes of a block."""
    kinds = ((match[2], match[3]) for match in FENCE.finditer(COMMENT.sub("", text)))
    code = (inside for kind, inside in kinds if kind != "text" and not kind.startswith("{"))
    return [line for block in code for line in block.split("\n") if len(line) > 80]


def plain_formulas(text: str) -> list[str]:
    """Formulas of letters and signs, in an indented block."""
    return re.findall(r"^ {4}.*(?:sum_|argmin|<-|\^-?\d|\|\|).*$", without_code(text), re.M)


def no_output(text: str) -> list[str]:
    """A page whose Python shows nothing of what it prints."""
    kinds = [match[2] for match in FENCE.finditer(COMMENT.sub("", text))]
    return ["no block of output"] if "python" in kinds and "text" not in kinds else []


RULES: dict[str, Callable[[str], list[str]]] = {
    **{name: worded(name) for name in PATTERNS},
    "sentence above 30 words": long_sentences,
    "more than 3 numbers in a sentence": crowded_sentences,
    "table above 5 columns or 8 rows": large_tables,
    "code above 80 columns": wide_code,
    "formula in plain text": plain_formulas,
    "code without output": no_output,
}


def most_words(page: str) -> int:
    return next(most for start, most in WORDS.items() if page.startswith(start))


def words_of(text: str) -> int:
    return len(COMMENT.sub("", text).split())


def broken(page: str, text: str) -> dict[str, list[str]]:
    """Rules that a page breaks, and where."""
    found = {name: hits for name, rule in RULES.items() if (hits := rule(text))}
    if (words := words_of(text)) > most_words(page):
        found["too long"] = [f"{words} words, at most {most_words(page)}"]
    return found


def state() -> dict[str, dict[str, list[str]]]:
    """Rule -> page -> hits, now."""
    out: dict[str, dict[str, list[str]]] = {name: {} for name in (*RULES, "too long")}
    for page in pages():
        for rule, hits in broken(page, (ROOT / page).read_text("utf-8")).items():
            out[rule][page] = hits
    return out


def listed() -> dict[str, list[str]]:
    return json.loads(OPEN.read_text("utf-8"))


def main(args: list[str]) -> None:
    if args == ["--shrink"]:
        now = state()
        kept = {
            rule: [page for page in named if page in now.get(rule, {})] for rule, named in listed().items()
        }
        OPEN.write_text(
            json.dumps({rule: named for rule, named in kept.items() if named}, indent=1) + "\n", "utf-8"
        )
    elif args:
        for page in args:
            for rule, hits in broken(page, (ROOT / page).read_text("utf-8")).items():
                print(f"{page}: {rule}:", *hits, sep="\n    ")
    else:
        for rule, found in state().items():
            total = sum(len(hits) for hits in found.values())
            print(f"{rule:36s}{total:5d}  ", {page: len(hits) for page, hits in found.items()})
        print("words", sum(words_of((ROOT / page).read_text("utf-8")) for page in pages()))


if __name__ == "__main__":
    main(sys.argv[1:])
