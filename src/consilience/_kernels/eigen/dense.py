"""Eigenvectors of dense symmetric matrices.

LAPACK's quickest driver (``evr``, relatively robust representations) gives up on some matrices whose
eigenvalues come in bunches of equals, or returns fewer of them than it was asked for. Such bunches are what
unanimous ensembles and repeated rows make. Divide and conquer (``evd``) and then plain QR iteration (``ev``)
take over there: slower, all eigenvectors, and indifferent to bunches.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from ...errors import NumericalError
from ..runtime.threads import blocks, map_blocks

_BLOCK = 256
_COLUMNS = 512  # of eigenvectors brought back at a time; each time costs the factors of the reflections again


def eigenpairs(
    M: np.ndarray, count: int | None = None, *, which: str = "smallest", overwrite: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(values (count,), vectors (n, count)) of a symmetric M (n, n), from the outermost inwards.

    which: "smallest", by rising eigenvalue, or "largest", by falling; count None is all. Only the upper
    triangle of M is read. overwrite: M may be destroyed, which saves a copy of it.

    O(n^3); 8 n count bytes for the vectors, and where the first driver fails 16 n^2 more.
    """
    n = M.shape[0]
    count = n if count is None else count
    M = np.require(M, np.float64, ["C", "W"]) if overwrite else np.array(M, np.float64, order="C")
    _mirror(M)
    _ensure_finite(M)
    if n == 1:
        return M[0, :count].copy(), np.ones((1, count))
    # The transpose has the order that LAPACK works in: nothing is copied. Its lower triangle, our upper one,
    # is used up and the diagonal with it; the other keeps the matrix for the next driver.
    A, diagonal = M.T, M.diagonal().copy()
    span = (0, count - 1) if which == "smallest" else (n - count, n - 1)
    try:
        values, vectors = scipy.linalg.eigh(
            A, subset_by_index=None if count == n else span, lower=True, overwrite_a=True, check_finite=False
        )
        if values.size != count:  # a driver that lost some of a bunch does not say so
            raise np.linalg.LinAlgError(f"{values.size} of {count} eigenvalues found")
    except np.linalg.LinAlgError as error:
        np.fill_diagonal(M, diagonal)
        values, vectors = _all_pairs(A, error)
        values, vectors = values[span[0] : span[1] + 1], vectors[:, span[0] : span[1] + 1]
    return (values, vectors) if which == "smallest" else (values[::-1], vectors[:, ::-1])


def every_eigenpair(M: np.ndarray, *, n_jobs: int | None = 1) -> tuple[np.ndarray, np.ndarray]:
    """(values (n,), vectors (n, n)) of a symmetric M (n, n) by rising eigenvalue, divide and conquer first.

    For all eigenvectors that is the quickest driver, nearly twice as quick as :func:`eigenpairs`; 24 n^2
    bytes. Only the upper triangle of M is read. Large ones are brought back from the tridiagonal form, a
    third of the work, by blocks on ``n_jobs`` threads.
    """
    _ensure_finite(M)
    if len(M) == 1:
        return np.array(M[0], float), np.ones((1, 1))
    found = _in_steps(M, n_jobs) if len(M) > _COLUMNS else None
    return _all_pairs(M, None) if found is None else found


def _in_steps(M: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The steps of the driver ``evd``, but with H Z by blocks of columns; None if they fail.

    M = H T H' with T = Z diag(values) Z' tridiagonal.

    LAPACK's own threads wait by spinning and are not used: beside other work they tripled the seconds of the
    processor.
    """
    if not hasattr(lapack, "dstevd"):  # not in older SciPy
        return None
    n = len(M)
    size = int(lapack.dsytrd_lwork(n, lower=1)[0])
    # The transpose of rows has the order that LAPACK works in.
    reflections, diagonal, beside, tau, failed = lapack.dsytrd(
        np.ascontiguousarray(M, float).T, lower=1, lwork=size
    )
    values, Z, failed_too = lapack.dstevd(diagonal, beside)
    if failed or failed_too:
        return None
    reflections = np.asfortranarray(reflections[1:, :-1])  # of all coordinates but the first

    def bring_back(a: int, b: int) -> None:
        Z[1:, a:b] = lapack.dormqr("L", "N", reflections, tau, Z[1:, a:b], lwork=_BLOCK * (b - a))[0]

    map_blocks(bring_back, n, size=_COLUMNS, n_jobs=n_jobs)
    return values, Z


def _all_pairs(A: np.ndarray, first: Exception | None) -> tuple[np.ndarray, np.ndarray]:
    """By the drivers that can handle bunches, from the upper triangle of A, which is kept."""
    reasons = [] if first is None else [f"evr: {first}"]
    for driver in ("evd", "ev"):
        try:
            return scipy.linalg.eigh(A, lower=False, driver=driver, check_finite=False)
        except np.linalg.LinAlgError as error:
            reasons.append(f"{driver}: {error}")
    n, largest = A.shape[0], np.abs(np.triu(A)).max()
    raise NumericalError(
        f"No eigenvectors were found for a symmetric {n} x {n} matrix with entries up to {largest:.3g} "
        f"({'; '.join(reasons)}). Weights or features of very different sizes cause this: bring them to one "
        f"scale."
    ) from first


def _mirror(M: np.ndarray) -> None:
    """Copy the upper triangle to the lower one."""
    for a, b in blocks(M.shape[0], _BLOCK):
        M[a:b, :a] = M[:a, a:b].T
        square = M[a:b, a:b]
        square[:] = np.triu(square) + np.triu(square, 1).T


def _ensure_finite(M: np.ndarray) -> None:
    bad = ~np.isfinite(M)
    if not bad.any():
        return
    i, j = np.argwhere(bad)[0]
    raise NumericalError(
        f"A symmetric {M.shape[0]} x {M.shape[1]} matrix has {int(bad.sum())} entries that are not finite "
        f"numbers, the first {M[i, j]} in row {i}, column {j}, so it has no eigenvectors. Weights or "
        "features too large to be squared cause this: bring them to the order of one."
    )
