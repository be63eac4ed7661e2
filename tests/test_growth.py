"""docs/growth.md is what was measured."""

from __future__ import annotations

import pytest

pytest.importorskip("msgspec")  # the extra "reproduction"

from benchmarks import bench_growth as bench
from benchmarks.bench_which_method import GROWTH, read


def cell(seconds: str, n_bytes: str = "1", note: str = "") -> dict[str, str]:
    return {"seconds": seconds, "bytes": n_bytes, "note": note}


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
