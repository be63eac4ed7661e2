"""From statistics to an answer: two tests, five votes, one verdict.

    loss_j(k)   mean log of the inertia share of data set j: 0 the features, 1..R the references          (1)
    z_j(k)      (mean over all j of loss(k) - loss_j(k)) / their standard deviation                       (2)
    inertia     S_j = max over k of z_j(k)                                                                (3)
    stability   S_j = max over k of ari_j(k) - mean over all j of ari(k)                                  (4)
    p = (1 + number of references with S_j >= S_0) / (R + 1)                                              (5)
    gain(k)     ARI of the runs minus its mean over the references                                        (6)
    RCSI(k)     mean over the references of log PAC, minus log PAC of the features (John et al. 2020)     (7)

Where features and references come from the same distribution, all orders of S_0..S_R are equally likely, so
that p holds its level for any statistic; the largest over k is one statistic, so no correction for several k
is needed. Each test has half the level. The two see different things: two clusters on the main axis divide no
more stably than one long cloud does, but leave less inertia; a cloud that is uniform or skewed leaves less
inertia, too, but seldom divides more stably. (4) is a difference, because the spread of the ARI over
references falls with k, and a ratio to it would favor large k.

The k with the best mean rank is chosen: gain, eigengap, lifetime, RCSI and silhouette of 1 - A each rank the
numbers of clusters, and among equal means the smallest k is taken. A statistic votes for the k that it ranks
first; where no three vote for the answer the verdict is "weak" at most. Ranks are used, and not only votes,
because the first places scatter if no number stands out: gain leans towards fine divisions, eigengap towards
coarse ones, and what all of them rank high lies between. There are five, because gain and RCSI err together
if there are fewer objects than features: with one cluster too many the references lose more stability than
clear clusters do. The other three do not need references and outvote them there. Without references eigengap
and lifetime remain, which use all clusterings at once: an ensemble that was given may have few clusterings
with k clusters, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from .runs import Measured

#: Columns that rank the numbers of clusters: where there are references, and where there are none.
VOTERS, WITHOUT_REFERENCES = ("gain", "eigengap", "lifetime", "rcsi", "silhouette"), ("eigengap", "lifetime")
#: The number of voters that must name the answer for a verdict above "weak".
MAJORITY = 3
#: Smaller numbers of clusters are plausible, too, if a smaller share of the pairs is ambiguous.
CLEAR = 0.1

#: Other plausible numbers that are named: those with the best mean rank.
MOST_ALTERNATIVES = 2

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
    """The answer of the rule."""

    n_clusters: int
    verdict: str
    alternatives: list[int]
    votes: dict[str, int]


def rank_p(statistics: np.ndarray) -> float:
    """Eq. (5) of S (R + 1,), features first; rounding does not tell equal statistics apart."""
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


def ranks_of(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """(K,) ranks by voter: 1 where its value is largest, and NaN values last.

    Equal values share the mean of their ranks.
    """
    voters = VOTERS if "gain" in columns else WITHOUT_REFERENCES
    known = {name: columns[name] for name in voters if np.isfinite(columns[name]).any()}
    return {name: rankdata(-np.nan_to_num(values, nan=-np.inf)) for name, values in known.items()}


def decide(columns: Mapping[str, np.ndarray], tests: list[Test]) -> Answer:
    """The rule of the module, from the table (K,) by name.

    Without tests the verdict is "not tested", and the ranks alone choose k.
    """
    ks, ranks = columns["n_clusters"], ranks_of(columns)
    votes = {name: int(ks[np.argmin(own)]) for name, own in ranks.items()}
    rejected = sum(test.rejected for test in tests)
    if tests and not rejected:
        return Answer(1, "none", [], votes)
    total = np.sum(list(ranks.values()), axis=0)
    k = int(ks[np.argmin(total)])
    if not tests:
        verdict = "not tested"
    elif list(votes.values()).count(k) < MAJORITY:
        verdict = "weak"
    else:
        verdict = "strong" if rejected == len(tests) else "moderate"
    others = {*votes.values(), *clear_coarser(columns, k)} - {k}
    standing = dict(zip(ks.tolist(), total.tolist()))
    best = sorted(others, key=lambda one: (standing[one], one))[:MOST_ALTERNATIVES]
    return Answer(k, verdict, sorted(best), votes)


def clear_coarser(columns: Mapping[str, np.ndarray], k: int) -> set[int]:
    """Smaller numbers with hardly an ambiguous pair: if clusters are nested, both levels are plausible.

    Of the pairs that were ever together few are ambiguous, and fewer than with the next larger number.
    """
    name = "rpac" if "rpac" in columns else "pac"
    if name not in columns:
        return set()
    ks, ambiguous = columns["n_clusters"], columns[name]
    rises = np.append(ambiguous[1:] > ambiguous[:-1], False)
    return set(ks[(ambiguous < CLEAR) & rises & (ks < k)].tolist())
