"""Run several consensus methods and keep the best answer (supra-consensus).

    score of a consensus pi = mean over base clusterings of NMI(pi, pi_i), geometric   (1)
    the answer with the largest score is kept; the first of equal ones                 (2)

References
----------
A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple partitions",
Journal of Machine Learning Research 3, 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import _register
from .._base.names import command_name, look_up
from .._base.parameters import Choice, Kind
from .._evidence.table import Evidence
from ..errors import InputError
from ._base import BaseConsensus, Solution

#: Name of each score, and the measure of agreement with each base clustering that it averages.
_SCORES = {"anmi": "nmi_geometric", "ari": "ari"}


def _are_methods(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(isinstance(one, (str, BaseConsensus)) for one in value)
    )


class BestOf(BaseConsensus):
    """The best of several consensus methods, by mean normalized mutual information with the base clusterings.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned, by every method.
    methods : sequence of str or consensus estimators, default ("cspa", "mcla", "hbgf")
        Methods to run. A name, as in ``consilience methods``, or a class name stands for the method with its
        default parameters. An estimator keeps its own parameters, except n_clusters.
    criterion : {"anmi", "ari"}, default "anmi"
        How answers are scored: by the mean NMI (geometric) or by the mean adjusted Rand index with the base
        clusterings.
    min_cluster_size : float or None, default None
        Clusters that weigh less are merged; see :meth:`fit`.
    random_state : int, Generator or None
        Seed of the methods given by name.
    n_jobs : int or None, default -1
        Threads of the methods given by name; -1 is all cores, None as in joblib.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
    scores_ : dict
        Score of every method, by its command-line name. A number is appended to names that occur more than
        once.
    best_method_ : str
        Name of the method whose answer was kept.

    Notes
    -----
    A fit takes as much time as all the methods together. Compare scores only between clusterings with the
    same number of clusters, because finer ones tend to score higher. Weights are passed to the methods
    unchanged; some methods take a weight of 1 for one object.

    Differences from the paper: the three published methods are ``methods=("cspa", "mcla", "hgpa")``.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> model = cs.consensus.BestOf(n_clusters=2, methods=("mcla", "lwea"), random_state=0).fit(base)
    >>> model.labels_.tolist(), model.best_method_
    ([1, 1, 0, 0, 0], 'mcla')
    """

    _constraints = {
        "methods": Kind("a list of names of consensus methods, or of consensus estimators", _are_methods),
        "criterion": Choice(*_SCORES),
    }
    _test_params = [{"methods": ("mcla", "lwea")}]
    _any_unit = False

    scores_: dict[str, float]
    best_method_: str

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        methods: Sequence[Any] = ("cspa", "mcla", "hbgf"),
        criterion: str = "anmi",
        min_cluster_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.methods = methods
        self.criterion = criterion
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        answers: dict[str, np.ndarray] = {}
        scores: dict[str, float] = {}
        for one in self.methods:
            model = self._member(one, rng)
            name = command_name(type(model).__name__)
            name = (
                name if name not in scores else f"{name} {sum(key.split()[0] == name for key in scores) + 1}"
            )
            # A method refuses an ensemble of one object; here one distinct object stands for several.
            alone = ensemble.n_samples == 1
            answers[name] = np.zeros(1, np.int64) if alone else model.fit(ensemble).labels_
            scores[name] = Evidence(ensemble, answers[name]).mean_agreement(_SCORES[self.criterion])
        best = max(scores, key=lambda name: round(scores[name], 12))
        return Solution(answers[best], n_iter=len(scores), extra={"scores": scores, "best_method": best})

    def _member(self, one: Any, rng: np.random.Generator) -> BaseConsensus:
        """An unfitted method with our n_clusters; a method given by name also gets our seed and threads."""
        if isinstance(one, BaseConsensus):
            return clone(one).set_params(n_clusters=self.n_clusters)
        known_methods = {command_name(entry.name): entry for entry in _register.CONSENSUS}
        cls = look_up(one, known_methods, "method").load()
        if cls is BestOf:
            raise InputError(
                "methods names 'best-of' itself; pass BestOf(...) with methods of its own instead."
            )
        given = {
            "n_clusters": self.n_clusters,
            "n_jobs": self.n_jobs,
            "random_state": int(rng.integers(2**31)),
        }
        known = cls().get_params()
        return cls(**{name: value for name, value in given.items() if name in known})
