"""What make bench-compare says of figures."""

from __future__ import annotations

import pytest

pytest.importorskip("msgspec")  # the extra "reproduction"

from benchmarks import compare


def outcome(processor: str = "one", **ratios: float) -> dict:
    return {
        "machine": {"processor": processor},
        "cases": {name: {"cpu_seconds": 2 * ratio, "ratio": ratio} for name, ratio in ratios.items()},
    }


def verdicts(now: dict, before: dict | None) -> dict[str, str]:
    return {row["case"]: row[""] for row in compare.compared(now, before)}


def test_cases_are_compared_by_their_ratio_to_the_reference():
    now = outcome(same=1.0, slow=3.0, quick=1.0, fresh=1.0)
    before = outcome(same=1.1, slow=2.0, quick=2.0, gone=1.0)
    assert verdicts(now, before) == {"same": "", "slow": "slower", "quick": "faster", "fresh": "new"}
    changes = {row["case"]: row["change"] for row in compare.compared(now, before)}
    assert changes["slow"] == pytest.approx(1.5)
    assert set(verdicts(now, None).values()) == {"new"}


def test_on_another_processor_cases_are_compared_by_what_stands_out():
    before = outcome(a=1.0, b=2.0, c=3.0, d=4.0, e=5.0)
    thrice = outcome("two", a=3.0, b=6.0, c=9.0 * 1.8, d=12.0 * 2.2, e=15.0 / 2.2)
    assert verdicts(thrice, before) == {"a": "", "b": "", "c": "", "d": "slower", "e": "faster"}
    assert verdicts(outcome("two", f=1.0), before) == {"f": "new"}


def test_each_processor_has_a_baseline_of_its_own():
    one, two = outcome(a=1.0, b=1.0), outcome("two", a=2.0)
    baselines = compare.with_baseline(two, compare.with_baseline(one, []))
    assert baselines == [one, two]
    assert compare.baseline_for(outcome(a=3.0), baselines) == one
    assert compare.baseline_for(outcome("three", a=3.0), baselines) == two
    assert compare.baseline_for(one, []) is None
    assert compare.with_baseline(outcome(a=3.0), baselines) == [two, outcome(a=3.0, b=1.0)]


def test_a_case_and_the_reference_take_turns():
    calls = []
    seconds, unit = compare.best_of(lambda: calls.append("case"), lambda: calls.append("reference"))
    assert 0 <= seconds < 1
    assert 0 <= unit < 1
    assert calls == ["case"] + ["reference", "reference", "case"] * compare.REPEATS + ["reference"] * 2


def test_an_outcome_says_where_it_comes_from():
    found = compare.origin()
    assert found["machine"]["cores"] >= 1
    assert {"commit", "changed", "when", "load"} <= set(found)
    assert {"python", "numpy", "scipy", "sklearn", "numba", "processor"} <= set(found["machine"])


def test_every_consensus_method_is_among_the_cases():
    import consilience as cs

    names = compare.cases()
    for entry in cs._register.CONSENSUS:
        assert any(name.startswith(f"{entry.name} ") for name in names), entry.name
