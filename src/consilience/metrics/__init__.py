"""Measures of clusterings, each from one contingency table.

To compare labels with labels: :func:`scores` computes all measures at once; :func:`accuracy`, :func:`nmi`,
:func:`ami`, :func:`ari`, :func:`f1`, :func:`purity` and :func:`pair_confusion` compute one each.
:func:`contingency_table` returns the table, and :func:`align` renames labels to match others.

To judge an ensemble by itself: :func:`anmi`, :func:`sample_stability` and :func:`cluster_stability`. To
compare its base clusterings with known classes: :func:`base_scores` and :func:`compare_with_base`.
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
