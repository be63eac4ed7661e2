"""The names that users write are those of the list; none comes, goes or changes parameters by accident."""

from __future__ import annotations

from difflib import unified_diff

import pytest

from . import public_names


def test_public_names_are_those_of_the_list():
    listed, found = public_names.LIST.read_text("utf-8").splitlines(), public_names.lines()
    changed = "\n".join(unified_diff(listed, found, "public_names.txt", "the library", lineterm="", n=0))
    assert listed == found, (
        f"{changed}\nIf that is meant, write the list again with 'python -m tests.public_names', commit it "
        f"with the change, add "
        "a sentence to changelog.d/ and what was renamed to RETIRED in tests/docs/test_names.py."
    )


class Base:
    taken: int


class Thing(Base):
    def __init__(self, k, *, mode="a", made=print, **more):
        self.k = k

    def act(self, x, *others, y=(1, 2)):
        pass

    @classmethod
    def make(cls, path=None):
        pass

    @staticmethod
    def count(rows):
        pass

    @property
    def size(self):
        pass

    def _own(self):
        pass


def test_what_a_line_says(monkeypatch):
    for cls in (Base, Thing):
        monkeypatch.setattr(cls, "__module__", "consilience.some")
    assert sorted(public_names.lines_of("Thing", Thing)) == [
        "Thing(k, *, mode='a', made=..., **more)",
        "Thing.act(x, *others, y=(1, 2))",
        "Thing.count(rows)",
        "Thing.make(path=None)",
        "Thing.size",
        "Thing.taken",
    ]


@pytest.mark.parametrize(
    "name", ["consilience.Ensemble(", "consilience.consensus.LWGP(", "consilience.io.load -> "]
)
def test_the_list_has_every_kind(name):
    assert any(line.startswith(name) for line in public_names.LIST.read_text("utf-8").splitlines())
