"""Rows of either kind, as k-means sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .dense import BLOCK, DenseRows
from .sparse import SparseRows

__all__ = ["BLOCK", "DenseRows", "Rows", "SparseRows", "as_rows"]

Rows = DenseRows | SparseRows


def as_rows(X: Any, sample_weight: np.ndarray, n_jobs: int | None) -> Rows:
    """The right kind for ``X``."""
    kind = SparseRows if sp.issparse(X) else DenseRows
    return kind(X, sample_weight, n_jobs)
