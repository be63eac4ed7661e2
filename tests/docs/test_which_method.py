"""Tables of methods are what was measured; a method that nobody measured is not on it."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from benchmarks import bench_growth
from benchmarks import bench_which_method as bench

pytest.importorskip("msgspec")  # the extra "reproduction"

METHODS = [cls.__name__ for cls in cs.consensus.methods().values()]
HINT = "run python -m benchmarks which-method"


@pytest.mark.pages
def test_the_pages_are_those_of_the_stored_figures():
    for page, text in bench.pages().items():
        assert page.read_text("utf-8") == text, f"{page.name}: {HINT}"


def test_what_is_stored_is_whole():
    growth = bench.growth_by_method(bench.read(bench.GROWTH))
    assert set(growth) <= set(bench.measured_names())
    for name, cells in growth.items():
        assert all(
            (cell["seconds"] == "") == (cell["note"] in ("time", "memory")) for cell in cells.values()
        ), name
    quality = bench.read(bench.QUALITY)
    names = bench.compared(quality)
    assert len(names) >= 30
    assert len(bench.whole_cases(quality, [*names, *bench.BASES])) >= 15
    for row in quality:
        assert (row["nmi"] == "") == (row["note"] in ("time", "memory")), row


def test_the_protocols_run_methods_at_their_defaults():
    from reproduction.protocol import load_protocol

    for name in bench.PROTOCOLS:
        methods = {method.name: method for method in load_protocol(name).methods}
        assert set(methods) - {*METHODS, *bench.BASES} == set(), (
            f"reproduction/protocols/{name}.json: no such methods"
        )
        assert not any(method.params or method.tuned for method in methods.values())


def test_a_method_that_nobody_measured_is_on_no_page(monkeypatch):
    quality, growth = bench.read(bench.QUALITY), bench.read(bench.GROWTH)
    before = bench.quality_table(quality), bench.missing_table(quality, growth), bench_growth.text(growth)
    names = [*bench.registered(), "Unmeasured"]
    monkeypatch.setattr(bench, "registered", lambda: names)
    assert "Unmeasured" in bench.measured_names()
    assert "Unmeasured" not in bench.on_pages()
    after = bench.quality_table(quality), bench.missing_table(quality, growth), bench_growth.text(growth)
    assert after == before


def row(case: str, method: str, value: float | None) -> dict[str, str]:
    score = "" if value is None else str(value)
    return {"source": "pool", "set": case, "objects": "9", "method": method} | dict.fromkeys(
        bench.MEASURES, score
    )


def test_ranks_put_what_did_not_finish_last_and_share_ties():
    rows = [row("one", "a", 0.5), row("one", "b", 0.5), row("one", "c", None)]
    rows += [row("two", "a", 0.1), row("two", "b", 0.9), row("two", "c", 0.2), row("three", "a", 1.0)]
    names = ["a", "b", "c"]
    of = bench.whole_cases(rows, names)
    assert of == [("pool", "one"), ("pool", "two")]
    assert bench.average_ranks(rows, of, names) == {"b": 1.25, "a": 2.25, "c": 2.5}


def test_growth_is_the_exponent_of_the_two_largest_that_were_finished():
    cells = {
        n: {"seconds": seconds, "bytes": "2e9", "note": note}
        for n, seconds, note in (
            (1_000, "7", ""),
            (10_000, "0.5", ""),
            (100_000, "50", ""),
            (10**6, "", "time"),
        )
    }
    assert np.isclose(bench.exponent(cells), 2)
    assert bench.exponent({1_000: cells[1_000]}) is None
    assert bench.cost(cells[100_000]) == "50 s, 2.0 GB"
    assert bench.cost(cells[10**6]) == f"over {bench.LIMIT} s"
    assert bench.cost({"seconds": "", "bytes": "", "note": "memory"}) == "refused: memory"


def test_a_page_without_its_mark_is_no_page():
    with pytest.raises(ValueError, match="found 0 places marked 'short', expected one"):
        bench.between("nothing here", "short", "|")


def test_a_cell_measured_anew_takes_the_place_of_the_former_one():
    stored = [row("two", "a", 0.1), row("one", "a", 0.2), row("one", "b", 0.3)]
    found = bench.taken_in(stored, [row("one", "a", 0.9), row("one", "c", 0.4)])
    assert [(each["set"], each["method"], each["nmi"]) for each in found] == [
        ("one", "a", "0.9"),
        ("one", "b", "0.3"),
        ("one", "c", "0.4"),
        ("two", "a", "0.1"),
    ]
