"""Scores of labels against labels, all computed from one contingency table.

n_ij objects are in cluster i of ``labels_pred`` and class j of ``labels_true``; a_i and b_j are the margins,
n the total.

    ACC      max over one-to-one matchings s of  sum_i n_i,s(i) / n                               (1)
    MI       sum_ij n_ij/n log( n n_ij / (a_i b_j) ),      NMI = MI / mean(H(a), H(b))            (2)
    AMI      (MI - E[MI]) / (mean(H(a), H(b)) - E[MI])                                            (3)
    ARI      (tp tn - fn fp) / [ ((tp+fn)(fn+tn) + (tp+fp)(fp+tn)) / 2 ]  over pairs of objects   (4)
    F1       2 tp / (2 tp + fp + fn)  over pairs of objects                                       (5)
    purity   sum_i max_j n_ij / n                                                                 (6)

Measures that scikit-learn has too give the same values, also in edge cases: two equal partitions score 1,
even if both are a single cluster or all singletons.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from .._base.parameters import Choice, check
from .._data.labels import encode
from .._kernels.labels.information import (
    MEANS,
    adjusted_rand,
    confuse_pairs,
    entropy,
    expected_mutual_information,
    mean_entropy,
    mutual_information,
    normalize_information,
)
from ..errors import InputError
from ._matching import match
from ._named import labels_and_names, positions
from ._table import Contingency, check_lengths, check_weights, cross, table_of_codes

NORMALIZATION = Choice("max", "geometric", "arithmetic")


class PairConfusion(NamedTuple):
    """Numbers of pairs of objects that ``labels_pred`` and ``labels_true`` put together or apart.

    Each pair is counted once.

    Attributes
    ----------
    true_positive : int or float
        Pairs together in both.
    false_positive : int or float
        Pairs together in ``labels_pred`` only.
    false_negative : int or float
        Pairs together in ``labels_true`` only.
    true_negative : int or float
        Pairs apart in both.
    """

    true_positive: int | float
    false_positive: int | float
    false_negative: int | float
    true_negative: int | float

    @property
    def precision(self) -> float:
        """Share of the pairs that ``labels_pred`` puts together that ``labels_true`` puts together too."""
        return self._share(self.true_positive + self.false_positive)

    @property
    def recall(self) -> float:
        """Share of the pairs that ``labels_true`` puts together that ``labels_pred`` puts together too."""
        return self._share(self.true_positive + self.false_negative)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, Eq. (5)."""
        wrong = self.false_positive + self.false_negative
        return (
            2 * self.true_positive / (2 * self.true_positive + wrong) if self.true_positive or wrong else 1.0
        )

    def _share(self, of: int | float) -> float:
        if of:
            return self.true_positive / of
        # No pair to judge: 1 if there are no wrong pairs either, else 0.
        return 0.0 if self.false_positive + self.false_negative else 1.0


# Measures of a table ---------------------------------------------------------------------------------------


def _accuracy(table: Contingency) -> float:
    """Eq. (1)."""
    rows, columns = match(table)
    # Row-major keys are sorted, because the cells are sorted.
    keys = table.rows.astype(np.int64) * table.shape[1] + table.columns
    matched = np.searchsorted(keys, rows.astype(np.int64) * table.shape[1] + columns)
    return float(table.counts[matched].sum() / table.total)


class _Information(NamedTuple):
    """The terms of Eqs. (2) and (3)."""

    mutual: float
    entropy_a: float
    entropy_b: float

    @classmethod
    def of(cls, table: Contingency) -> _Information:
        return cls(
            mutual_information(table.cells, table.row_sums, table.column_sums),
            entropy(table.row_sums),
            entropy(table.column_sums),
        )


def _nmi(table: Contingency, information: _Information, normalization: str) -> float:
    """Eq. (2)."""
    if table.is_bijection:
        return 1.0
    return normalize_information(*information, MEANS.index(normalization))


def _ami(table: Contingency, information: _Information, normalization: str) -> float:
    """Eq. (3); NaN if weights are not whole numbers, because E is then undefined."""
    if table.is_bijection:
        return 1.0
    if min(table.shape) == 1:
        return 0.0
    if not table.is_whole:
        return math.nan
    expected = expected_mutual_information(table.row_sums, table.column_sums)
    scale = mean_entropy(*information[1:], MEANS.index(normalization)) - expected
    gain = information.mutual - expected
    # With singletons both can be rounding errors around zero: there is no gain over chance.
    tiny = 8 * np.finfo(np.float64).eps * max(1.0, expected)
    return gain / scale if abs(scale) > tiny else 0.0


def _pairs(table: Contingency) -> PairConfusion:
    n = table.total
    both, a, b = (_sum_of_squares(x, n) for x in (table.counts, table.row_sums, table.column_sums))
    pairs = confuse_pairs(both, a, b, n, n)
    if table.is_whole:
        return PairConfusion(*(count // 2 for count in pairs))
    together, only_a, only_b, apart = (count / 2 for count in pairs)
    if table.is_bijection:  # rounding would leave small values
        only_a = only_b = 0.0
    return PairConfusion(together, only_a, only_b, apart)


def _sum_of_squares(counts: np.ndarray, total: int | float) -> int | float:
    if counts.dtype.kind == "i":
        if total < 3_000_000_000:  # total**2 < 2**63
            return int(np.dot(counts, counts))
        return sum(count * count for count in counts.tolist())  # Python's integers do not overflow
    return float(np.einsum("i,i->", counts, counts))  # BLAS would wake its threads for it


def _ari(table: Contingency, pairs: PairConfusion) -> float:
    """Eq. (4); Python's integers, since products of pair counts exceed int64 from n = 10**5 on."""
    return 1.0 if table.is_bijection else adjusted_rand(*pairs)


def _purity(table: Contingency) -> float:
    """Eq. (6)."""
    largest = np.zeros(table.shape[0], table.counts.dtype)
    np.maximum.at(largest, table.rows, table.counts)
    return float(largest.sum() / table.total)


def scores_of_table(table: Contingency) -> dict[str, float]:
    """All measures of :func:`scores`, from a table."""
    table = table.in_ordinary_unit()
    information = _Information.of(table)
    pairs = _pairs(table)
    return {
        "accuracy": _accuracy(table),
        "nmi": _nmi(table, information, "arithmetic"),
        "nmi_geometric": _nmi(table, information, "geometric"),
        "nmi_max": _nmi(table, information, "max"),
        "ami": _ami(table, information, "arithmetic"),
        "ari": _ari(table, pairs),
        "f1": pairs.f1,
        "purity": _purity(table),
    }


def _crossed(labels_true: Any, labels_pred: Any, sample_weight: Any, missing: str) -> Contingency:
    """The contingency table: rows are the clusters that are judged, columns the classes."""
    given = {"labels_pred": labels_pred, "labels_true": labels_true}
    return cross(given, sample_weight=sample_weight, missing=missing)


def _table(labels_true: Any, labels_pred: Any, sample_weight: Any, missing: str) -> Contingency:
    """The table for a measure, in a unit of weights in which counts can be multiplied."""
    return _crossed(labels_true, labels_pred, sample_weight, missing).in_ordinary_unit()


# Measures of labels ----------------------------------------------------------------------------------------


def scores(
    labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error"
) -> dict[str, float]:
    """Score a clustering against known classes with all common measures, in one pass over the labels.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        The classes: integers, text, floats or objects. Values are only names.
    labels_pred : array-like of shape (n_samples,)
        The clustering to judge, for the same objects in the same order.
    sample_weight : array-like of shape (n_samples,), optional
        How often each object counts: an object of weight 3 counts as three equal objects.
    missing : {"error", "ignore", "cluster"}, default="error"
        What to do with objects whose label is missing (-1, NaN, None) on either side. "error" raises an
        error, "ignore" compares only the other objects, and "cluster" takes the missing labels for a cluster
        of their own, as scikit-learn does with -1.

    Returns
    -------
    dict
        Keys are the names of functions of this module; the normalization of ``nmi`` is appended if it is not
        the default.

        - ``accuracy``: share of objects in the right class under the best one-to-one matching of clusters and
          classes.
        - ``nmi``, ``nmi_geometric``, ``nmi_max``: mutual information divided by the arithmetic mean of the
          two entropies as in scikit-learn, by their geometric mean, and by the larger one. Published tables
          differ in this, and the values differ much if the numbers of clusters do.
        - ``ami``: mutual information adjusted for chance, arithmetic; NaN if weights are not whole numbers
          (unless the partitions are equal, or one is a single cluster).
        - ``ari``: Rand index adjusted for chance.
        - ``f1``: harmonic mean of precision and recall over pairs of objects.
        - ``purity``: share of objects in the most frequent class of their cluster. It tends to grow with the
          number of clusters and is 1 for singletons.

    Notes
    -----
    One pass over the labels takes O(n) on all cores; all that follows works on the table of k clusters and c
    classes. The matching takes at most O(k c min(k, c)), and E[MI] is a sum over pairs of distinct cluster
    and class sizes. All measures except ``f1``, ``accuracy`` and ``purity``, which scikit-learn does not
    have, equal its functions. Only ``purity`` changes if ``labels_true`` and ``labels_pred`` are swapped.

    Examples
    --------
    >>> from consilience.metrics import scores
    >>> result = scores(["a", "a", "b", "b", "c", "c"], [0, 0, 1, 1, 1, 2])
    >>> round(result["accuracy"], 3), round(result["ari"], 3), round(result["purity"], 3)
    (0.833, 0.444, 0.833)
    """
    return scores_of_table(_crossed(labels_true, labels_pred, sample_weight, missing))


def accuracy(
    labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error"
) -> float:
    """Share of objects in the right class under the best one-to-one matching of clusters and classes.

    There may be more or fewer clusters than classes; objects in an unmatched cluster count as wrong. The
    parameters are those of :func:`scores`.

    Examples
    --------
    >>> from consilience.metrics import accuracy
    >>> accuracy(["a", "a", "b", "b", "b"], [1, 1, 0, 0, 2])
    0.8
    """
    return _accuracy(_table(labels_true, labels_pred, sample_weight, missing))


def nmi(
    labels_true: Any,
    labels_pred: Any,
    *,
    normalization: str = "arithmetic",
    sample_weight: Any = None,
    missing: str = "error",
) -> float:
    """Normalized mutual information.

    Parameters
    ----------
    labels_true, labels_pred, sample_weight, missing
        As in :func:`scores`.
    normalization : {"arithmetic", "geometric", "max"}, default="arithmetic"
        The mean of the two entropies by which the mutual information is divided. scikit-learn uses the
        arithmetic mean by default, Strehl and Ghosh (2002) the geometric mean, and the programs behind many
        published tables the maximum.

    Examples
    --------
    >>> from consilience.metrics import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2], normalization="max"), 3)
    0.667
    """
    check("normalization", normalization, NORMALIZATION)
    table = _table(labels_true, labels_pred, sample_weight, missing)
    return _nmi(table, _Information.of(table), normalization)


def ami(
    labels_true: Any,
    labels_pred: Any,
    *,
    normalization: str = "arithmetic",
    sample_weight: Any = None,
    missing: str = "error",
) -> float:
    """Mutual information adjusted for chance: 0 is expected for random labels, 1 for equal partitions.

    The parameters are those of :func:`nmi`. Weights must be whole numbers, because the correction for chance
    counts tables.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.

    Examples
    --------
    >>> from consilience.metrics import ami
    >>> ami([1, 1, 0, 0], [0, 0, 1, 1])
    1.0
    """
    check("normalization", normalization, NORMALIZATION)
    table = _table(labels_true, labels_pred, sample_weight, missing)
    if not table.is_whole:
        raise InputError(
            "ami needs whole numbers as sample_weight (how often each object counts), adding up to less "
            "than 2**53, because its correction for chance counts tables of whole numbers. Scale or round "
            "the weights, or use nmi or ari."
        )
    return _ami(table, _Information.of(table), normalization)


def ari(labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error") -> float:
    """Rand index adjusted for chance: 0 is expected for random labels, 1 for equal partitions.

    The parameters are those of :func:`scores`.

    Examples
    --------
    >>> from consilience.metrics import ari
    >>> ari(["b", "b", "a", "a"], [0, 0, 1, 1])
    1.0
    """
    table = _table(labels_true, labels_pred, sample_weight, missing)
    return _ari(table, _pairs(table))


def purity(labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error") -> float:
    """Share of objects that belong to the most frequent class of their cluster.

    The parameters are those of :func:`scores`. The measure is not symmetric, and it is 1 for singletons.

    Examples
    --------
    >>> from consilience.metrics import purity
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    return _purity(_table(labels_true, labels_pred, sample_weight, missing))


def pair_confusion(
    labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error"
) -> PairConfusion:
    """Count the pairs of objects that ``labels_pred`` and ``labels_true`` put together or apart.

    The parameters are those of :func:`scores`. Each unordered pair counts once (the matrix of scikit-learn
    counts it twice), in integers that do not overflow.

    Examples
    --------
    >>> from consilience.metrics import pair_confusion
    >>> pairs = pair_confusion(["a", "a", "b", "b"], [0, 0, 0, 1])
    >>> tuple(pairs), round(pairs.precision, 3), pairs.recall
    ((1, 2, 1, 2), 0.333, 0.5)
    """
    table = _crossed(labels_true, labels_pred, sample_weight, missing)
    if table.total > 1e150:
        raise InputError(
            f"sample_weight adds up to {table.total:g}, and the number of pairs exceeds all "
            f"floating-point numbers. Divide the weights by the largest."
        )
    return _pairs(table)


def f1(labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error") -> float:
    """Harmonic mean of precision and recall over pairs of objects.

    The parameters are those of :func:`scores`. :func:`pair_confusion` returns precision and recall
    themselves.

    Examples
    --------
    >>> from consilience.metrics import f1
    >>> round(f1(["a", "a", "b", "b"], [0, 0, 0, 1]), 3)
    0.4
    """
    return _pairs(_table(labels_true, labels_pred, sample_weight, missing)).f1


def _fresh_numbers(taken: np.ndarray, count: int) -> list[int]:
    """Unused whole numbers: those above the largest, or the smallest if floats cannot represent those."""
    highest = math.floor(taken.max())
    if highest + 1 + count < 2**53:
        return list(range(highest + 1, highest + 1 + count))
    used = set(taken.tolist())
    return list(itertools.islice((i for i in itertools.count() if i not in used), count))


def align(labels: Any, reference: Any, *, sample_weight: Any = None) -> np.ndarray:
    """Rename the clusters of ``labels`` after the clusters of ``reference`` that they match best.

    Cluster numbers are arbitrary, so that two runs on the same objects cannot be compared label by label.
    This function renames clusters by the one-to-one matching with the most objects in common, so that they
    can. It does not change the partition.

    Parameters
    ----------
    labels : array-like of shape (n_samples,), or fitted model
        The clustering to rename; for a model, its ``labels_``.
    reference : array-like of shape (n_samples,), or fitted model
        The clustering, or classes, whose names to use. Objects are matched by position. If both inputs name
        their objects (pandas Series and frames of one column by their index, models by ``sample_names_``) and
        the names differ, objects are matched by name, and objects that only one of them has are left out of
        the matching.
    sample_weight : array-like of shape (n_samples,), optional
        How often each object of ``labels`` counts in the matching.

    Returns
    -------
    array of shape (n_samples,)
        The renamed labels in the order of ``labels``, with the type of the reference. A cluster without a
        partner in the matching gets a new name, larger clusters first: the next whole numbers above those of
        the reference (or the smallest unused ones, if those above are too large), or ``"extra-1"``,
        ``"extra-2"`` among text. Objects missing from ``labels`` stay missing (-1, NaN, or None).

    Examples
    --------
    >>> from consilience.metrics import align
    >>> align([7, 7, 3, 3, 5], [0, 0, 1, 1, 1])
    array([0, 0, 1, 1, 2])
    """
    labels, own_names = labels_and_names(labels, "labels")
    reference, other_names = labels_and_names(reference, "reference")
    (codes, clusters), (reference_codes, names) = encode(labels, "labels"), encode(reference, "reference")
    where = positions(own_names, other_names, ("labels", "reference"))
    if where is not None:  # -1 for objects that are not in the reference
        reference_codes = np.append(reference_codes, reference_codes.dtype.type(-1))[where]
    check_lengths(codes, reference_codes, ("labels", "reference"))
    weights = check_weights(sample_weight, len(codes))
    table = table_of_codes(codes, reference_codes, weights, missing="ignore")
    rows, columns = match(table)
    matched = table.row_labels[rows]
    by_size = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(clusters)), kind="stable")
    left_over = by_size[~np.isin(by_size, matched)]

    kind = {"i": np.int64, "u": np.int64, "f": np.float64}.get(names.dtype.kind, object)
    if kind is np.int64 and int(names.max()) > np.iinfo(np.int64).max:
        kind = np.uint64
    new = np.empty(
        len(clusters) + 1, object if kind is np.uint64 else kind
    )  # code -1, missing, picks the last
    new[matched] = names[table.column_labels[columns]]
    if kind is not object:
        new[left_over] = _fresh_numbers(names, len(left_over))
        new[-1] = None if kind is np.uint64 else -1 if kind is np.int64 else math.nan
        out = new[codes]
        return out if (codes < 0).any() else out.astype(kind)
    taken = set(names.tolist())
    fresh = (name for i in itertools.count(1) if (name := f"extra-{i}") not in taken)
    new[left_over] = list(itertools.islice(fresh, len(left_over)))
    new[-1] = None
    out = new[codes]
    return out if (codes < 0).any() or names.dtype.kind == "O" else out.astype(str)
