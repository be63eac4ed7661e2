"""Labels from the graph that SCCABG learned: components, objects cut off, and missing labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..._data.named import incidence_of
from ..._evidence.table import Evidence
from ..._kernels.cut.partition import exactly
from ..._kernels.pairs.components import components


def read_components(S: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """(component of each object in the graph S (u, k), whether the object has no edge at all)."""
    labels = components(sp.block_array([[None, S], [S.T, None]], format="csr"))[1][: S.shape[0]]
    return labels, np.diff(S.indptr) == 0


def place(labels: np.ndarray, isolated: np.ndarray, ensemble, c: int, embedding: np.ndarray) -> np.ndarray:
    """Exactly c clusters: objects cut off are voted back, then components merged or split."""
    return exactly(
        rejoin(np.where(isolated, -1, labels), ensemble),
        c,
        similarity=_Together(ensemble.indicator()),
        embedding=embedding,
        weights=ensemble.sample_weight,
    )


def rejoin(labels: np.ndarray, ensemble) -> np.ndarray:
    """Labels with every -1 (an object cut off from all clusters) replaced by the vote of its base clusters.

    A base cluster votes with the shares of consensus clusters among its placed objects.
    """
    labels = labels.copy()
    while (lost := np.flatnonzero(labels < 0)).size:
        table = Evidence(ensemble, labels).table
        share = table / np.maximum(table.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        votes = incidence_of(ensemble)[lost].gather(share)
        heard = votes.max(axis=1) > 0
        if not heard.any():  # they share no cluster with anyone placed: to the largest
            placed = labels >= 0
            labels[lost] = np.bincount(labels[placed], ensemble.sample_weight[placed]).argmax()
            break
        labels[lost[heard]] = votes[heard].argmax(axis=1)
    return labels


class _Together:
    """Y Y' (u, u), never formed: how often two objects were put together."""

    def __init__(self, Y):
        self.Y = Y

    def __matmul__(self, other):
        return self.Y @ (self.Y.T @ other)


def expected_clusters(ensemble) -> sp.csr_array:
    """(u, k) overlap of each cluster q with the clusters of an object: sum over these p of K_pq / K_pp."""
    Y, K = ensemble.indicator(), ensemble.contingency_sparse()
    return sp.csr_array(Y @ (sp.diags_array(1 / ensemble.cluster_sizes()) @ K))


def fill_in(distinct, S: sp.csr_array) -> np.ndarray:
    """(u, m) labels, with missing ones filled in by the strongest edge of S (u, k), or else by overlap."""
    labels = np.array(distinct.labels)
    learned_by_column, overlap = S.tocsc(), expected_clusters(distinct).tocsc()
    for i in np.flatnonzero((labels < 0).any(axis=0)):
        rows = np.flatnonzero(labels[:, i] < 0)
        own = slice(distinct.offsets[i], distinct.offsets[i + 1])
        learned, likely = (M[:, own].tocsr()[rows].toarray() for M in (learned_by_column, overlap))
        score = np.where(learned.max(axis=1, keepdims=True) > 0, learned, likely)
        labels[rows, i] = score.argmax(axis=1)
    columns = [values[labels[:, i]] for i, values in enumerate(distinct.categories)]
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)
