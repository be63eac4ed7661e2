"""Scores of an ensemble, and of a partition against its ensemble.

Only :func:`base_scores` and :func:`compare_with_base`, which score the base clusterings, need true labels.
All scores are computed from the table of base clusters and clusters of the partition in
:mod:`consilience._evidence.table`, which also has the equations, and never from an n-by-n matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.parameters import Choice, check
from .._data.ensemble import Ensemble, as_ensemble
from .._data.labels import encode
from .._evidence.table import Evidence
from ..errors import InputError
from ._external import NORMALIZATION, scores, scores_of_table
from ._table import Contingency, are_counts, refuse_missing, table_of_dense


def anmi(ensemble: Any, labels: Any, *, normalization: str = "geometric") -> float:
    """Mean normalized mutual information of a partition with the base clusterings.

    Strehl and Ghosh (2002) propose it as the objective of a consensus: it measures how much of the
    information in the ensemble is kept.

    Parameters
    ----------
    ensemble : Ensemble, or anything Ensemble accepts
        The base clusterings. Each is compared on the objects it saw. Sample weights of the ensemble are used.
    labels : array-like of shape (n_samples,)
        The partition, typically a consensus. Objects without a label are left out.
    normalization : {"geometric", "arithmetic", "max"}, default="geometric"
        As in :func:`nmi`. The published definition is geometric.

    Notes
    -----
    One pass over the labels takes O(n m) time, and 8 k c bytes for k base clusters and c clusters of the
    partition.

    Examples
    --------
    >>> from consilience.metrics import anmi
    >>> anmi([[5, "a"], [5, "a"], [7, "b"], [7, "b"]], [0, 0, 1, 1])
    1.0
    """
    check("normalization", normalization, NORMALIZATION)
    return _over_known(np.mean, _evidence(ensemble, labels).agreement(f"nmi_{normalization}"))


def sample_stability(ensemble: Any, labels: Any) -> np.ndarray:
    """How firmly the ensemble holds each object in its cluster of the partition.

    Parameters
    ----------
    ensemble : Ensemble, or anything Ensemble accepts
    labels : array-like of shape (n_samples,)
        The partition, typically a consensus.

    Returns
    -------
    array of shape (n_samples,)
        Values in [0, 1]: how often each object is together with the other objects of its cluster, in the base
        clusterings that saw both. NaN if there is no evidence: the object is alone in its cluster, no
        clustering saw it together with another object of the cluster, or it has no label.

    Notes
    -----
    Eq. (5) of :mod:`consilience._evidence.table`: the mean co-association with the cluster, without the
    n-by-n matrix. The computation takes O(n m) time and 8 k c bytes. An object of weight w counts as w equal
    objects.

    References
    ----------
    Monti, Tamayo, Mesirov and Golub (2003), Consensus clustering, Machine Learning 52.

    Examples
    --------
    >>> from consilience.metrics import sample_stability
    >>> sample_stability([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]], [0, 0, 0, 1, 1])
    array([0.75, 0.75, 0.5 , 1.  , 1.  ])
    """
    return _evidence(ensemble, labels).sample_stability


def cluster_stability(ensemble: Any, labels: Any) -> np.ndarray:
    """How firmly the ensemble holds each cluster of the partition together.

    Parameters
    ----------
    ensemble : Ensemble, or anything Ensemble accepts
    labels : array-like of shape (n_samples,)
        The partition, typically a consensus.

    Returns
    -------
    array of shape (n_clusters,)
        Values in [0, 1], in sorted order of the labels: the mean co-association over pairs of objects of each
        cluster, Eq. (7) of :mod:`consilience._evidence.table`. NaN for a cluster without a pair that was seen
        together, such as a single object.

    Notes
    -----
    The computation takes O(n m) time and 8 k c bytes.

    Examples
    --------
    >>> from consilience.metrics import cluster_stability
    >>> cluster_stability([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]], [0, 0, 0, 1, 1]).round(3)
    array([0.667, 1.   ])
    """
    return _evidence(ensemble, labels).stability


def base_scores(ensemble: Any, labels_true: Any, *, missing: str = "error") -> dict[str, np.ndarray]:
    """Score every base clustering against known classes.

    Parameters
    ----------
    ensemble : Ensemble, or anything Ensemble accepts
        Each clustering is scored on the objects it saw. Sample weights of the ensemble are used.
    labels_true : array-like of shape (n_samples,)
        The classes.
    missing : {"error", "ignore"}, default="error"
        What to do with objects without a class: "error" raises an error, "ignore" scores the others.

    Returns
    -------
    dict of arrays of shape (n_clusterings,)
        The measures of :func:`scores`; NaN for a clustering that saw no object with a class.

    Examples
    --------
    >>> from consilience.metrics import base_scores
    >>> base_scores([[0, 0], [0, 1], [1, 1], [1, 1]], ["a", "a", "b", "b"])["accuracy"]
    array([1.  , 0.75])
    """
    check("missing", missing, Choice("error", "ignore"))
    ensemble = as_ensemble(ensemble)
    codes, classes = _codes(labels_true, ensemble, "labels_true")
    if missing == "error" and (n_missing := int((codes < 0).sum())):
        refuse_missing({"labels_true": n_missing}, len(codes), remedies=("ignore",))
    if not len(classes):
        raise InputError("labels_true has no class for any object: there is nothing to compare.")
    rows = [None if table is None else scores_of_table(table) for table in _tables(ensemble, codes, classes)]
    names = next(row for row in rows if row is not None) if any(rows) else scores([0], [0])
    return {name: np.array([math.nan if row is None else row[name] for row in rows]) for name in names}


def compare_with_base(
    ensemble: Any, labels: Any, labels_true: Any, *, missing: str = "error"
) -> dict[str, dict[str, float]]:
    """Compare the scores of the consensus with those of the average and of the best base clustering.

    Parameters
    ----------
    ensemble, labels_true, missing
        As in :func:`base_scores`.
    labels : array-like of shape (n_samples,)
        The consensus.

    Returns
    -------
    dict of dicts
        ``"base mean"``, ``"base best"`` and ``"consensus"``, each with the measures of :func:`scores`. The
        best base clustering is taken for each measure by the true classes, so that it could not be chosen
        without them.

    Examples
    --------
    >>> from consilience.metrics import compare_with_base
    >>> base = [[0, 0], [0, 1], [1, 1], [1, 1]]
    >>> table = compare_with_base(base, [0, 0, 1, 1], ["a", "a", "b", "b"])
    >>> {row: measures["accuracy"] for row, measures in table.items()}
    {'base mean': 0.875, 'base best': 1.0, 'consensus': 1.0}
    """
    ensemble = as_ensemble(ensemble)
    base = base_scores(ensemble, labels_true, missing=missing)
    return {
        "base mean": {name: _over_known(np.mean, values) for name, values in base.items()},
        "base best": {name: _over_known(np.max, values) for name, values in base.items()},
        "consensus": scores(labels_true, labels, sample_weight=ensemble.sample_weight, missing=missing),
    }


# Parts -----------------------------------------------------------------------------------------------------


def _over_known(function: Callable, values: np.ndarray) -> float:
    """A mean or maximum over the clusterings that have a value; NaN if none has."""
    known = values[~np.isnan(values)]
    return float(function(known)) if known.size else math.nan


def _codes(labels: Any, ensemble: Ensemble, name: str) -> tuple[np.ndarray, np.ndarray]:
    codes, values = encode(labels, name)
    if len(codes) != ensemble.n_samples:
        raise InputError(
            f"{name} has {len(codes)} objects but the ensemble has {ensemble.n_samples}; "
            "both must describe the same objects in the same order."
        )
    return codes, values


def _evidence(ensemble: Any, labels: Any) -> Evidence:
    if isinstance(labels, Ensemble):
        raise InputError(
            f"labels is an Ensemble of {labels.n_clusterings} clusterings; expected the ensemble first and "
            f"one partition second. "
            "Swap the arguments: (ensemble, labels)."
        )
    ensemble = as_ensemble(ensemble)
    codes, clusters = _codes(labels, ensemble, "labels")
    return Evidence(ensemble, codes, len(clusters))


def _tables(ensemble: Ensemble, codes: np.ndarray, values: np.ndarray) -> list[Contingency | None]:
    """The contingency table of each base clustering with one more partition, over objects labeled in both."""
    evidence = Evidence(ensemble, codes, len(values))
    counts = evidence.table * evidence.unit
    whole = are_counts(ensemble.sample_weight)
    starts = ensemble.offsets
    return [
        table_of_dense(counts[starts[i] : starts[i + 1]], ensemble.categories[i], values, whole)
        for i in range(ensemble.n_clusterings)
    ]
