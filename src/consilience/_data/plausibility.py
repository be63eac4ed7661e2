"""Labels that look like something else, or something else that looks like labels.

They are refused if they cannot be meant, and otherwise questioned by a warning.

======================================  ==============================  ===================================
what it looks like                      how it is told                  what happens
======================================  ==============================  ===================================
a matrix of pairs (co-association,      square, symmetric, one value    refused
distances)                              all along the diagonal
features                                most columns hold fractions,    refused
                                        and many different ones
identifiers                             every object has a label of     refused if all columns are so, else
                                        its own                         a warning that names them
measurements among clusterings          as features, in a few columns   a warning that names them
clusterings of hardly any two objects   nine of ten objects alone       a warning that names them
the other way round                     far more clusterings than       refused or a warning, see
                                        objects                         _check_orientation
======================================  ==============================  ===================================

Few objects are never questioned: a clustering of them into single objects is as likely as anything else.

A table of features is questioned if it looks like labels: in each of its columns all numbers are codes
without gaps, from -1 (missing), 0 or 1, and few. If all are 0 or 1, as answers of yes and no are, the columns
must also agree as clusterings do. A table that is wrapped in ``Features`` is not questioned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._base.parameters import listed
from ..errors import GuessWarning, InputError, OrientationWarning, warn
from .mixed import is_numbering

if TYPE_CHECKING:
    from .features import Features
    from .intake import Intake

#: Fewer objects than this can each be a cluster of its own.
_FEW = 10
#: Share of the seen objects that are alone in a clustering, from which on a warning names it.
_ALONE = 0.9
#: Lists of no more vectors than this are written by hand, and the writer knows what they are.
_BY_HAND = 10

_FEATURES = (
    "To cluster features use ConsensusClustering(n_clusters=...).fit(X) or 'consilience cluster', or make "
    "base clusterings "
    "of them with consilience.generate"
)


def question(intake: Intake, *, told: bool) -> None:
    """Raise or warn if the labels look like something else; ``told`` if the user named rows or columns."""
    _check_filled(intake)
    if intake.container == "known":
        return
    _check_pairs(intake)
    _check_columns(intake)
    if not told:
        _check_orientation(intake)


def _check_filled(intake: Intake) -> None:
    empty = [i for i, values in enumerate(intake.categories) if len(values) == 0]
    if empty:
        names = intake.clustering_names or [f"clustering {i}" for i in range(len(intake.categories))]
        shown = listed(repr(names[i]) for i in empty)
        raise InputError(
            f"Clustering {shown} (column {listed(empty)}) has no labels at all: every entry is missing. "
            f"Drop it."
        )


# A matrix of pairs -----------------------------------------------------------------------------------------


def _check_pairs(intake: Intake) -> None:
    n, m = intake.labels.shape
    if n != m or n < 3 or any(values.dtype.kind not in "iuf" for values in intake.categories):
        return
    part = min(n, 200)  # enough to tell: a chance symmetry of so many cells has no probability
    corner = _values(intake, np.arange(part), range(part))
    row, column = _values(intake, np.arange(1), range(n))[0], _values(intake, np.arange(n), [0])[:, 0]
    diagonal = np.array([_values(intake, np.array([i]), [i])[0, 0] for i in range(n)])
    symmetric = _same(corner, corner.T) and _same(row, column)
    if not symmetric or not (np.abs(diagonal - diagonal[0]) < 1e-9).all():
        return
    seen = corner[~np.isnan(corner)]
    fractions = (seen != np.rint(seen)).any()
    if np.unique(seen).size < 2 or not (fractions or n >= _FEW):
        return
    what = "a co-association or similarity matrix" if diagonal[0] == 1 else "a matrix of pairs of objects"
    cut = "1 - matrix" if diagonal[0] == 1 else "matrix"
    raise InputError(
        f"labels has shape ({n}, {m}), is symmetric and has {diagonal[0]:g} all along its diagonal: it "
        f"looks like {what}, not like clusterings. Pass the labels it was made from, one column per "
        "clustering; to cut such a matrix itself use scikit-learn, for instance "
        "AgglomerativeClustering(n_clusters, metric='precomputed', "
        f"linkage='average').fit({cut})."
    )


def _values(intake: Intake, rows: np.ndarray, columns) -> np.ndarray:
    """Labels as numbers, NaN where missing."""
    return np.column_stack(
        [np.append(intake.categories[j].astype(float), np.nan)[intake.labels[rows, j]] for j in columns]
    )


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.allclose(a, b, rtol=0, atol=1e-9, equal_nan=True)


# Features and identifiers ----------------------------------------------------------------------------------


def _check_columns(intake: Intake) -> None:
    n, m = intake.labels.shape
    own, lonely, measured = [], [], []  # every object has a label of its own; nearly every; fractions
    for i, values in enumerate(intake.categories):
        k = len(values)
        if k < _FEW or k * k <= n:  # as in most ensembles: nothing of length n is looked at
            continue
        seen = int((intake.labels[:, i] >= 0).sum())
        fractions = values.dtype.kind == "f" and bool((values != np.rint(values)).any())
        if fractions and (k == seen or k > max(_FEW, seen**0.5)):
            measured.append(i)
        elif k == seen:
            own.append(i)
        elif k > _ALONE * seen:
            lonely.append(i)
    if 2 * len(measured) > m or (measured and len(measured) + len(own) == m):
        raise InputError(_features(intake, measured))
    if len(own) == m:
        raise InputError(
            f"Every one of the {n} objects has a label of its own in {_all_of(m)} {_called(intake, own)}: "
            f"that says nothing about which belong together. Leave out identifiers. {_FEATURES}."
        )
    if own:
        warn(
            f"{_called(intake, own, start=True)} {_has(own)} a label of its own for each object, as an "
            f"identifier has: "
            f"it counts as a clustering that keeps all objects apart. Leave it out, or give it as "
            f"{_names_of(intake)}.",
        )
    if measured:
        i = measured[0]
        warn(
            f"{_called(intake, measured, start=True)} {_has(measured)} many different fractions "
            f"({len(intake.categories[i])} among {n} objects, such as {_fraction(intake, i):g}), as "
            f"measurements have: "
            "each value counts as a cluster. Leave it out if it is not a clustering.",
        )
    if lonely:
        warn(
            f"{_called(intake, lonely, start=True)} {_has(lonely)} nearly as many clusters "
            f"({len(intake.categories[lonely[0]])}) as objects ({n}). Leave it out if it is not a "
            f"clustering.",
        )


def _features(intake: Intake, measured: list[int]) -> str:
    n, m = intake.labels.shape
    i = measured[0]
    values = intake.categories[i]
    remedy = f"{_FEATURES}."
    if len(values) < n:
        remedy += " If they are labels, number them first: numpy.unique(column, return_inverse=True)[1]."
    return (
        f"labels looks like features: {len(measured)} of {m} columns hold many different fractions "
        f"({_called(intake, [i])} has "
        f"{len(values)} among {n} objects, such as {_fraction(intake, i):g}). Expected cluster labels, one "
        f"column per clustering. {remedy}"
    )


def _fraction(intake: Intake, column: int) -> float:
    values = intake.categories[column]
    return values[values != np.rint(values)][0]


def _all_of(m: int) -> str:
    return "" if m == 1 else f"all {m} clusterings:"


def _called(intake: Intake, columns: list[int], *, start: bool = False) -> str:
    """How a message names these clusterings; ``start`` at the start of a sentence."""
    names = intake.clustering_names
    what = "column" if intake.container in ("array", "rows", "frame", "table") else "clustering"
    what = what.capitalize() if start else what
    shown = listed(columns if names is None else [repr(names[i]) for i in columns])
    return f"{what}{'s' if len(columns) > 1 else ''} {shown}"


def _has(columns: list[int]) -> str:
    return "has" if len(columns) == 1 else "have"


def _names_of(intake: Intake) -> str:
    return {
        "table": "row names (index=True, or --index, for column 1)",
        "frame": "row names, such as labels.set_index(...)",
    }.get(intake.container, "sample_names")


# Orientation -----------------------------------------------------------------------------------------------


def _check_orientation(intake: Intake) -> None:
    """Warn of many more clusterings than objects, or refuse them.

    Rows of an array, a list of lists, a data frame or a file are objects; a list given to
    ``from_clusterings`` holds one vector per clustering. So a list with more vectors than labels in each is
    questioned, and with three times as many it is refused as ambiguous. An array is questioned from three
    times as many on, and refused from ten times as many on if its columns do not look like clusterings
    either. A list of lists is questioned as soon as its rows are longer than it, like a list of label
    vectors. A dict names what it holds by its keys: it is questioned, but never refused.
    """
    n, m = intake.labels.shape
    if intake.container == "list":
        if m <= max(n, _BY_HAND):
            return
        refused = m >= 3 * n
    else:
        if m < (n + 1 if intake.container == "rows" else 3 * n):
            return
        per_clustering = sum(map(len, intake.categories)) / m
        refused = intake.container != "dict" and m >= 10 * n and n > 2 and per_clustering > 0.3 * n
    says = f"so this says {_counted(m, 'clustering')} of {_counted(n, 'object')}"
    turned = f"if you have {_counted(n, 'clustering')} of {_counted(m, 'object')}"
    shape = f"labels has shape ({n}, {m}): rows are objects, columns are clusterings, {says}"
    told = {
        "array": f"{shape}. Pass labels.T {turned}",
        "frame": f"{shape}. Pass labels.T (labels.transpose() in polars) {turned}",
        "table": f"{shape}. Read it with transpose=True (--transpose) {turned}",
        "rows": f"labels is a list of {_counted(n, 'list')} of {_counted(m, 'label')}: "
        f"each list is an object, {says}. Pass Ensemble.from_clusterings(labels) {turned}",
        "list": f"labels is a list of {m} vectors of {n} labels: each vector is a clustering, {says}. Pass "
        f"Ensemble(numpy.array(labels)), whose rows are objects, {turned}",
        "dict": f"labels is a dict of {m} vectors of {n} labels: it holds one vector per clustering, {says}. "
        f"Pass numpy.array(list(labels.values())), whose rows are objects, {turned}",
    }[intake.container]
    if not refused:
        warn(f"{told}.", OrientationWarning)
        return
    read = "load the table yourself and name them" if intake.container == "table" else "say so by naming them"
    raise InputError(
        f"{told}; if there really are {n} objects, {read}: Ensemble(labels, sample_names=range({n}))."
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


# Features that look like labels ----------------------------------------------------------------------------

#: Rows of a list of lists with this many times more columns look like label vectors.
_WIDE = 10
#: Columns that are compared with each other, at most.
_COMPARED = 50
#: Mean absolute correlation of columns of zeros and ones from which they look like clusterings in two.
_AGREE = 0.5


def question_features(features: Features, given: Any, remedy: str | None) -> None:
    """Warn if features look like labels, or the list ``given`` for them like one of label vectors.

    ``remedy`` says how to give labels. Where it is None, both could be meant, and an error asks which.
    """
    if _is_list_of_clusterings(given, features.X):
        m, n = features.shape
        what = f"X is a list of {m} vectors of {n} small whole numbers"
        if remedy is None:
            raise InputError(
                f"{what}: {m} clusterings of {n} objects, or features of {m} objects? For clusterings write "
                "choose_k(cs.Ensemble.from_clusterings(X)), for features choose_k(numpy.array(X))."
            )
        warn(
            f"{what}, as {m} clusterings of {n} objects are, "
            f"and was taken for the features of {m} objects. If they are clusterings, pass "
            f"cs.Ensemble.from_clusterings(X) to a consensus method, or to choose_k as ensemble. If they are "
            f"features, numpy.array(X) says so.",
            GuessWarning,
        )
        return
    _question_numbering(features)
    if looks_like_labels(features.X):
        n, d = features.shape
        what = f"X holds only small whole numbers in each of its {d} columns"
        if remedy is None:
            raise InputError(
                f"{what}: labels of {n} objects in {d} base clusterings, or features? For labels write "
                "choose_k(ensemble=X), for features choose_k(cs.io.Features(X))."
            )
        warn(
            f"{what}, like labels of {n} objects in "
            f"{d} base clusterings, and was taken for features. If these are labels, {remedy}. If they are "
            f"features, "
            "cs.io.Features(X) says so.",
            GuessWarning,
        )


def _question_numbering(features: Features) -> None:
    """Warn of columns that only count the objects."""
    X, names = features.X, features.feature_names
    if sp.issparse(X) or X.shape[1] < 2:
        return
    found = [j for j in range(X.shape[1]) if _whole(X[:_FEW, j]) and is_numbering(X[:, j])]
    if not found:
        return
    shown = listed(repr(names[j]) if names else j for j in found)
    warn(
        f"Column{'s' if len(found) > 1 else ''} {shown} of X {'hold' if len(found) > 1 else 'holds'} whole "
        f"numbers at constant steps, each once, as a number of each object does, and "
        f"{'were' if len(found) > 1 else 'was'} taken for {'features' if len(found) > 1 else 'a feature'}. "
        "Leave it out, or give it as row names, such as X.set_index(...), unless it measures something; "
        "cs.io.Features(X) says so.",
        GuessWarning,
    )


def _is_list_of_clusterings(given: Any, X: Any) -> bool:
    """Whether a list of vectors, such as arrays, could be one of long label vectors.

    Rows that are written as lists are objects, unless they would have very many columns.
    """
    if not isinstance(given, list):
        return False
    written_out = any(isinstance(one, (list, tuple)) for one in given)
    return X.shape[0] * (_WIDE if written_out else 1) < X.shape[1] and looks_like_labels(X.T)


def looks_like_labels(X: Any) -> bool:
    """Whether a table of numbers could be one of labels."""
    n, d = X.shape
    if sp.issparse(X) or n < _FEW or d < 2 or not _whole(X[:_FEW]) or not _whole(X):
        return False
    low, high = X.min(axis=0), X.max(axis=0)
    if low.min() < -1 or low.max() > 1 or (low == high).any() or (high - low + 1).max() > n / 3:
        return False
    codes = (X - low).astype(np.int64)
    if not all(np.bincount(column).all() for column in codes.T):
        return False
    return bool(high.max() > 1 or low.min() < 0) or _agree(codes[:, :_COMPARED])


def _whole(X: np.ndarray) -> bool:
    return bool((np.floor(X) == X).all())


def _agree(codes: np.ndarray) -> bool:
    """Whether columns of zeros and ones divide the objects alike, whichever part is called 0."""
    likeness = np.abs(np.corrcoef(codes, rowvar=False))
    return bool(likeness[np.triu_indices(len(likeness), 1)].mean() >= _AGREE)
