"""The graph that SCCABG learns: its updates, as one map over blocks of rows and a few k x k sums.

Equations and symbols are those of :mod:`.sccabg`. :func:`advance` takes some rows and the shared state and
returns the rows and their share of the sums; :class:`Graph` holds the blocks and adds up what they return.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._data.named import incidence_of
from ..._kernels.eigen import eigenpairs
from ..._kernels.labels.incidence import Memberships
from ..._kernels.pairs.components import components
from ..._kernels.programs.box import contradiction, smooth_rows, weigh_rows
from ..._kernels.programs.coupling import Coupling, couple, gram
from ..._kernels.runtime.memory import ensure_fits
from ..._kernels.runtime.threads import map_tasks, resolve_jobs

SMALL = 1e-4  # edges below are no edges

_BLOCKS_AT_A_TIME = 32
_BYTES_AT_A_TIME = 1 << 28  # of their sums, unless there are more threads
_SHARED_BYTES = 64.0  # for each pair of base clusters, beside the sums (measured: 31 to 64)


@dataclass(frozen=True)
class Block:
    """Some rows of the problem: what one worker holds."""

    # (b, m) base cluster of each object in each clustering, -1 missing; of soft clusterings Y (b, k) as CSR
    codes: Any
    weights: np.ndarray  # (b,)
    S: np.ndarray  # (b, k)
    W: np.ndarray | None  # (b, k); None once all are 1
    trust: np.ndarray | None = None  # (b, k) mean of the W learned so far
    paced: int = 0  # rounds in which W was learned


class Pull(NamedTuple):
    """How similar base clusters attract each other: E of :mod:`...kernels.boxqp`, and its coupling.

    It is the same for all rows.
    """

    E: np.ndarray  # (k, k)
    coupling: Coupling


def pull_together(C: np.ndarray, similarity_weight: float, copies: np.ndarray) -> Pull:
    E = 2 * similarity_weight * C
    np.fill_diagonal(E, 0.0)
    return Pull(E, couple(E, copies))


@dataclass(frozen=True)
class State:
    """What all rows share: k x k at most."""

    C: np.ndarray  # (k, k)
    copies: np.ndarray  # (k,) how many equal base clusters a column stands for
    owners: np.ndarray | None  # (m, k) which clusterings a column is in; None if missing labels count as 0
    similarity_weight: float
    lam: float
    rho: float
    right: np.ndarray  # (k, c) V / sqrt(D2)
    sigma: np.ndarray  # (c,) leading singular values of Q
    weigh: bool  # whether W is still learned
    floor: float  # edges below are cut in every round
    tol: float  # of the row problems

    @cached_property
    def pull(self) -> Pull:
        return pull_together(self.C, self.similarity_weight, self.copies)


@dataclass(frozen=True)
class Sums:
    """What a block adds to the shared quantities."""

    D2: np.ndarray  # (k,) degrees of clusters
    P: np.ndarray  # (k, k) S' D1^-1 S
    half: np.ndarray  # (k, k) disagreement of clusters, Eq. (16), is this plus its transpose
    loss: float  # ||W o (S - Y)||^2
    trace: float  # tr(F' L F)
    total_W: float
    least_W: float
    solved: int = 0  # rows that needed a solver for W
    unfinished_S: int = 0  # rows that still moved when their solver stopped
    unfinished_W: int = 0
    strain: float = 0.0  # sum over rows of the largest contradiction of an edge, at the start

    def __add__(self, other: Sums) -> Sums:
        added = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return Sums(**added | {"least_W": min(self.least_W, other.least_W)})

    @cached_property
    def G(self) -> np.ndarray:
        """(k, k) Eq. (16)."""
        G = self.half + self.half.T
        return np.maximum(G, 0.0, out=G)


# The map over rows ------------------------------------------------------------------------------------------


def indicator(codes: Any, k: int) -> np.ndarray:
    """Y (b, k) dense."""
    if sp.issparse(codes):
        return codes.toarray()
    Y = np.zeros((codes.shape[0], k))
    rows, columns = np.nonzero(codes >= 0)
    Y[rows, codes[rows, columns]] = 1.0
    return Y


def observed(codes: Any, owners: np.ndarray) -> np.ndarray:
    """O (b, k): 1 where the clustering of the column saw the object.

    For soft clusterings it is the share of the object that the clustering assigns.
    """
    if sp.issparse(codes):
        return np.minimum((codes @ owners.T) @ (owners / owners.sum(axis=0)), 1.0)
    return ((codes >= 0).astype(float) @ owners > 0).astype(float)


def expected(
    Y: np.ndarray, O: np.ndarray, owners: np.ndarray, copies: np.ndarray, K: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """(b, k) expected memberships in clusterings that did not see an object.

    They are the shares of the unseen clusters in the clusters that the object is in. Shares add up to what a
    clustering did not see of the object; equal columns belong to clusterings that saw the same objects, and
    have equal sums there. sizes (k,) weight of each column.
    """
    share = (Y * copies) @ (K / sizes[:, None])
    whole = (share @ owners.T) @ owners / copies
    return np.divide(share, whole, out=np.zeros_like(share), where=whole > 0) * (1 - O)


def advance(block: Block, state: State) -> tuple[Block, Sums]:
    """One round for some rows: W by Eq. (10), S by Eq. (14), and their share of the sums."""
    Y = indicator(block.codes, state.C.shape[0])
    O = None if state.owners is None else observed(block.codes, state.owners)
    solved = unfinished_W = 0
    if state.weigh:
        W, solved, unfinished_W = update_W(block.W, block.S, Y, O, state)
        trust = W if block.trust is None else block.trust + (W - block.trust) / (block.paced + 1)
        block = replace(block, W=W, trust=trust, paced=block.paced + 1)
    H = pull_apart(block.S, state)
    S, unfinished_S = update_S(block.S, block.W, Y, O, H, state)
    total = sums(S, block.W, Y, O, H, block.weights, state.copies)
    counts = {"solved": solved, "unfinished_S": unfinished_S, "unfinished_W": unfinished_W}
    return replace(block, S=S), replace(total, **counts)


def update_W(W, S, Y, O, state):
    """Eq. (10), from the current W: (W, rows that needed a solver, rows it did not finish)."""
    E, coupling = state.pull
    return weigh_rows(W, S, Y, state.lam, E, state.copies, coupling=coupling, observed=O, tol=10 * state.tol)


def embed(S, state):
    """(b, c) F of the objects over the root of their degree, times sqrt(2); zero rows are at the origin."""
    degree = S @ state.copies
    scale = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    inverse_sigma = np.divide(1.0, state.sigma, out=np.zeros_like(state.sigma), where=state.sigma > 1e-8)
    return (S * scale[:, None]) @ (state.right * state.copies[:, None] * inverse_sigma)


def pull_apart(S, state):
    """H (b, k) of Eq. (14): distance of an object and a cluster in the embedding."""
    left = embed(S, state)
    H = -2 * left @ state.right.T
    H += (left**2).sum(axis=1)[:, None]
    H += (state.right**2).sum(axis=1)
    H *= 0.5
    return np.maximum(H, 0.0, out=H)


def update_S(S, W, Y, O, H, state):
    """Eq. (14), from the current S: (S, rows the solver did not finish)."""
    E, coupling = state.pull
    S, unfinished = smooth_rows(
        S, W, Y, state.rho * H, E, state.copies, coupling=coupling, observed=O, tol=state.tol
    )
    if state.floor > 0:
        S[np.less(S, state.floor)] = 0.0
    return S, unfinished


def sums(S, W, Y, O, H, weights, copies) -> Sums:
    """The block's share of degrees, S' D1^-1 S, G and the parts of the objective."""
    degree = S @ copies
    scale = np.divide(weights, degree, out=np.zeros_like(degree), where=degree > 0)
    P = gram(S, scale)
    if W is None:
        half = gram(S, weights)
        squares = np.diagonal(half).copy()
        np.subtract(squares[:, None], half, out=half)
        error = S - Y
        total_W, least_W = float(weights.sum() * copies.sum()), 1.0
    else:
        T = S * W
        # sum_i S_ip^2 W_ip W_iq, by way of 1 - W, which is 0 at most entries.
        half = gram(S * T, weights, 1.0 - W)
        np.subtract((weights @ (S * T))[:, None], half, out=half)
        half -= gram(T, weights)
        error = W * (S - Y)
        total_W, least_W = float(weights @ (W @ copies)), float(W.min())
    if O is not None:
        error *= O
    trace = float(weights @ ((H * S) @ copies))
    loss = float(weights @ ((error * error) @ copies))
    return Sums(S.T @ weights, P, half, loss, trace, total_W, least_W)


# What is shared ---------------------------------------------------------------------------------------------


def update_F(total: Sums, copies, c):
    """Eq. (12) from k x k sums: (right, sigma, eigenvalues); rows of F are formed from these."""
    scale = np.sqrt(np.divide(copies, total.D2, out=np.zeros_like(total.D2), where=total.D2 > 0))
    QQ = total.P * scale[:, None] * scale
    k = QQ.shape[0]
    wanted = min(c + 1, k)
    values, vectors = eigenpairs((QQ + QQ.T) / 2, wanted, which="largest", overwrite=True)
    # Fewer clusters than c + 1: the rest is 0.
    values = np.concatenate([np.maximum(values, 0.0), np.zeros(c + 1 - wanted)])
    right = np.zeros((k, c))
    right[:, : min(c, k)] = vectors[:, :c] * (scale / copies)[:, None]
    return right, np.sqrt(values[:c]), values


def update_C(K, G, mu):
    """Eq. (18)."""
    C = np.maximum(K - mu * G, 0.0)
    C[np.less(C, np.finfo(float).eps * K.max())] = 0.0
    return C


def count_components(P: np.ndarray) -> int:
    """Components of the whole graph, from S' D1^-1 S: clusters that share an object are linked."""
    alive = np.diagonal(P) > 0
    return components(P[alive][:, alive])[0]


def merge_copies(
    ensemble, same_view: bool, *, self_paced: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(column of each base cluster, number of copies of each column, K of the columns).

    Clusters with the same objects have equal columns of Y, S and W and are kept once. They are found by
    K_pq = K_pp = K_qq, of soft clusters too (|Y_p - Y_q|^2 is then 0). ``same_view`` asks in addition that
    their clusterings saw the same objects, as is needed where a missing label is no evidence.
    """
    K = ensemble.contingency_sparse().tocoo()
    soft = isinstance(incidence_of(ensemble), Memberships)
    sizes = K.tocsr().diagonal() if soft else ensemble.cluster_sizes()
    equal = K.data >= (1 - 1e-12) * np.maximum(sizes[K.row], sizes[K.col])
    if same_view and ensemble.has_missing:
        seen = ensemble.masses.round(12) if soft else ensemble.labels >= 0
        view = np.unique(seen, axis=1, return_inverse=True)[1].reshape(-1)
        view = np.repeat(view, ensemble.n_clusters_per_clustering)
        equal &= view[K.row] == view[K.col]
    same = sp.csr_array((np.ones(int(equal.sum())), (K.row[equal], K.col[equal])), shape=K.shape)
    column = components(same)[1]
    _, first, copies = np.unique(column, return_index=True, return_counts=True)
    ensure_memory(ensemble.n_samples, copies.size, self_paced, column.size)
    return column, copies.astype(float), K.tocsr()[first][:, first].toarray()


def block_rows(k: int) -> int:
    """Rows of a block: no fewer than make it as large as what it adds to the sums."""
    return max((1 << 17) // k, k // 2, 32)


def blocks_at_a_time(k: int, n_jobs: int | None = -1) -> int:
    """Blocks whose sums are held at once."""
    return int(np.clip(_BYTES_AT_A_TIME / (24 * k * k), 2 * resolve_jobs(n_jobs), _BLOCKS_AT_A_TIME))


def bytes_needed(u: int, k: int, self_paced: bool, total: int | None = None) -> float:
    """Y, S and W by rows (and their successors), the sums of the blocks in hand, and what is shared.

    K, C, their coupling, what the eigensolver works on and the rows of a block are k x k each: little where
    there are many objects, but most of it with thousands of base clusters. At the end similarities are
    written out for all ``total`` of them, copies included; with self-pacing, so are those of another graph
    and its edges.
    """
    total = k if total is None else total
    blocks = min(blocks_at_a_time(k), -(-u // block_rows(k)))
    return (
        (3 + 3 * self_paced) * 8.0 * u * k
        + (24.0 * blocks + _SHARED_BYTES) * k * k
        + 8.0 * total * (total + k)
        + self_paced * total * (8.0 * total + 4.0 * u)
    )


def ensure_memory(u: int, k: int, self_paced: bool, total: int) -> None:
    """Refuse before allocating."""
    ensure_fits(
        bytes_needed(u, k, self_paced, total),
        what=f"A graph between {u} distinct objects and {k} distinct base clusters",
        remedy="use LWGP, which holds no such graph, or fewer or coarser clusterings"
        + (', or weighting="none" for about half of it' if self_paced else ""),
    )


class Graph:
    """The blocks of one problem, the sums over them and the similarity C.

    A round is one pass over the blocks.
    """

    def __init__(self, ensemble, *, similarity_weight, mu, self_paced, missing_counts, scale_free, n_jobs):
        self.column, self.copies, self.K = merge_copies(
            ensemble, same_view=not missing_counts, self_paced=self_paced
        )
        self.C, self.mu, self.n_jobs = self.K, mu, n_jobs
        k, sizes = self.copies.size, np.diagonal(self.K)
        degrees = self.K @ self.copies - sizes
        # In units of the mean degree of C, similarity_weight means the same for every n, m and size of
        # clusters.
        scale = float(sizes @ degrees / sizes.sum()) if scale_free else 1.0
        self.similarity_weight = similarity_weight / scale if scale > 0 else similarity_weight
        self.owners = None
        if ensemble.has_missing and not missing_counts:
            owner = np.repeat(np.arange(ensemble.n_clusterings), ensemble.n_clusters_per_clustering)
            self.owners = np.zeros((ensemble.n_clusterings, k))
            self.owners[owner, self.column] = 1.0
        first = np.unique(self.column, return_index=True)[1]
        self.sizes = ensemble.cluster_sizes()[first]
        codes: Any
        if isinstance(incidence_of(ensemble), Memberships):
            codes = sp.csr_array(sp.csc_array(ensemble.indicator())[:, first])
        else:
            codes = ensemble.global_labels()
            codes = np.where(codes >= 0, self.column[codes], -1)
        rows = block_rows(k)
        spans = [slice(i, i + rows) for i in range(0, ensemble.n_samples, rows)]
        pull = pull_together(self.K, self.similarity_weight, self.copies) if self_paced else None
        self.blocks, self.total = self._pass(
            lambda s: self._start(codes[s], ensemble.sample_weight[s], pull), spans
        )
        self.total_weight = float(ensemble.sample_weight.sum())
        self.strain = self.total.strain

    def _start(self, codes, weights, pull: Pull | None):
        """S = Y, with expected labels where they are missing, and W = 0: nothing is trusted yet."""
        Y, O = indicator(codes, self.copies.size), None
        S = Y
        if self.owners is not None:
            # Zeros here would leave a thin graph, from which a first embedding cuts off single objects.
            O = observed(codes, self.owners)
            S = Y + expected(Y, O, self.owners, self.copies, self.K, self.sizes)
        first = sums(S, None, Y, O, np.zeros_like(Y), weights, self.copies)
        if pull is None:
            return Block(codes, weights, S, None), first
        strain = float(weights @ contradiction(Y, pull.E, self.copies, pull.coupling).max(axis=1))
        return Block(codes, weights, S, np.zeros_like(Y)), replace(first, strain=strain)

    def _pass(self, function, parts):
        """The map over parts and the sum of what they return, added in their order."""
        blocks, total = [], None
        size = blocks_at_a_time(self.copies.size, self.n_jobs)
        for i in range(0, len(parts), size):  # so that few k x k sums are held at a time
            for block, add in map_tasks(function, parts[i : i + size], n_jobs=self.n_jobs):
                blocks.append(block)
                total = add if total is None else total + add
        return blocks, total

    def advance(self, state: State) -> None:
        """One round: W and S of all rows, then C."""
        _ = state.pull  # formed once, before threads ask for it
        self.blocks, self.total = self._pass(lambda block: advance(block, state), self.blocks)
        if self.mu > 0:
            self.C = update_C(self.K, self.total.G, self.mu)

    def shared(self) -> dict:
        """The part of a :class:`State` that the graph knows."""
        return {
            "C": self.C,
            "copies": self.copies,
            "owners": self.owners,
            "similarity_weight": self.similarity_weight,
        }

    def trust_all(self) -> None:
        """All weights are 1 from now on, and need no memory."""
        self.blocks = [replace(block, W=None) for block in self.blocks]

    def rows(self, of) -> np.ndarray:
        """``of(block)`` of all blocks, one below the other."""
        return np.concatenate([of(block) for block in self.blocks])

    def edges(self) -> sp.csr_array:
        """S (u, k) without its small edges."""
        parts = [sp.csr_array(np.where(block.S < SMALL, 0.0, block.S)) for block in self.blocks]
        return sp.vstack(parts, format="csr")


def objective(graph: Graph, state: State) -> float:
    """Eq. (9) after a round."""
    C, K, G, copies, total = graph.C, graph.K, graph.total.G, graph.copies, graph.total
    value = total.loss - state.lam * total.total_W + state.rho * total.trace
    value += float(copies @ (graph.similarity_weight * C * G) @ copies)
    if graph.mu > 0:
        value += float(copies @ (graph.similarity_weight * (C - K) ** 2) @ copies) / (2 * graph.mu)
    return value


def record(graph: Graph, state: State, values: np.ndarray) -> dict:
    """One line of the history: what the round ended with, and the spectrum that the next one starts from."""
    c, total = state.sigma.size, graph.total
    return {
        "pieces": count_components(total.P),
        "objective": objective(graph, state),
        "rho": state.rho,
        "lambda": state.lam,
        "leading": float(values[:c].sum()),
        "next": float(values[c]),
        "min_W": total.least_W,
        "mean_W": total.total_W / (graph.total_weight * float(graph.copies.sum())),
        "rows_weighed": total.solved,
        "unfinished_S": total.unfinished_S,
        "unfinished_W": total.unfinished_W,
    }


def edge_trust(block: Block) -> np.ndarray:
    """(b, k) mean weight of every edge."""
    return np.ones(block.S.shape, np.float32) if block.trust is None else block.trust.astype(np.float32)


def own_trust(block: Block) -> np.ndarray:
    """(b,) mean weight of the edges an object has to begin with."""
    if block.trust is None:
        return np.ones(block.S.shape[0])
    if sp.issparse(block.codes):
        own = block.codes.multiply(block.trust).sum(axis=1)
        return np.asarray(own).ravel() / np.asarray(block.codes.sum(axis=1)).ravel()
    seen = block.codes >= 0
    own = np.take_along_axis(block.trust, np.maximum(block.codes, 0), axis=1)
    return np.where(seen, own, 0.0).sum(axis=1) / seen.sum(axis=1)
