"""Hostile features: equal rows, constant columns, extreme scales, sparse, few."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

Rng = np.random.Generator


def matrix(rng: Rng) -> tuple[str, Any]:
    """(kind, X (n, d) finite, dense or CSR)."""
    n = int(rng.choice([rng.integers(2, 8), rng.integers(8, 40), rng.integers(40, 90)], p=[0.25, 0.5, 0.25]))
    d = int(rng.choice([1, 2, rng.integers(3, 12)]))
    kind = str(
        rng.choice(
            [
                "normal",
                "blobs",
                "half zero",
                "whole numbers",
                "equal rows",
                "constant columns",
                "all equal",
                "wide columns",
                "one outlier",
                "line",
                "small",
                "large",
                "subnormal",
                "float32",
                "integers",
                "sparse",
                "sparse with empty rows",
            ]
        )
    )
    X: Any = rng.standard_normal((n, d))
    if kind == "blobs":
        X += 8 * rng.integers(0, 4, n)[:, None]
    elif kind == "half zero":
        X *= rng.random((n, d)) < 0.5
    elif kind == "whole numbers":
        X = np.rint(X)
    elif kind == "equal rows":
        X = X[rng.integers(0, max(1, n // 4), n)]
    elif kind == "constant columns":
        X[:, rng.random(d) < 0.7] = rng.choice([0.0, 1.0, -3.5e7])
    elif kind == "all equal":
        X[:] = X[0]
    elif kind == "wide columns":
        X *= 10.0 ** rng.uniform(-12, 12, d)
    elif kind == "one outlier":
        X[rng.integers(n), rng.integers(d)] = 10.0 ** rng.choice([6, 12, 30])
    elif kind == "line":
        X = np.arange(n, dtype=float)[:, None] * np.ones(d)
    elif kind == "small":
        X *= 10.0 ** rng.choice([-8, -30, -100])
    elif kind == "large":
        X *= 10.0 ** rng.choice([8, 30, 100, 140])
    elif kind == "subnormal":
        X = rng.integers(0, 9, (n, d)) * 5e-324
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "integers":
        X = rng.integers(-5, 6, (n, d))
    elif kind.startswith("sparse"):
        X *= rng.random((n, d)) < 0.4
        if "empty" in kind:
            X[rng.random(n) < 0.3] = 0
        X = sp.csr_array(X)
    return kind, X


def spoilt(rng: Rng, X: Any) -> Any:
    """The same with one value that must be refused."""
    out = sp.lil_array(X, dtype=float) if sp.issparse(X) else np.array(X, float)
    out[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    return sp.csr_array(out) if sp.issparse(X) else out


def distinct_rows(X: Any) -> int:
    dense = X.toarray() if sp.issparse(X) else X
    return len(np.unique(dense, axis=0))
