"""Numbers as the kernels take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def float_type(dtype: np.dtype) -> type:
    """float32 for what it holds exactly (small integers, half precision), else float64."""
    exact = dtype.kind in "biuf" and dtype.itemsize <= 2
    return np.float32 if exact or dtype == np.float32 else np.float64


def as_floats(X: Any) -> Any:
    """float32 or float64 of this machine, C-contiguous or canonical CSR; copied only if it is not."""
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=float_type(X.dtype))
    X = sp.csr_array(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(float_type(X.dtype))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
