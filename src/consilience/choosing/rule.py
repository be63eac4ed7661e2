"""From statistics to an answer: two tests, three votes, one verdict.

    loss_j(k)   mean log of the inertia share of data set j: 0 the features, 1..R the references               (1)
    z_j(k)      (mean over all j of loss(k) - loss_j(k)) / their standard deviation                            (2)
    inertia     S_j = max over k of z_j(k)                                                                     (3)
    stability   S_j = max over k of ari_j(k) - mean over all j of ari(k)                                       (4)
    p = (1 + number of references with S_j >= S_0) / (R + 1)                                                   (5)
    gain(k)     ARI of the runs minus its mean over the references                                             (6)

Where features and references come from the same distribution, all orders of S_0..S_R are equally likely, so that p holds its level
for any statistic; the largest over k is one statistic, and nothing is to be corrected for. Each test has half the level. The two see
different things: two clusters on the main axis divide no more stably than one long cloud does, but leave less inertia; a cloud
that is uniform or skewed leaves less inertia, too, but seldom divides more stably. (4) is a difference, because the spread of
the ARI over references falls with k, and a ratio to it would favour large k.

k is what at least two of gain, eigengap and lifetime name. Where all differ it is the smallest, which promises
least, and the verdict is "weak" at most: finer ones are among the alternatives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .runs import Measured

#: Coarser numbers of clusters are plausible, too, where fewer pairs than this are ambiguous.
CLEAR = 0.1

VERDICTS = ("strong", "moderate", "weak", "none", "not tested")


class Test(NamedTuple):
    """One comparison with the references."""

    name: str
    statistic: float
    p: float
    level: float
    null: str
    references: int

    @property
    def rejected(self) -> bool:
        """Whether the features differ from the references."""
        return self.p <= self.level


class Answer(NamedTuple):
    """What the rule says."""

    k: int
    verdict: str
    alternatives: list[int]
    votes: dict[str, int]


def rank_p(statistics: np.ndarray) -> float:
    """Eq. (5) of S (R + 1,), the first that of the features. Rounding must not tell equal statistics apart."""
    tie = 1e-12 * max(1.0, float(np.abs(statistics).max()))
    return float((1 + (statistics[1:] >= statistics[0] - tie).sum()) / statistics.size)


def inertia_statistics(losses: np.ndarray) -> np.ndarray:
    """(R + 1,) Eq. (3) of losses (R + 1, K)."""
    spread = losses.std(axis=0)
    z = (losses.mean(axis=0) - losses) / np.where(spread > 0, spread, 1.0)
    return z.max(axis=1)


def stability_statistics(aris: np.ndarray) -> np.ndarray:
    """(R + 1,) Eq. (4) of mean ARIs (R + 1, K)."""
    return (aris - aris.mean(axis=0)).max(axis=1)


def run_tests(own: Measured, references: list[Measured], level: float, null: str) -> list[Test]:
    """Both tests."""
    everything = [own, *references]
    found = {
        "inertia": inertia_statistics(np.stack([one.loss for one in everything])),
        "stability": stability_statistics(np.stack([one.ari for one in everything])),
    }
    return [
        Test(name, float(S[0]), rank_p(S), level / len(found), null, len(references))
        for name, S in found.items()
    ]


def named_by(ks: np.ndarray, values: np.ndarray) -> int | None:
    """The k of the largest value; None where there is none."""
    known = np.isfinite(values)
    return int(ks[known][np.argmax(values[known])]) if known.any() else None


def decide(
    ks: np.ndarray,
    *,
    gain: np.ndarray,
    gain_error: np.ndarray,
    eigengap: np.ndarray,
    lifetime: np.ndarray,
    pac: np.ndarray,
    tests: list[Test],
) -> Answer:
    """The rule of the module. Without tests the verdict is "not tested", and k is what the votes say."""
    named = {
        "gain": named_by(ks, gain),
        "eigengap": named_by(ks, eigengap),
        "lifetime": named_by(ks, lifetime),
    }
    votes = {name: k for name, k in named.items() if k is not None}
    counts = {k: list(votes.values()).count(k) for k in votes.values()}
    agreed = max(counts.values()) >= 2
    k = max(counts, key=lambda one: (counts[one], -one))
    rejected = sum(test.rejected for test in tests)
    if tests and not rejected:
        return Answer(1, "none", [], votes)
    if not tests:
        verdict = "not tested"
    elif not agreed:
        verdict = "weak"
    else:
        verdict = "strong" if rejected == len(tests) else "moderate"
    others = set(votes.values()) | also_plausible(ks, k, gain, gain_error, pac)
    return Answer(k, verdict, sorted(others - {k}), votes)


def also_plausible(ks: np.ndarray, k: int, gain: np.ndarray, error: np.ndarray, pac: np.ndarray) -> set[int]:
    """Local maxima of the gain within one error of the largest, and coarser numbers with hardly an ambiguous pair."""
    found = set()
    if np.isfinite(gain).all():
        padded = np.concatenate([[-np.inf], gain, [-np.inf]])
        best = int(np.argmax(gain))
        peaks = (gain >= padded[:-2]) & (gain >= padded[2:])
        found |= {int(other) for other in ks[peaks & (gain >= gain[best] - error[best])]}
    clear = np.nan_to_num(pac, nan=1.0) < CLEAR
    return found | {int(other) for other in ks[clear & (ks < k)]}
