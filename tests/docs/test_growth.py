"""docs/research/growth.md is what was measured."""

from __future__ import annotations

import pytest

pytest.importorskip("msgspec")  # the extra "reproduction"

from benchmarks import bench_growth as bench
from benchmarks.bench_which_method import GROWTH, read


def cell(seconds: str, n_bytes: str = "1", note: str = "") -> dict[str, str]:
    return {"seconds": seconds, "bytes": n_bytes, "note": note}


@pytest.mark.pages
def test_the_page_is_that_of_the_stored_figures():
    assert bench.PAGE.read_text("utf-8") == bench.text(read(GROWTH)), (
        "run python -m benchmarks.bench_growth --page"
    )


def test_exponents_are_of_the_last_two_sizes_that_were_done():
    mine = {1000: cell("1"), 3000: cell("2"), 10_000: cell("200", "9"), 100_000: cell("", "", "time")}
    assert bench.exponent(mine, "seconds") == pytest.approx(3.825, abs=1e-3)
    assert bench.exponent({1000: cell("1")}, "seconds") is None


def test_bars_tell_what_was_not_done_and_what_was_not_run():
    mine = {1000: cell("0.001"), 3000: cell("60"), 10_000: cell("", "", "memory")}
    assert bench.bars(mine) == "▁█×··"


def test_names_that_hold_commas():
    assert bench.listed("KCC, LWGP") == ["KCC", "LWGP"]
    assert bench.listed("ECPCS, mc") == ["ECPCS, mc"]
    assert bench.listed("ECPCS, mc;PTGP") == ["ECPCS, mc", "PTGP"]
    with pytest.raises(SystemExit, match="No method is called KKC; names are .*ECPCS, mc"):
        bench.cells.grow(["KKC"])


def test_measuring_anew_forgets_what_was_left_out_for_former_times():
    rows = [{"method": name, "objects": str(n), **cell("1")} for name in ("A", "B") for n in (1000, 3000)]
    rows.append({"method": "A", "objects": "10000", **cell("", "", "time")})
    rows.append({"method": "A", "objects": "100000", **cell("", "", "memory")})
    kept = bench.cells.forget(rows, ["A"], [3000])
    assert [(row["method"], row["objects"]) for row in kept] == [
        ("A", "1000"),
        ("B", "1000"),
        ("B", "3000"),
        ("A", "100000"),
    ]


def test_only_what_was_over_the_time_at_fewer_objects_is_not_tried():
    rows = [{"objects": "1000", **cell("1")}, {"objects": "3000", **cell("50")}]
    assert not bench.cells.over_before(rows, 10_000)
    rows.append({"objects": "10000", **cell("", "", "time")})
    assert bench.cells.over_before(rows, 100_000)
    assert not bench.cells.over_before([{"objects": "1000", **cell("", "", "memory")}], 10_000)


def test_where_cells_come_from_is_said_once_for_each_state():
    state = {"when": "2026-01-02", "commit": "abc", "processor": "Some", "load": "1.5"}
    rows = [state, state | {"load": "0.5"}, state | {"commit": "def", "load": ""}, dict.fromkeys(state, "")]
    assert bench.cells.origins(rows) == (
        "2 cells on 2026-01-02, commit abc, Some, load 0.5 to 1.5. "
        "1 cell on 2026-01-02, commit def, Some, beside other processes."
    )
