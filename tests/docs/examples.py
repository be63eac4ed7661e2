"""Run the Python blocks of pages as a reader would, and write what they print beneath them.

    python -m tests.docs.examples docs/soft.md docs/methods/weac.md

Blocks run one after the other, in one namespace that begins empty, in an empty folder. What a block prints
stands in the ``text`` block that follows it; a block without one may print what it likes.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```py(?:thon)?\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)


def blocks(text: str) -> list[tuple[str, str]]:
    """Each block of Python, and the block of output that follows it, if any."""
    return BLOCK.findall(text)


def printed(text: str, name: str) -> Iterator[tuple[str, str]]:
    """What each block prints, beside what the page shows; runs in the folder that is current."""
    scope: dict = {}
    for code, shown in blocks(text):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            exec(compile(code, name, "exec"), scope)
        yield told.getvalue(), shown


def written(text: str, name: str) -> str:
    """The page with what its blocks print now, below each that prints."""
    told = [found for found, _ in printed(text, name)]
    lines = iter(told)

    def block(match: re.Match[str]) -> str:
        found = next(lines)
        return f"```python\n{match[1]}```" + (f"\n\n```text\n{found}```" if found else "")

    return BLOCK.sub(block, text)


def main(pages: list[str]) -> None:
    warnings.simplefilter("ignore")
    for page in pages:
        file, here = ROOT / page, Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                text = written(file.read_text("utf-8"), page)
            except Exception as error:
                print(f"{page}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            finally:
                os.chdir(here)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
