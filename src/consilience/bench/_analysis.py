"""Statistics of comparisons, as the papers use them: plain functions of arrays, higher scores are better.

Tables are (sets, methods); NaN says that a method could not do a set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats


def mean_and_std(values: np.ndarray) -> tuple[float, float | None]:
    """Mean and sample standard deviation (n - 1); no deviation from a single value."""
    values = np.asarray(values, float)
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else None


def paired_t_test(a: np.ndarray, b: np.ndarray) -> float | None:
    """Two-sided p-value that paired scores differ; None from fewer than two pairs.

    Equal pairs give 1. A difference that is the same in every pair gives 0: no variation stands against it.
    """
    difference = np.asarray(a, float) - np.asarray(b, float)
    if difference.size < 2:
        return None
    spread = difference.std(ddof=1)
    # Scores are ratios of counts: below rounding there is no variation, only its noise.
    if spread <= 1e-12 * max(1.0, float(np.abs(difference).max())):
        return 1.0 if abs(difference.mean()) <= 1e-12 else 0.0
    t = difference.mean() / (spread / np.sqrt(difference.size))
    return float(2 * stats.t.sf(abs(t), difference.size - 1))


def ranks(table: np.ndarray) -> np.ndarray:
    """(sets, methods) rank of each method on each set: 1 is best, equal scores share, what failed comes last."""
    filled = np.where(np.isnan(table), -np.inf, table)
    return np.apply_along_axis(lambda row: stats.rankdata(-row), 1, filled)


def average_ranks(table: np.ndarray) -> np.ndarray:
    """(methods,) mean over the sets of :func:`ranks`."""
    return ranks(table).mean(axis=0)


def rsec_score(table: np.ndarray) -> np.ndarray:
    """(methods,) sum over sets of R(A_i, D_j) / max_i R(A_i, D_j); a set that a method failed on adds nothing."""
    best = np.nanmax(table, axis=1, keepdims=True)
    share = np.divide(table, best, out=np.zeros_like(table), where=best > 0)
    return np.nansum(share, axis=0)


@dataclass(frozen=True)
class Friedman:
    """Do the methods differ over the sets? And if so, which ranks are further apart than chance explains?

    ``statistic`` and ``p_value`` are Friedman's chi-square, corrected for ties; ``f_statistic`` and ``f_p_value`` the less
    conservative F of Iman and Davenport. Mean ranks that differ by less than ``critical_difference`` (Nemenyi) are not told apart.
    """

    n_sets: int
    n_methods: int
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
    critical_difference: float


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Nemenyi: q_alpha sqrt(k (k + 1) / (6 N)), q from the studentised range over sqrt(2)."""
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def friedman(table: np.ndarray, alpha: float = 0.05) -> Friedman | None:
    """Friedman's test over (sets, methods); None with fewer than two of either."""
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    r = ranks(table)
    ties = sum(float((c**3 - c).sum()) for row in r for c in [np.unique(row, return_counts=True)[1]])
    correction = 1 - ties / (n * k * (k * k - 1))
    if correction <= 0:  # every method equal on every set
        statistic = 0.0
    else:
        statistic = 12 * n / (k * (k + 1)) * float(((r.mean(axis=0) - (k + 1) / 2) ** 2).sum()) / correction
    p = float(stats.chi2.sf(statistic, k - 1))
    room = n * (k - 1) - statistic
    f = float("inf") if room <= 1e-12 else (n - 1) * statistic / room
    f_p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return Friedman(n, k, statistic, p, f, f_p, critical_difference(k, n, alpha))


def groups_within(mean_ranks: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """Maximal runs (first, last) in rising order of rank that span no more than the critical difference."""
    ordered = np.sort(mean_ranks)
    out: list[tuple[int, int]] = []
    for first in range(ordered.size):
        last = int(np.searchsorted(ordered, ordered[first] + difference, side="right")) - 1
        if last > first and (not out or last > out[-1][1]):
            out.append((first, last))
    return out
