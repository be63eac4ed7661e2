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
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.base import clone

from .. import _register
from .._base.estimator import declared
from .._base.names import command_name, look_up
from .._base.parameters import Choice, Kind, MinClusterSize, NJobs, Seed
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


@declared
class BestOf(BaseConsensus):
    """The best of several consensus methods, by mean normalized mutual information with the base clusterings.

    Parameters
    ----------
    methods : sequence of str or consensus estimators
        Methods to run. A name, as in ``consilience methods``, or a class name stands for the method with its
        default parameters and the random_state and n_jobs given here. An estimator keeps its own parameters,
        except n_clusters.
    criterion : {"anmi", "ari"}
        How answers are scored: by the mean NMI (geometric) or by the mean adjusted Rand index with the base
        clusterings.

    Attributes
    ----------
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

    methods: Annotated[
        Sequence[Any], Kind("a list of names of consensus methods, or of consensus estimators", _are_methods)
    ] = ("cspa", "mcla", "hbgf")
    criterion: Annotated[str, Choice(*_SCORES)] = "anmi"
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    scores_: ClassVar[dict[str, float]]
    best_method_: ClassVar[str]

    _test_params = [{"methods": ("mcla", "lwea")}]
    _any_unit = False

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
