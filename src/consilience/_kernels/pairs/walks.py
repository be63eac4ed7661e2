"""Random walks along a sparse graph, many at a time, without a dense power.

This is what trajectories (:mod:`.trajectories`) need of them.

    rows of P^t are columns of X_t = P' X_(t-1), X_0 unit vectors;   Q_pp = sum_t |X_t e_p|^2             (1)
    V_t = P' V_(t-1),   G <- V_t + P G   for t = T..1,   so that  P G = sum_t P^t (P^t)' V_0              (2)

P (v, v) in rows. Walks stay in their component of the graph: each is worked on by itself, its vertices in an
order in which neighbors are near each other, and so many columns at once as stay in the processor's memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..compile.jit import fast_kernel
from ..runtime.threads import blocks, map_tasks
from .components import components

COLUMNS = 64  # of one block
_TOGETHER = 1024  # vertices up to which components share a part: many are tiny


class Part(NamedTuple):
    """Some whole components: their vertices, P among these, and its transpose."""

    rows: np.ndarray
    forward: sp.csr_array
    backward: sp.csr_array


def parts(P: sp.csr_array) -> list[Part]:
    """The graph of P in parts that walks never leave. O(entries) time and memory."""
    pattern = sp.csr_array(P + P.T)
    order = reverse_cuthill_mckee(pattern, symmetric_mode=True)
    labels = components(pattern)[1]
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels)
    found = []
    for start, stop in _spans(sizes):
        rows = order[start:stop]
        forward = sp.csr_array(P[rows][:, rows])
        found.append(Part(rows, forward, sp.csr_array(forward.T)))
    return found


def _spans(sizes: np.ndarray) -> Iterator[tuple[int, int]]:
    """(start, stop) of parts, from the sizes of components one after the other."""
    start = stop = 0
    for size in sizes.tolist():
        if stop > start and stop - start + size > _TOGETHER:
            yield start, stop
            start = stop
        stop += size
    if stop > start:
        yield start, stop


def walk_norms(P: sp.csr_array, steps: int, *, n_jobs: int | None = -1) -> np.ndarray:
    """(v,) Eq. (1), in O(steps e s) time for e entries and s vertices in each component.

    One block of columns (16 COLUMNS s bytes) a thread.
    """
    out = np.zeros(P.shape[0])

    def task(given: tuple[Part, int, int]) -> None:
        part, a, b = given
        reached = part.backward[:, a:b].toarray()
        total, spare = np.einsum("ij,ij->j", reached, reached), np.empty_like(reached)
        for _ in range(steps - 1):
            multiply(part.backward, reached, spare)
            reached, spare = spare, reached
            total += np.einsum("ij,ij->j", reached, reached)
        out[part.rows[a:b]] = total

    spans = [(part, a, b) for part in parts(P) for a, b in blocks(part.rows.size, COLUMNS)]
    map_tasks(task, spans, n_jobs=n_jobs)
    return out


def walk_sums(P: sp.csr_array, steps: int, V: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
    """G (v, b) of Eq. (2) from V_0 = V.

    O(steps e b) time, 8 (steps + 1) s COLUMNS bytes a thread beside the answer.
    """
    out = np.zeros(V.shape)

    def task(given: tuple[Part, np.ndarray]) -> None:
        part, columns = given
        out[np.ix_(part.rows, columns)] = _sums(part, steps, V[np.ix_(part.rows, columns)])

    spans = [
        (part, columns[a:b])
        for part in parts(P)
        for columns in [np.flatnonzero(V[part.rows].any(axis=0))]
        for a, b in blocks(columns.size, COLUMNS)
    ]
    map_tasks(task, spans, n_jobs=n_jobs)
    return out


def walk_products(P: sp.csr_array, steps: int, *, n_jobs: int | None = -1) -> np.ndarray:
    """Q (v, v) = sum_t P^t (P^t)' dense, exactly 0 where walks do not meet.

    O(steps e s) time, 8 v^2 bytes beside those of :func:`walk_sums`.
    """
    out = np.zeros(P.shape)

    def task(given: tuple[Part, int, int]) -> None:
        part, a, b = given
        V = np.zeros((part.rows.size, b - a))
        V[np.arange(a, b), np.arange(b - a)] = 1.0
        G = _sums(part, steps, V)
        multiply(part.forward, G, V)
        out[np.ix_(part.rows, part.rows[a:b])] = V

    spans = [(part, a, b) for part in parts(P) for a, b in blocks(part.rows.size, COLUMNS)]
    map_tasks(task, spans, n_jobs=n_jobs)
    return out


def _sums(part: Part, steps: int, V: np.ndarray) -> np.ndarray:
    """Eq. (2) of some columns."""
    back = np.empty((steps + 1, *V.shape))
    back[0] = V
    for t in range(steps):
        multiply(part.backward, back[t], back[t + 1])
    G, spare = back[steps], back[0]
    for t in range(steps - 1, 0, -1):
        multiply(part.forward, G, spare)
        spare += back[t]
        G, spare = spare, G
    return G


def multiply(A: sp.csr_array, X: np.ndarray, out: np.ndarray) -> None:
    """out = A X for dense X (columns of A, b), both in rows."""
    _multiply(A.indptr, A.indices, A.data, X, out)


@fast_kernel
def _multiply(indptr, indices, data, X, out):
    """out = A X for a sound CSR matrix A with as many columns as X has rows.

    Four entries are taken at a time: the sums are read and written a quarter as often.
    """
    width = X.shape[1]
    for p in range(indptr.size - 1):
        total = out[p]
        total[:] = 0.0
        t, stop = indptr[p], indptr[p + 1]
        while t + 4 <= stop:
            a, b, c, d = data[t], data[t + 1], data[t + 2], data[t + 3]
            A, B, C, D = X[indices[t]], X[indices[t + 1]], X[indices[t + 2]], X[indices[t + 3]]
            for j in range(width):
                total[j] += a * A[j] + b * B[j] + c * C[j] + d * D[j]
            t += 4
        while t < stop:
            a, A = data[t], X[indices[t]]
            for j in range(width):
                total[j] += a * A[j]
            t += 1
