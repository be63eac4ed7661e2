import numpy as np
import pytest
from scipy import stats

from reproduction.analyze import (
    critical_difference,
    friedman,
    mean_and_std,
    paired_t_test,
    ranks,
    rsec_score,
)
from reproduction.protocol import load_protocol


def printed_table(name, measure):
    protocol = load_protocol(name)
    printed = protocol.printed[measure]
    rows = [item.name for item in protocol.sets]
    held = [[protocol.printed_value(measure, m, r) or (np.nan,) for m in printed] for r in rows]
    return list(printed), np.array([[value[0] for value in row] for row in held])


@pytest.mark.parametrize(
    ("measure", "scores"),
    [
        ("ACC", [17.17, 17.79, 15.80, 15.93, 15.55, 15.34, 15.84, 13.29, 14.80, 14.30]),
        ("NMI", [16.85, 17.44, 15.10, 15.55, 14.52, 14.76, 15.37, 12.33, 12.16, 11.89]),
    ],
)
def test_rsec_score_gives_the_printed_row(measure, scores):
    _, table = printed_table("rsec", measure)
    assert np.round(rsec_score(table), 2).tolist() == scores


@pytest.mark.parametrize(
    ("measure", "printed"),
    [
        ("NMI", [8.80, 9.13, 8.73, 8.00, 6.13, 9.13, 7.00, 8.40, 5.53, 2.00, 2.63, 2.37]),
        ("ARI", [8.60, 8.87, 8.23, 7.77, 6.57, 9.03, 7.00, 7.33, 7.53, 1.93, 2.73, 2.27]),
    ],
)
def test_average_rank_gives_the_printed_row(measure, printed):
    names, table = printed_table("mdec", measure)
    assert len(names) == 12
    # In print equal scores all get the better rank, and the failed one the last: with that rule every digit
    # agrees.
    filled = np.where(np.isnan(table), -np.inf, table)
    lowest = np.apply_along_axis(lambda row: stats.rankdata(-row, method="min"), 1, filled).mean(axis=0)
    assert np.round(lowest, 2).tolist() == printed
    # Shared ranks, which tests need, differ by the ties alone.
    assert np.abs(ranks(table).mean(axis=0) - printed).max() < 0.05


def test_mean_and_sample_deviation():
    assert mean_and_std(np.array([1.0, 2.0, 3.0])) == (2.0, 1.0)
    mean, std = mean_and_std(np.array([1.0]))
    assert mean == 1.0
    assert np.isnan(std)


def test_paired_t_test_equals_scipy_and_handles_no_variation():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 10))
    assert paired_t_test(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    assert paired_t_test(a, a) == 1.0
    assert paired_t_test(a, a - 0.25) == 0.0
    assert np.isnan(paired_t_test(a[:1], b[:1]))


def test_ranks_share_ties_and_put_failures_last():
    table = np.array([[0.5, 0.9, 0.5, np.nan], [1.0, 2.0, 3.0, 4.0]])
    assert ranks(table).tolist() == [[2.5, 1.0, 2.5, 4.0], [4.0, 3.0, 2.0, 1.0]]


def test_friedman_equals_scipy_with_and_without_ties():
    rng = np.random.default_rng(1)
    for table in (rng.normal(size=(9, 4)), rng.integers(3, size=(12, 5)).astype(float)):
        ours, theirs = friedman(table), stats.friedmanchisquare(*table.T)
        assert ours["chi2"] == pytest.approx(theirs.statistic)
        assert ours["p"] == pytest.approx(theirs.pvalue)
    assert friedman(np.ones((4, 3)))["p"] == 1.0
    assert friedman(np.ones((1, 3))) is None
    assert friedman(np.ones((3, 1))) is None


def test_critical_differences_of_the_textbook():
    # Demsar (2006), Table 5: q_0.05 for 2..10 methods; his example: 4 methods, 14 sets, CD 1.25.
    q = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for k, value in enumerate(q, 2):
        assert critical_difference(k, 1) / np.sqrt(k * (k + 1) / 6) == pytest.approx(value, abs=1e-3)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
