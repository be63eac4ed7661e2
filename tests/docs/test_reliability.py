"""What docs/research/reliability.md and SECURITY.md promise names tests and properties that exist."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

from ..fuzz import properties
from ..fuzz.runner import NO_CRASH
from ..fuzz.suites import SUITES

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/research/reliability.md", "SECURITY.md")
NAMED = [
    pytest.param(page, path, name, id=f"{path}::{name}")
    for page in PAGES
    for path, name in sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / page).read_text())))
]


@lru_cache
def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("page", "path", "name"), NAMED)
def test_named_tests_exist(page, path, name):
    assert (ROOT / path).is_file(), f"{page} names {path}"
    assert name in functions(path), f"{page} names {path}::{name}"


def test_every_promise_is_held_by_something():
    text = (ROOT / PAGES[0]).read_text()
    for section in re.findall(r"\| promise \| held by \|\n\|---\|---\|\n((?:\|.*\n)+)", text):
        for row in section.splitlines():
            holder = row.rstrip("|").rsplit("|", 1)[1]
            assert "tests/" in holder or '"' in holder, row
    assert len(NAMED) > 20


def test_quoted_properties_are_those_of_the_fuzzer():
    known = {item.name for suite in SUITES.values() for item in suite.properties}
    known |= {properties.NO_FOREIGN, properties.NO_LEAK, NO_CRASH}
    if "files" not in SUITES:
        known.add("file read, or refused")
    quoted = set()
    for row in (ROOT / PAGES[0]).read_text().splitlines():
        if row.startswith("| ") and row.count("|") == 3:
            quoted |= set(re.findall(r'"([^"`]+)"', row.rsplit("|", 2)[1]))
    assert len(quoted) > 20
    assert quoted <= known, quoted - known
