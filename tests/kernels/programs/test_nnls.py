"""Non-negative least squares against the solver of SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from consilience._kernels.programs.nnls import nonnegative_parts


def test_rows_are_non_negative_least_squares(seed):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(8, 3))
    X = rng.normal(size=(20, 8))
    P = nonnegative_parts(X @ C, C.T @ C)
    for x, p in zip(X, P):
        np.testing.assert_allclose(p, nnls(C, x)[0], atol=1e-8)
