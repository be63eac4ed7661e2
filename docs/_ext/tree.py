"""Where each page stands: sections are led by pages whose lists and tables link to theirs.

The links work on disk too. Nothing is listed twice, and a page that nobody lists is found: in a folder it
stands last, in ``docs/`` itself at the end of the guide.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Any

#: The bar at the top, in this order, and what stands there.
TOP = {
    "start": "Get started",
    "guide": "User guide",
    "methods/index": "Methods",
    "gallery/index": "Examples",
    "api/index": "API",
    "research/index": "Research",
}
#: Pages that lead a section and say in their text what stands in it; where a page that nobody lists goes.
LEADERS = ("start", "guide", "methods/index", "research/index", "reproduction/index")
REST = "guide"
#: They have trees of their own.
OWN = ("api", "gallery")
_LISTED = re.compile(r"^(?:- |\* |\| )(.*)$", re.M)
_LINK = re.compile(r"\[[^\]]+\]\(([\w./-]+)\.md\)")


def listed(page: str, text: str) -> list[str]:
    """Pages that lists and tables of this one begin with (the item, or the first column), in order."""
    folder = posixpath.dirname(page)
    firsts = (line.partition("|" if "|" in line else ":")[0] for line in _LISTED.findall(text))
    names = (
        posixpath.normpath(posixpath.join(folder, name)) for first in firsts for name in _LINK.findall(first)
    )
    return list(dict.fromkeys(name for name in names if name != page))


def tree(found: Iterable[str], texts: dict[str, str]) -> dict[str, list[str]]:
    """Leading page -> the pages of its section, of those that were found."""
    found = sorted(found)
    taken = {"index", *TOP}
    out: dict[str, list[str]] = {"index": [name for name in TOP if name in found]}
    for leader in LEADERS:
        named = listed(leader, texts.get(leader, ""))
        out[leader] = [name for name in named if name in found and name not in taken]
        taken.update(out[leader])
    for name in found:
        folder = posixpath.dirname(name)
        if name not in taken and folder.partition("/")[0] not in OWN:
            out[f"{folder}/index" if f"{folder}/index" in LEADERS else REST].append(name)
    return out


def directive(pages: list[str], titles: dict[str, str]) -> str:
    """A tree that the reader sees at the side; titles are those of the pages, up to a colon."""
    entries = [f"{titles[name]} </{name}>" if name in titles else f"/{name}" for name in pages]
    return "\n".join(["", "", "```{toctree}", ":hidden:", *entries, "```", ""])


def short_titles(env: Any, pages: list[str]) -> dict[str, str]:
    """ "SPCE" of "# SPCE: self-paced ..."; of pages that are Markdown."""
    texts = {
        name: env.doc2path(name).read_text("utf-8")
        for name in pages
        if str(env.doc2path(name)).endswith(".md")
    }
    heads = {name: re.match(r"# (.*?)(?::|\n)", text) for name, text in texts.items()}
    return {name: head[1] for name, head in heads.items() if head} | TOP


def add_trees(app: Any, name: str, source: list[str]) -> None:
    pages = app.env.consilience_tree.get(name)
    if not pages:
        return
    if name in LEADERS and (unlisted := [page for page in pages if page not in listed(name, source[0])]):
        source[0] += "\n\nAlso:\n\n" + "\n".join(f"- [](/{page}.md)" for page in unlisted) + "\n"
    source[0] += directive(pages, short_titles(app.env, pages))


def find_tree(app: Any, env: Any, docnames: list[str]) -> None:
    texts = {name: env.doc2path(name).read_text("utf-8") for name in LEADERS if name in env.found_docs}
    fresh = tree(env.found_docs, texts)
    if fresh != getattr(env, "consilience_tree", None):
        env.consilience_tree = fresh
        docnames += [name for name in fresh if name in env.found_docs and name not in docnames]


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-before-read-docs", find_tree)
    app.connect("source-read", add_trees)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
