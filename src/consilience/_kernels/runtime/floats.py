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
    """X as float32 or float64 of this machine, C-contiguous or canonical CSR; copied only if needed."""
    if not sp.issparse(X):
        if X.size == 0:  # refused by its shape, which may be more than an array of floats can have
            return X
        return np.ascontiguousarray(X, dtype=float_type(X.dtype))
    X = sp.csr_array(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(float_type(X.dtype))
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def unit_of_largest(X: Any) -> float:
    """The power of two that brings the largest number of X, array or CSR, near one; it changes no digit.

    Within the exponents of X's own type, so that it is one of its numbers.
    """
    values = X.data if sp.issparse(X) else X
    largest = max(abs(float(values.min(initial=0.0))), abs(float(values.max(initial=0.0))))
    least = np.finfo(X.dtype).minexp
    return 2.0 ** float(np.clip(-np.frexp(largest)[1], least, -least))
