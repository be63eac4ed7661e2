"""Measures of clusterings, each from one contingency table.

Labels against labels: :func:`scores` gives all at once; :func:`accuracy`, :func:`nmi`, :func:`ami`,
:func:`ari`,
:func:`f1`, :func:`purity`, :func:`pair_confusion` one each; :func:`contingency_table` the table, :func:`align` the
labels renamed to match. An ensemble by itself: :func:`anmi`, :func:`sample_stability`,
:func:`cluster_stability`; its base clusterings against the truth: :func:`base_scores`,
:func:`compare_with_base`.
"""

from ._external import PairConfusion, accuracy, align, ami, ari, f1, nmi, pair_confusion, purity, scores
from ._internal import anmi, base_scores, cluster_stability, compare_with_base, sample_stability
from ._named import labels_and_names as labels_and_names
from ._named import positions as positions
from ._table import Contingency, contingency_table

__all__ = [
    "Contingency",
    "PairConfusion",
    "accuracy",
    "align",
    "ami",
    "anmi",
    "ari",
    "base_scores",
    "cluster_stability",
    "compare_with_base",
    "contingency_table",
    "f1",
    "nmi",
    "pair_confusion",
    "purity",
    "sample_stability",
    "scores",
]
