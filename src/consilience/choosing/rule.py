"""From statistics to an answer: two tests, three votes, one verdict.

    loss_j(k)   mean log of the inertia share of data set j: 0 the features, 1..R the references               (1)
    z_j(k)      (mean over all j of loss(k) - loss_j(k)) / their standard deviation                            (2)
    inertia     S_j = max over k of z_j(k)                                                                     (3)
    stability   S_j = max over k of ari_j(k) - mean over all j of ari(k)                                       (4)
    p = (1 + number of references with S_j >= S_0) / (R + 1)                                                   (5)
    gain(k)     ARI of the runs minus its mean over the references                                             (6)
    RCSI(k)     mean over the references of log PAC, minus log PAC of the features (John et al. 2020)          (7)

Where features and references come from the same distribution, all orders of S_0..S_R are equally likely, so that p holds its level
for any statistic; the largest over k is one statistic, and nothing is to be corrected for. Each test has half the level. The two see
different things: two clusters on the main axis divide no more stably than one long cloud does, but leave less inertia; a cloud
that is uniform or skewed leaves less inertia, too, but seldom divides more stably. (4) is a difference, because the spread of
the ARI over references falls with k, and a ratio to it would favour large k.

k is the median of three votes: what two of them agree on, else the one in the middle, and the verdict is "weak" at most. Eigengap and
RCSI name the k of their largest value; gain the smallest k within one error of its largest, because at k + 1 the references lose more
stability than clear clusters do, so that the gain may still rise a little. Where no number stands out gain leans towards fine
divisions and eigengap towards coarse ones: the smallest or the largest of the votes would take over the lean of one. Without
references there are neither gain nor RCSI: eigengap and lifetime vote, and of two that differ the smaller is taken, which
promises least.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .runs import Measured

#: Columns that vote: where there are references, and where there are none.
VOTERS, WITHOUT_REFERENCES = ("gain", "eigengap", "rcsi"), ("eigengap", "lifetime")
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


def named_by(ks: np.ndarray, values: np.ndarray, errors: np.ndarray | None = None) -> int | None:
    """The k of the largest value, with errors the smallest k within one error of it; None where there is no value."""
    known = np.isfinite(values)
    if not known.any():
        return None
    best = int(np.nanargmax(values))
    least = values[best] - (0.0 if errors is None else errors[best])
    return int(ks[known][np.argmax(values[known] >= least)])


def votes_of(columns: Mapping[str, np.ndarray]) -> dict[str, int]:
    """What each of the voters names, of those that have a value."""
    voters = VOTERS if "gain" in columns else WITHOUT_REFERENCES
    named = {name: named_by(columns["k"], columns[name], columns.get(f"{name}_error")) for name in voters}
    return {name: k for name, k in named.items() if k is not None}


def decide(columns: Mapping[str, np.ndarray], tests: list[Test]) -> Answer:
    """The rule of the module, from the table (K,) by name. Without tests the verdict is "not tested", and k is what the votes say."""
    votes = votes_of(columns)
    rejected = sum(test.rejected for test in tests)
    if tests and not rejected:
        return Answer(1, "none", [], votes)
    named = sorted(votes.values())
    k = named[(len(named) - 1) // 2]
    if not tests:
        verdict = "not tested"
    elif named.count(k) < 2:
        verdict = "weak"
    else:
        verdict = "strong" if rejected == len(tests) else "moderate"
    others = {*named, *also_plausible(columns, k)}
    return Answer(k, verdict, sorted(others - {k}), votes)


def also_plausible(columns: Mapping[str, np.ndarray], k: int) -> set[int]:
    """The k of the largest gain, and smaller ones with hardly an ambiguous pair: of nested clusters both levels are named."""
    ks = columns["k"]
    clear = columns["pac"] < CLEAR if "pac" in columns else np.zeros(len(ks), bool)
    found = set(ks[clear & (ks < k)].tolist())
    largest = named_by(ks, columns["gain"]) if "gain" in columns else None
    return found if largest is None else found | {largest}
