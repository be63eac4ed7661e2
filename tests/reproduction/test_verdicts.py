"""Why a printed figure was missed: worked out by hand, line by line."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from reproduction.analyze import beyond, compared
from reproduction.protocol import parse_protocol
from reproduction.verdicts import VERDICTS, Grounds, judged, lacking, verdict

from .conftest import protocol_of

NO_STD = float("nan")


def line(mean, printed, printed_std=NO_STD, *, std=0.0, method="A", column="default", digits=2, **more):
    """A line of the figures; ours against the printed mean and deviation."""
    deviation = None if np.isnan(printed_std) else printed_std
    held = {
        "protocol": "mine",
        "measure": "ACC",
        "set": "iris",
        "vary": "",
        "method": method,
        "column": column,
    }
    held |= {
        "runs": 10,
        "reaching": 0,
        "mean": mean,
        "std": std,
        **compared(mean, (printed, deviation), digits),
    }
    return SimpleNamespace(**held | {"printed_std": printed_std} | more)


def named(name, *, ensembles=None, methods, **more):
    raw = protocol_of(name=name, methods=methods, **more)
    return parse_protocol({**raw, **({"ensembles": ensembles} if ensembles else {})}, where=name)


BASE, A = {"name": "KM", "method": "base-mean"}, {"name": "A", "method": "A"}


def table(*lines):
    return pd.DataFrame([vars(item) for item in lines])


def judge(miss, witnesses=(), tuned=None, **more):
    assert miss.reached == "no"
    return verdict(miss, Grounds(witnesses=witnesses, tuned=tuned, **more), 2)


def test_beyond_is_what_a_difference_has_over_a_deviation_at_printed_precision():
    assert beyond(-0.30, 0.10, 2) == pytest.approx(0.195, abs=1e-4)
    assert beyond(0.30, None, 2) == beyond(-0.30, float("nan"), 2) == pytest.approx(0.295, abs=1e-4)
    assert beyond(0.004, 0.0, 2) < 0  # both round to the same


def test_a_miss_that_nothing_explains():
    assert judge(line(0.50, 0.80, 0.05)) == ("unexplained", "")


@pytest.mark.parametrize(
    "base", [0.20, 0.80]
)  # worse than in print, or better: not the same base clusterings
def test_base_clusterings_that_are_off_explain_a_miss_of_their_size(base):
    witness = line(base, 0.50, 0.10, method="KM")
    assert judge(line(0.50, 0.80, 0.05), [witness]) == ("ensemble", f"KM {base - 0.5:+.2f}")


def test_base_clusterings_that_are_a_little_off_do_not_excuse_a_large_gap():
    assert judge(line(0.30, 0.80, 0.05), [line(0.35, 0.50, 0.10, method="KM")])[0] == "unexplained"


def test_base_clusterings_within_a_deviation_are_those_of_print():
    assert judge(line(0.70, 0.80, 0.05), [line(0.41, 0.50, 0.10, method="KM")])[0] == "unexplained"


def test_where_no_deviation_is_printed_ours_tells_whether_base_clusterings_are_off():
    miss = line(0.70, 0.80, 0.05)
    assert judge(miss, [line(0.40, 0.50, std=0.02, method="HCC")]) == ("ensemble", "HCC -0.10")
    assert judge(miss, [line(0.40, 0.50, std=0.20, method="HCC")])[0] == "unexplained"
    assert (
        judge(miss, [line(0.40, 0.50, std=NO_STD, method="HCC")])[0] == "unexplained"
    )  # one run tells nothing


def test_the_witness_that_is_furthest_off_is_the_evidence():
    witnesses = [line(0.40, 0.50, 0.01, method="KM"), line(0.30, 0.50, 0.01, method="KM-best")]
    assert judge(line(0.70, 0.80, 0.05), witnesses) == ("ensemble", "KM-best -0.20")


def test_a_default_that_misses_what_the_grid_reaches_is_tuned_by_the_truth():
    miss = line(0.50, 0.80, 0.05)
    assert judge(miss, tuned=line(0.79, 0.80, 0.05, column="tuned")) == ("tuned", "tuned 0.79")
    assert judge(miss, tuned=line(0.70, 0.80, 0.05, column="tuned"))[0] == "unexplained"
    grid = line(0.70, 0.80, 0.05, column="tuned")
    assert judge(grid, tuned=grid)[0] == "unexplained"


def test_a_gap_within_our_deviation_over_the_ensembles_is_the_seed():
    assert judge(line(0.70, 0.80, 0.05, std=0.12)) == ("seed", "deviation 0.12")
    assert judge(line(0.70, 0.80, 0.05, std=0.08))[0] == "unexplained"
    assert judge(line(0.70, 0.80, 0.05, std=NO_STD))[0] == "unexplained"  # one ensemble has no spread


def test_another_draw_of_the_set_that_reaches_tells_of_the_ensembles():
    miss = line(0.50, 0.80, 0.05)
    draws = [line(0.60, 0.80, 0.05, set="b"), line(0.76, 0.80, 0.05, set="c")]
    assert judge(miss, draws=draws) == ("ensemble", "c 0.76")
    assert judge(miss, draws=draws[:1])[0] == "unexplained"


def test_a_grid_that_falls_short_for_a_reason_explains_the_default():
    tuned = line(0.70, 0.80, 0.05, column="tuned", std=0.12)
    miss = line(0.50, 0.80, 0.05)
    assert judge(miss, tuned=tuned, tuned_verdict="seed") == ("tuned", "tuned 0.70, which is seed")
    assert judge(miss, tuned=tuned, tuned_verdict="unexplained")[0] == "unexplained"
    rows = table(miss, tuned)
    assert judged(rows, [named("mine", methods=[A])]).verdict.tolist() == ["tuned", "seed"]


def test_a_figure_of_one_ensemble_is_a_matter_of_the_seed_if_one_of_ours_reaches_it():
    miss = line(0.70, 0.80, 0.0, std=0.04, reaching=2)
    assert judge(miss, one_ensemble=True) == ("seed", "2 of 10 ensembles reach it")
    assert judge(miss)[0] == "unexplained"
    none = line(0.70, 0.80, 0.0, std=0.04)
    assert judge(none, one_ensemble=True)[0] == "unexplained"


READING = {"name": "A, other", "method": "A", "stands_for": "A"}


def test_another_value_of_what_is_not_printed_explains_a_miss_only_where_the_protocol_says_so():
    rows = table(line(0.50, 0.80, 0.05), line(0.78, 0.80, 0.05, method="A, other", reached=""))
    said = named("mine", methods=[A, READING], unprinted={"A": "a thing"})
    assert judged(rows, [said]).verdict.tolist() == ["setting", ""]
    assert judged(rows, [said]).evidence.tolist() == ["A, other 0.7800", ""]
    assert judged(rows, [named("mine", methods=[A, READING])]).verdict.tolist() == ["unexplained", ""]
    short = table(line(0.50, 0.80, 0.05), line(0.70, 0.80, 0.05, method="A, other", reached=""))
    assert judged(short, [said]).verdict.tolist() == ["unexplained", ""]


def test_other_ensembles_are_a_protocol_of_their_own():
    rows = table(
        line(0.50, 0.80, 0.05), line(0.78, 0.80, 0.05, protocol="mine-other", vary="k=2", reached="")
    )
    first = named("mine", methods=[A], unprinted={"A": "a thing"})
    other = named("mine-other", methods=[A], stands_for="mine")
    assert judged(rows, [first, other]).evidence.tolist() == ["A k=2 0.7800", ""]
    apart = named("mine-other", methods=[A])
    assert judged(rows, [first, apart]).verdict.tolist() == ["unexplained", ""]


def test_a_grid_run_in_a_protocol_of_its_own_explains_the_default():
    grid = {"protocol": "mine-grid", "column": "tuned", "reached": ""}
    rows = table(line(0.50, 0.80, 0.05), line(0.78, 0.80, 0.05, **grid))
    first, apart = named("mine", methods=[A]), named("mine-grid", methods=[A])
    stands = named("mine-grid", methods=[A], stands_for="mine")
    assert judged(rows, [first, stands]).verdict.tolist() == ["tuned", ""]
    assert judged(rows, [first, stands]).evidence.tolist() == ["tuned 0.7800 (mine-grid)", ""]
    assert judged(rows, [first, apart]).verdict.tolist() == ["unexplained", ""]
    short = table(line(0.50, 0.80, 0.05), line(0.70, 0.80, 0.05, **grid))
    assert judged(short, [first, stands]).verdict.tolist() == ["unexplained", ""]
    elsewhere = table(line(0.50, 0.80, 0.05), line(0.78, 0.80, 0.05, set="wine", **grid))
    assert judged(elsewhere, [first, stands]).verdict.tolist() == ["unexplained", ""]


def test_rows_of_one_printed_set_are_draws_of_each_other():
    sets = [{"name": "a", "data": "iris"}, {"name": "b", "data": "wine", "printed_as": "a"}]
    rows = table(line(0.50, 0.80, 0.05, set="a"), line(0.78, 0.80, 0.05, set="b"))
    found = judged(rows, [named("mine", methods=[A], sets=sets)])
    assert (found.verdict[0], found.evidence[0]) == ("ensemble", "b 0.7800")


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"methods": [A, {**READING, "stands_for": "Z"}]}, "stands_for='Z' of 'A, other' is not"),
        ({"methods": [A], "unprinted": {"Z": "a thing"}}, "unprinted: 'Z' is not one of the methods"),
    ],
)
def test_what_a_row_stands_for_must_be_a_row(more, complaint):
    with pytest.raises(ValueError, match=complaint):
        named("mine", **more)


def test_tables_of_before_do_not_say_how_many_runs_reached():
    rows = table(line(0.50, 0.80, 0.05)).drop(columns="reaching")
    assert judged(rows, [named("mine", methods=[A], one_ensemble=True)]).verdict.tolist() == ["unexplained"]


def test_the_first_verdict_that_holds_is_given():
    miss = line(0.70, 0.80, 0.05, std=0.12)
    tuned, witness = line(0.80, 0.80, 0.05, column="tuned"), line(0.40, 0.50, 0.01, method="KM")
    assert judge(miss, [witness], tuned)[0] == "ensemble"
    assert judge(miss, [], tuned)[0] == "tuned"


def test_figures_are_judged_by_the_base_clusterings_of_their_own_set():
    rows = table(
        line(0.40, 0.50, 0.01, method="KM", set="wine"),
        line(0.70, 0.80, 0.05),
        line(0.70, 0.80, 0.05, set="wine"),
        line(0.79, 0.80, 0.05, method="B"),
    )
    found = judged(rows, [named("mine", methods=[BASE, A, {"name": "B", "method": "B"}])])
    assert found.verdict.tolist() == ["ensemble", "unexplained", "ensemble", ""]
    assert found.evidence.tolist() == ["KM -0.1000", "", "KM -0.1000", ""]


def test_protocols_of_one_paper_share_witnesses_if_they_share_ensembles():
    rows = table(
        line(0.40, 0.50, 0.01, method="H"),
        line(0.7, 0.8, protocol="mine-more"),
        line(0.7, 0.8, protocol="other"),
    )
    first = named("mine", methods=[{"name": "H", "method": "H"}], witnesses=["H"])
    other = named("other", methods=[A])
    assert judged(rows, [first, named("mine-more", methods=[A]), other]).verdict.tolist() == [
        "ensemble",
        "ensemble",
        "unexplained",
    ]
    apart = named("mine-more", methods=[A], ensembles={"generator": "kmeans", "size": 3})
    assert judged(rows, [first, apart, other]).verdict.tolist()[1] == "unexplained"


def test_misses_are_listed_unexplained_first_and_the_largest_gap_first():
    rows = table(
        line(0.70, 0.80, 0.05, std=0.2, verdict="seed", evidence=""),
        line(0.60, 0.80, 0.05, verdict="unexplained", evidence=""),
        line(0.50, 0.80, 0.05, verdict="unexplained", evidence=""),
        line(0.80, 0.80, 0.05, verdict="", evidence=""),
    )
    found = lacking(rows, {"ACC": SimpleNamespace(digits=2)})
    assert found.verdict.tolist() == ["unexplained", "unexplained", "seed"]
    assert found.lack.round(3).tolist() == [0.245, 0.145, 0.045]
    assert next(iter(VERDICTS)) == "unexplained"


def test_a_witness_must_be_one_of_the_methods():
    with pytest.raises(ValueError, match="witnesses: 'Z' is not one of the methods"):
        named("mine", methods=[A], witnesses=["Z"])
