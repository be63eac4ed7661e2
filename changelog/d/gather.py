"""Move the fragments beside this file into CHANGELOG.md, under the present version: ``make changelog``.

A fragment is one sentence in ``name.feature.md``, ``name.change.md`` or ``name.fix.md``. Run before a release, and again if
more has come: lines that are there stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {"feature": "New", "change": "Changed", "fix": "Mended"}


def lines_by_kind(fragments: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Heading -> its items, from (file name, text), in the order of the names."""
    out: dict[str, list[str]] = {heading: [] for heading in KINDS.values()}
    for name, text in sorted(fragments):
        kind = name.split(".")[-2]
        if kind not in KINDS:
            raise ValueError(f"{name}: {kind!r} is no kind of change; expected one of {', '.join(KINDS)}")
        out[KINDS[kind]].append("- " + " ".join(text.split()))
    return out


def gather(changelog: str, version: str, fragments: Iterable[tuple[str, str]]) -> str:
    """The changelog with the fragments in the section of this version."""
    head = re.search(rf"^## {re.escape(version)}\b.*$", changelog, re.M)
    if head is None:
        raise ValueError(f"CHANGELOG.md has no section '## {version}': add its heading first")
    rest = changelog[head.end() :]
    section, following = (
        re.split(r"(?=^## )", rest, maxsplit=1, flags=re.M) if re.search(r"^## ", rest, re.M) else (rest, "")
    )
    for heading, lines in lines_by_kind(fragments).items():
        if not lines:
            continue
        if f"### {heading}\n" not in section:
            section = section.rstrip("\n") + f"\n\n### {heading}\n\n"
        before, _, after = section.partition(f"### {heading}\n\n")
        own, mark, others = after.partition("\n### ")
        items = [*own.strip("\n").splitlines(), *lines]
        section = (
            before
            + f"### {heading}\n\n"
            + "\n".join(dict.fromkeys(filter(None, items)))
            + "\n"
            + mark
            + others
        )
    return changelog[: head.end()] + section + following


def main() -> None:
    from consilience import __version__

    files = sorted(HERE.glob("*.md"))
    changelog = HERE.parent / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    changelog.write_text(
        gather(text, __version__, [(file.name, file.read_text("utf-8")) for file in files]), "utf-8"
    )
    for file in files:
        file.unlink()
    print(f"{len(files)} fragments gathered under {__version__}")


if __name__ == "__main__":
    main()
