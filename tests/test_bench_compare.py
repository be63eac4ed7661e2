"""What make bench-compare says of figures."""

from __future__ import annotations

import pytest

pytest.importorskip("msgspec")  # the extra "reproduction"

from benchmarks import compare


def outcome(**ratios: float) -> dict:
    return {"cases": {name: {"cpu_seconds": 2 * ratio, "ratio": ratio} for name, ratio in ratios.items()}}


def test_cases_are_compared_by_their_ratio_to_the_reference():
    now, before = (
        outcome(same=1.0, slow=3.0, quick=1.0, fresh=1.0),
        outcome(same=1.1, slow=2.0, quick=2.0, gone=1.0),
    )
    rows = {row["case"]: row for row in compare.compared(now, before)}
    assert {name: row[""] for name, row in rows.items()} == {
        "same": "", "slow": "slower", "quick": "faster", "fresh": "new",
    }  # fmt: skip
    assert rows["slow"]["change"] == pytest.approx(1.5)
    assert [row[""] for row in compare.compared(now, None)] == ["new"] * 4


def test_an_outcome_says_where_it_comes_from():
    found = compare.origin()
    assert found["machine"]["cores"] >= 1
    assert {"commit", "changed", "when", "load"} <= set(found)
    assert {"python", "numpy", "scipy", "sklearn", "numba", "processor"} <= set(found["machine"])


def test_every_consensus_method_is_among_the_cases():
    import consilience as cs

    names = compare.cases()
    for entry in cs.register.CONSENSUS:
        assert any(name.startswith(f"{entry.name} ") for name in names), entry.name
