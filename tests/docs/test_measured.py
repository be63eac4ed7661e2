"""Tables of figures on pages are those that are kept, and say where they come from."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

pytest.importorskip("msgspec")  # the extra "reproduction"

from benchmarks import bench_rsec, stored

HINT = "run python -m benchmarks.stored --pages"


@pytest.mark.pages
def test_the_pages_show_what_is_kept():
    assert stored.pages()
    for file in stored.pages():
        text = file.read_text("utf-8")
        assert stored.filled(text) == text, f"{file.name}: {HINT}"


@pytest.mark.pages
def test_the_page_of_dask_shows_what_is_kept():
    from benchmarks import bench_dask

    text = bench_dask.PAGE.read_text("utf-8")
    assert bench_dask.page(text) == text, "run python -m benchmarks.bench_dask page"


@pytest.mark.parametrize("name", stored.SOURCES)
def test_every_table_can_be_measured(name):
    source = stored.SOURCES[name]
    function = getattr(importlib.import_module(f"benchmarks.bench_{source.module}"), source.call)
    inspect.signature(function).bind(**source.options)


def test_what_is_measured_is_kept_with_its_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "KEPT", tmp_path)
    stored.keep("spce", lambda: [{"set": "a", "CPU s": 0.1234567, "note": "x"}, {"set": "b", "CPU s": 2.0}])
    shown = stored.filled(
        "Before\n<!-- measured: spce | set, CPU s as seconds -->\nold\n<!-- end -->\nafter\n"
    )
    assert "old" not in shown
    assert shown.startswith("Before\n<!-- measured: spce | set, CPU s as seconds -->\n")
    assert shown.endswith("<!-- end -->\nafter\n")
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines() if line[:1] == "|"
    ]
    assert lines[0] == ["set", "seconds"]
    assert lines[2:] == [["a", "0.123"], ["b", "2"]]
    assert stored.kept("spce")["commit"] in shown
    assert "load" in shown
    assert stored.filled(shown) == shown


def test_a_page_that_asks_for_what_is_not_there_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "KEPT", tmp_path)
    stored.keep("spce", lambda: [{"set": "a"}])
    with pytest.raises(KeyError, match="no column n among set"):
        stored.block("spce", "set, n")
    with pytest.raises(KeyError, match="No stored table is called 'spc'"):
        stored.block("spc")


def test_the_parts_that_are_timed_are_there():
    """The profile of RSEC names functions of the library; time goes to the innermost part that runs."""
    for places in bench_rsec.PARTS.values():
        for place in places:
            module, *owner, function = place.split(".")
            home = importlib.import_module(f"consilience.consensus._lowrank.{module}")
            assert callable(getattr(getattr(home, owner[0]) if owner else home, function))
    clocks = bench_rsec.Clocks()
    outer, inner = "eigenvectors for H", "certificate"
    moments = iter(np.array([[t, t] for t in (1.0, 3.0, 7.0, 15.0)]))
    clocks.last, clocks._now = np.zeros(2), lambda: next(moments)
    certify = clocks.watch(inner, lambda: "certified")
    assert clocks.watch(outer, certify)() == "certified"
    assert [clocks.spent[part][0] for part in ("the rest", outer, inner)] == [1.0, 2.0 + 8.0, 4.0]


def test_what_is_kept_stays_where_nothing_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "KEPT", tmp_path)
    stored.file_of("spce").write_text("before")
    with pytest.raises(SystemExit, match="nothing was measured"):
        stored.keep("spce", list)
    assert stored.file_of("spce").read_text() == "before"
