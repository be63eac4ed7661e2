"""Self-paced consensus clustering with an adaptive bipartite graph.

Objects and base clusters are the two sides of a graph. Learn its edges S, how far to trust each of them, W,
and how alike base clusters are, C, such that the graph falls into c components: these are the clusters.

    minimise over S, W, C, F
        ||W o (S - Y)||^2 - lam sum(W) + gamma1 sum_i sum_pq C_pq (S_ip - S_iq)^2 W_ip W_iq
        + gamma2 ||C - K||^2 + rho tr(F' L F)                                                         (9)
    with 0 <= S, W <= 1, C >= 0, F'F = I

    W_i  min  w' (diag((S_i - Y_i)^2) + gamma1 B) w - lam 1'w,   B_pq = C_pq (S_ip - S_iq)^2         (10)
    F    [U; V] / sqrt(2): the c leading singular vectors of Q = D1^-1/2 S D2^-1/2                   (12)
    S_i  min  sum_p W_ip^2 (s_p - Y_ip)^2 + gamma1 sum_pq C_pq W_ip W_iq (s_p - s_q)^2
              + rho sum_p H_ip s_p,   H_ip = ||F_i / sqrt(d_i) - F_(n+p) / sqrt(d_(n+p))||^2         (14)
    C    max(K - mu G, 0),  G_pq = sum_i (S_ip - S_iq)^2 W_ip W_iq,  mu = gamma1 / (2 gamma2)        (18)
    lam doubles every round until every W is 1; rho doubles until there are c components

Y (n, k) 0/1 base clusters of each object, k of them in all; S, W (n, k); K = Y'Y, C, G (k, k); F (n + k, c);
L the normalised Laplacian of [[0, S], [S', 0]], D1 and D2 its degrees on either side.

Everything of size n is row-wise and everything shared is k x k. So the work is one map over blocks of rows,
:func:`advance`, that takes a block and the shared state and returns the block and its share of the k x k
sums: it runs on threads here and would run on any number of workers.

References
----------
P. Zhou, X. Liu, L. Du, X. Li, "Self-paced adaptive bipartite graph learning for consensus clustering",
ACM TKDD 17(5), 2023. P. Zhou, L. Du, X. Li, "Self-paced consensus clustering with bipartite graph", IJCAI 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...errors import InputError, warn
from ...evidence import Evidence, trust_by_reliability
from ...kernels.boxqp import contradiction, gram, smooth_rows, weigh_rows
from ...kernels.eigen import eigenpairs
from ...kernels.graph import components
from ...kernels.memory import ensure_fits
from ...kernels.overlaps import gather
from ...kernels.parallel import map_tasks, one_blas_thread
from ...kernels.partition import compact, exactly
from ...validation import Choice, Flag, Integer, Nothing, Real
from .._base import BaseConsensus, Pacing, Solution

SMALL = 1e-4  # edges below are no edges

_BLOCKS_AT_A_TIME = 32
PACE = 2**0.5  # growth of rho and lam in a round

#: Of gamma1 and gamma2, by mode: the standard mode measures C in units of its mean degree (see SCCABG).
DEFAULTS = {"standard": (0.1, 0.05), "authors": (1e-4, 1e-2)}


@dataclass(frozen=True)
class Block:
    """Some rows of the problem: what one worker holds."""

    codes: np.ndarray  # (b, m) base cluster of each object in each clustering, -1 missing
    weights: np.ndarray  # (b,)
    S: np.ndarray  # (b, k)
    W: np.ndarray | None  # (b, k); None once all are 1
    trust: np.ndarray | None = None  # (b, k) mean of the W learned so far
    paced: int = 0  # rounds in which W was learned


@dataclass(frozen=True)
class State:
    """What all rows share: k x k at most."""

    C: np.ndarray  # (k, k)
    copies: np.ndarray  # (k,) how many equal base clusters a column stands for
    owners: np.ndarray | None  # (m, k) which clusterings a column is in; None if missing labels count as 0
    gamma1: float
    lam: float
    rho: float
    right: np.ndarray  # (k, c) V / sqrt(D2)
    sigma: np.ndarray  # (c,) leading singular values of Q
    weigh: bool  # whether W is still learned
    floor: float  # edges below are cut in every round
    tol: float  # of the row problems


@dataclass(frozen=True)
class Sums:
    """What a block adds to the shared quantities."""

    D2: np.ndarray  # (k,) degrees of clusters
    P: np.ndarray  # (k, k) S' D1^-1 S
    G: np.ndarray  # (k, k) disagreement of clusters, Eq. (16)
    loss: float  # ||W o (S - Y)||^2
    trace: float  # tr(F' L F)
    total_W: float
    least_W: float
    solved: int = 0  # rows that needed a solver for W
    unfinished_S: int = 0  # rows that still moved when their solver stopped
    unfinished_W: int = 0
    strain: float = 0.0  # sum over rows of the largest contradiction of an edge, at the start

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.D2 + other.D2,
            self.P + other.P,
            self.G + other.G,
            self.loss + other.loss,
            self.trace + other.trace,
            self.total_W + other.total_W,
            min(self.least_W, other.least_W),
            self.solved + other.solved,
            self.unfinished_S + other.unfinished_S,
            self.unfinished_W + other.unfinished_W,
            self.strain + other.strain,
        )


# The map over rows ------------------------------------------------------------------------------------------


def indicator(codes: np.ndarray, k: int) -> np.ndarray:
    """Y (b, k) dense."""
    Y = np.zeros((codes.shape[0], k))
    rows, columns = np.nonzero(codes >= 0)
    Y[rows, codes[rows, columns]] = 1.0
    return Y


def observed(codes: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """O (b, k): 1 where the clustering of the column saw the object."""
    return ((codes >= 0).astype(float) @ owners > 0).astype(float)


def expected(
    Y: np.ndarray, O: np.ndarray, owners: np.ndarray, copies: np.ndarray, K: np.ndarray
) -> np.ndarray:
    """(b, k) for clusterings that did not see an object, the share of each of their clusters in the clusters it is in.

    Shares add up to 1 over a clustering; equal columns belong to clusterings that saw the same objects, and have
    equal sums there.
    """
    share = ((Y * copies) @ (K / np.diagonal(K)[:, None])) * (1 - O)
    whole = (share @ owners.T) @ owners / copies
    return np.divide(share, whole, out=np.zeros_like(share), where=whole > 0)


def advance(block: Block, state: State) -> tuple[Block, Sums]:
    """One round for some rows: W by Eq. (10), S by Eq. (14), and their share of the sums."""
    Y = indicator(block.codes, state.C.shape[0])
    O = None if state.owners is None else observed(block.codes, state.owners)
    E = 2 * state.gamma1 * state.C
    np.fill_diagonal(E, 0.0)
    solved = unfinished_W = 0
    if state.weigh:
        W, solved, unfinished_W = update_W(block.W, block.S, Y, O, E, state)
        trust = W if block.trust is None else block.trust + (W - block.trust) / (block.paced + 1)
        block = replace(block, W=W, trust=trust, paced=block.paced + 1)
    H = pull_apart(block.S, state)
    S, unfinished_S = update_S(block.S, block.W, Y, O, E, H, state)
    total = sums(S, block.W, Y, O, H, block.weights, state.copies)
    counts = {"solved": solved, "unfinished_S": unfinished_S, "unfinished_W": unfinished_W}
    return replace(block, S=S), replace(total, **counts)


def update_W(W, S, Y, O, E, state):
    """Eq. (10), from the current W: (W, rows that needed a solver, rows it did not finish)."""
    return weigh_rows(W, S, Y, state.lam, E, state.copies, observed=O, tol=10 * state.tol)


def embed(S, state):
    """(b, c) F of the objects over the root of their degree, times sqrt(2); rows of zeros sit at the origin."""
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


def update_S(S, W, Y, O, E, H, state):
    """Eq. (14), from the current S: (S, rows the solver did not finish)."""
    S, unfinished = smooth_rows(S, W, Y, state.rho * H, E, state.copies, observed=O, tol=state.tol)
    if state.floor > 0:
        S[np.less(S, state.floor)] = 0.0
    return S, unfinished


def sums(S, W, Y, O, H, weights, copies) -> Sums:
    """The block's share of degrees, S' D1^-1 S, G and the parts of the objective."""
    degree = S @ copies
    scale = np.divide(weights, degree, out=np.zeros_like(degree), where=degree > 0)
    P = gram(S, scale)
    if W is None:
        G = gram(S, weights)
        squares = np.diagonal(G).copy()
        G *= -2
        G += squares[:, None] + squares
        error = S - Y
        total_W, least_W = float(weights.sum() * copies.sum()), 1.0
    else:
        T = S * W
        # sum_i S_ip^2 W_ip W_iq, by way of 1 - W, which is 0 at most entries.
        cross = (weights @ (S * T))[:, None] - gram(S * T, weights, 1.0 - W)
        G = cross + cross.T - 2 * gram(T, weights)
        error = W * (S - Y)
        total_W, least_W = float(weights @ (W @ copies)), float(W.min())
    if O is not None:
        error *= O
    trace = float(weights @ ((H * S) @ copies))
    loss = float(weights @ ((error * error) @ copies))
    return Sums(S.T @ weights, P, np.maximum(G, 0.0), loss, trace, total_W, least_W)


# What is shared ---------------------------------------------------------------------------------------------


def update_F(total: Sums, copies, c):
    """Eq. (12) from k x k sums: (right, sigma, eigenvalues), F of the objects is formed from these row by row."""
    scale = np.sqrt(np.divide(copies, total.D2, out=np.zeros_like(total.D2), where=total.D2 > 0))
    QQ = total.P * scale[:, None] * scale
    k = QQ.shape[0]
    wanted = min(c + 1, k)
    values, vectors = eigenpairs((QQ + QQ.T) / 2, wanted, which="largest", overwrite=True)
    values = np.concatenate(
        [np.maximum(values, 0.0), np.zeros(c + 1 - wanted)]
    )  # fewer clusters than c + 1: the rest is 0
    right = np.zeros((k, c))
    right[:, : min(c, k)] = vectors[:, :c] * (scale / copies)[:, None]
    return right, np.sqrt(values[:c]), values


def update_C(K, G, mu):
    """Eq. (18)."""
    C = np.maximum(K - mu * G, 0.0)
    C[np.less(C, np.finfo(float).eps * K.max())] = 0.0
    return C


def count_components(P: np.ndarray) -> int:
    """Components of the whole graph, from S' D1^-1 S alone: clusters are linked where they share an object."""
    alive = np.diagonal(P) > 0
    return components(P[alive][:, alive])[0]


def merge_copies(
    ensemble, same_view: bool, *, self_paced: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(column of each base cluster, number of copies of each column, K of the columns).

    Clusters with the same objects have equal columns of Y, S and W and are kept once. They are found by
    K_pq = K_pp = K_qq. ``same_view`` asks in addition that their clusterings saw the same objects, as is
    needed where a missing label is no evidence.
    """
    K = ensemble.contingency_sparse().tocoo()
    sizes = ensemble.cluster_sizes()
    equal = K.data >= (1 - 1e-12) * np.maximum(sizes[K.row], sizes[K.col])
    if same_view and ensemble.has_missing:
        view = np.unique(ensemble.labels >= 0, axis=1, return_inverse=True)[1].reshape(-1)
        view = np.repeat(view, ensemble.n_clusters)
        equal &= view[K.row] == view[K.col]
    same = sp.csr_array((np.ones(int(equal.sum())), (K.row[equal], K.col[equal])), shape=K.shape)
    column = components(same)[1]
    _, first, copies = np.unique(column, return_index=True, return_counts=True)
    ensure_memory(ensemble.n_samples, copies.size, self_paced)
    return column, copies.astype(float), K.tocsr()[first][:, first].toarray()


def block_rows(k: int) -> int:
    """Rows of a block: no fewer than make it as large as what it adds to the sums."""
    return max((1 << 17) // k, k // 2, 32)


def ensure_memory(u: int, k: int, self_paced: bool) -> None:
    """Refuse before allocating: Y, S and W by rows (and their successors), and the sums of the blocks in hand."""
    blocks = min(_BLOCKS_AT_A_TIME, -(-u // block_rows(k)))
    ensure_fits(
        (3 + 3 * self_paced) * 8.0 * u * k + 24.0 * blocks * k * k,
        what=f"A graph between {u} distinct objects and {k} distinct base clusters",
        remedy="use LWGP, which holds no such graph, or fewer or coarser clusterings"
        + (", or self_paced=False for about half of it" if self_paced else ""),
    )


class Graph:
    """The blocks of one problem, the sums over them and the similarity C; a round is one pass over the blocks."""

    def __init__(self, ensemble, *, gamma1, mu, self_paced, missing_counts, scale_free, n_jobs):
        self.column, self.copies, self.K = merge_copies(
            ensemble, same_view=not missing_counts, self_paced=self_paced
        )
        self.C, self.mu, self.n_jobs = self.K, mu, n_jobs
        k, sizes = self.copies.size, np.diagonal(self.K)
        degrees = self.K @ self.copies - sizes
        # In units of the mean degree of C, gamma1 means the same for every n, m and size of clusters.
        scale = float(sizes @ degrees / sizes.sum()) if scale_free else 1.0
        self.gamma1 = gamma1 / scale if scale > 0 else gamma1
        self.owners = None
        if ensemble.has_missing and not missing_counts:
            owner = np.repeat(np.arange(ensemble.n_clusterings), ensemble.n_clusters)
            self.owners = np.zeros((ensemble.n_clusterings, k))
            self.owners[owner, self.column] = 1.0
        codes = ensemble.global_labels()
        codes = np.where(codes >= 0, self.column[codes], -1)
        rows = block_rows(k)
        spans = [slice(i, i + rows) for i in range(0, ensemble.n_samples, rows)]
        self.blocks, self.total = self._pass(
            lambda s: self._start(codes[s], ensemble.weights[s], self_paced), spans
        )
        self.total_weight = float(ensemble.weights.sum())

    def _start(self, codes, weights, self_paced):
        """S = Y, with expected labels where they are missing, and W = 0: nothing is trusted yet."""
        Y, O = indicator(codes, self.copies.size), None
        S = Y
        if self.owners is not None:
            # Zeros here would leave a thin graph, from which a first embedding cuts off single objects.
            O = observed(codes, self.owners)
            S = Y + expected(Y, O, self.owners, self.copies, self.K)
        first = sums(S, None, Y, O, np.zeros_like(Y), weights, self.copies)
        if not self_paced:
            return Block(codes, weights, S, None), first
        E = 2 * self.gamma1 * self.K
        np.fill_diagonal(E, 0.0)
        strain = float(weights @ contradiction(Y, E, self.copies).max(axis=1))
        return Block(codes, weights, S, np.zeros_like(Y)), replace(first, strain=strain)

    def _pass(self, function, parts):
        """The map over parts and the sum of what they return, added in their order."""
        blocks, total = [], None
        for i in range(0, len(parts), _BLOCKS_AT_A_TIME):  # so that few k x k sums are held at a time
            for block, add in map_tasks(function, parts[i : i + _BLOCKS_AT_A_TIME], n_jobs=self.n_jobs):
                blocks.append(block)
                total = add if total is None else total + add
        return blocks, total

    def advance(self, state: State) -> None:
        """One round: W and S of all rows, then C."""
        self.blocks, self.total = self._pass(lambda block: advance(block, state), self.blocks)
        if self.mu > 0:
            self.C = update_C(self.K, self.total.G, self.mu)

    def trust_all(self) -> None:
        """All weights are 1 from now on, and need no memory."""
        self.blocks = [replace(block, W=None) for block in self.blocks]

    def rows(self, of) -> np.ndarray:
        """``of(block)`` of all blocks, one below the other."""
        return np.concatenate([of(block) for block in self.blocks])


def objective(graph: Graph, state: State) -> float:
    """Eq. (9) after a round."""
    C, K, G, copies, total = graph.C, graph.K, graph.total.G, graph.copies, graph.total
    value = total.loss - state.lam * total.total_W + state.rho * total.trace
    value += float(copies @ (graph.gamma1 * C * G) @ copies)
    if graph.mu > 0:
        value += float(copies @ (graph.gamma1 * (C - K) ** 2) @ copies) / (2 * graph.mu)
    return value


def record(graph: Graph, state: State, values: np.ndarray) -> dict:
    """One line of the history: what the round ended with, and the spectrum that the next one starts from."""
    c, total = state.sigma.size, graph.total
    return {
        "components": count_components(total.P),
        "objective": objective(graph, state),
        "rho": state.rho,
        "lam": state.lam,
        "leading": float(values[:c].sum()),
        "next": float(values[c]),
        "min_W": total.least_W,
        "mean_W": total.total_W / (graph.total_weight * float(graph.copies.sum())),
        "rows_weighed": total.solved,
        "unfinished_S": total.unfinished_S,
        "unfinished_W": total.unfinished_W,
    }


# The two ways to run it -------------------------------------------------------------------------------------


def default_patience(ensemble, c: int) -> float:
    """c over the mean number of clusters of the base clusterings, between 0.4 and 1.

    A large base cluster contradicts many others. That speaks against it where base clusters are finer than the
    clusters sought, and says nothing where they are as coarse.
    """
    return float(np.clip(c / ensemble.n_clusters.mean(), 0.4, 1.0))


def reach_components(graph: Graph, c: int, max_iter: int, patience: float):
    """Raise rho until the graph has c components; where it jumps past c, go back and raise it more gently.

    Returns (state, history, whether c was reached).
    """
    growth, history = PACE, []
    before: tuple | None = None  # the last round with too few components
    right, sigma, values = update_F(graph.total, graph.copies, c)
    # rho starts where it cuts a 64th of an average edge.
    apart = max(c - float(sigma.sum()), 1e-9)
    rho = float(graph.total.D2 @ graph.copies) / (64 * apart)
    weigh = graph.blocks[0].W is not None
    # lam starts at a share of what speaks against the worst edge of an average object, whatever gamma1 is. Then
    # weights are still at work when the graph begins to fall apart: started at 0.5, most are 1 long before.
    lam = patience * graph.total.strain / graph.total_weight if weigh else 0.5
    state = State(
        graph.C, graph.copies, graph.owners, graph.gamma1, lam, rho, right, sigma, weigh, SMALL, 1e-7
    )
    while True:
        history.append(record(graph, state, values))
        found = history[-1]["components"]
        if found == c or (found > c and (before is None or growth < 1.02)) or len(history) == max_iter:
            break
        if found > c and before is not None:
            graph.blocks, graph.total, graph.C, state = before
            growth **= 0.5
        else:
            right, sigma, values = update_F(graph.total, graph.copies, c)
            state = replace(state, right=right, sigma=sigma)
            before = graph.blocks, graph.total, graph.C, state
        state = replace(state, C=graph.C, rho=state.rho * growth)
        graph.advance(state)
        if state.weigh and graph.total.least_W >= 1.0:
            graph.trust_all()
            state = replace(state, weigh=False)
        state = replace(state, lam=PACE * state.lam)
    return state, history, found == c


def follow_authors(graph: Graph, c: int, max_iter: int):
    """The authors' program: the rank test comes before S, on eigenvalues, with their thresholds.

    Returns (state, history, whether the test was passed).
    """
    adaptive, history = graph.mu > 0, []
    weigh = graph.blocks[0].W is not None
    right, sigma, _ = update_F(graph.total, graph.copies, c)
    state = State(
        graph.C,
        graph.copies,
        None,
        graph.gamma1,
        0.5,
        1.0,
        right,
        sigma,
        weigh,
        0.0 if adaptive else SMALL,
        1e-10,
    )
    for _ in range(max_iter):
        right, sigma, values = update_F(graph.total, graph.copies, c)
        history.append(record(graph, state, values))
        too_few, too_many = values[:c].sum() < c - 1e-7, values.sum() > c + 1 - 1e-7
        if not too_few and not too_many:
            return state, history, True
        rho = 2 * state.rho if too_few else state.rho / 2
        state = replace(state, C=graph.C, rho=rho, right=right, sigma=sigma)
        graph.advance(state)
        # Weights that are nearly 1 are left as they are from then on (the conference version: exactly 1).
        if weigh and graph.total.least_W >= (0.99 if adaptive else 1.0):
            weigh = False
            if graph.total.least_W >= 1.0:
                graph.trust_all()
        state = replace(state, lam=2 * state.lam, weigh=weigh)
    return state, history, False


# From the graph to labels -----------------------------------------------------------------------------------


def rejoin(labels: np.ndarray, ensemble) -> np.ndarray:
    """Labels with every -1 (an object cut off from all clusters) replaced by the vote of its base clusters.

    A base cluster votes with the shares of consensus clusters among its placed objects.
    """
    labels = labels.copy()
    while (lost := np.flatnonzero(labels < 0)).size:
        table = Evidence(ensemble, labels).table
        share = table / np.maximum(table.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        votes = gather(ensemble.labels[lost], ensemble.offsets, share)
        heard = votes.max(axis=1) > 0
        if not heard.any():  # they share no cluster with anyone placed: to the largest
            placed = labels >= 0
            labels[lost] = np.bincount(labels[placed], ensemble.weights[placed]).argmax()
            break
        labels[lost[heard]] = votes[heard].argmax(axis=1)
    return labels


def edge_means(ensemble, edges: np.ndarray) -> np.ndarray:
    """(k,) mean of edges (u, k) over the objects in each base cluster, by their weight."""
    own = ensemble.indicator().multiply(edges)
    return (own.T @ ensemble.weights) / ensemble.cluster_sizes()


class _Together:
    """Y Y' (u, u), never formed: how often two objects were put together."""

    def __init__(self, Y):
        self.Y = Y

    def __matmul__(self, other):
        return self.Y @ (self.Y.T @ other)


def expected_clusters(ensemble) -> sp.csr_array:
    """(u, k) how the clusters an object is in overlap with each cluster: sum over its clusters p of K_pq / K_pp."""
    Y, K = ensemble.indicator(), ensemble.contingency_sparse()
    return sp.csr_array(Y @ (sp.diags_array(1 / ensemble.cluster_sizes()) @ K))


class SCCABG(BaseConsensus):
    """Self-paced learning of the graph between objects and base clusters; linear in n, takes missing labels.

    Objects and base clusters form a graph; its edges are learned anew so that it falls into ``n_clusters``
    components, edges that contradict the rest are trusted later, and base clusters that agree lend each other
    objects. Nothing pairwise between objects is ever formed: the method of choice for many objects and for
    incomplete ensembles.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned, c.
    gamma1 : float, optional
        How far similar base clusters must hold the same objects (gamma_1). Default 0.1, in units of the mean
        similarity of a base cluster to all others, so that it does not depend on n, m or cluster sizes; below
        0.01 the base clusters are taken at their word. In ``mode="authors"`` 1e-4 in the paper's units, where
        similarities are counts of objects.
    gamma2 : float, optional
        How firmly the similarity of base clusters stays at their overlap (gamma_2). Only the ratio mu =
        gamma1 / (2 gamma2) matters; the default is mu = 1, which keeps base clusters similar while the objects
        they share outnumber those they do not. In ``mode="authors"`` 1e-2.
    similarity : {"adaptive", "fixed"}
        "fixed" keeps the similarity at the overlap: the conference version, SCCBG.
    patience : float, optional
        How much contradiction an edge may meet and still be trusted in the first round, as a share of what the
        worst edge of an average object meets; trust grows from there. Smaller starts from more doubt, 2 and more
        doubts almost nothing. Default: n_clusters over the mean number of clusters of a base clustering, between
        0.4 and 1. Not used in ``mode="authors"``.
    self_paced : bool
        False trusts every edge from the start (W = 1): with ``similarity="fixed"``, the paper's SCCBG-W.
    mode : {"standard", "authors"}
        "authors" follows the authors' program: the order of its steps, its thresholds, its units, components
        as clusters whatever their number, and every object cut off from all clusters a cluster of its own.
    max_iter : int, optional
        Rounds at most; default 100, in ``mode="authors"`` 20.
    n_jobs : int or None
        Threads; None is all cores. The answer does not depend on it.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    bipartite_graph_ : sparse array (n_samples, k)
        The learned graph, S; columns are the base clusters of all clusterings in order.
    edge_reliability_ : array (n_samples, k)
        W averaged over the rounds in which it was learned: 1 if an edge (or its absence) was trusted from the
        start. Formed when asked for.
    reliability_ : array (n_samples,)
        Mean of ``edge_reliability_`` over the base clusters an object is in.
    cluster_reliability_ : array (k,)
        Mean of ``edge_reliability_`` over the objects in a base cluster.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, adding up to 1: the mean reliability of its clusters, by their weight,
        normalised. Not there without self-pacing, which trusts all alike.
    cluster_similarity_ : array (k, k)
        Learned similarity of base clusters, C, in numbers of objects.
    n_components_ : int
        Components of the learned graph before any repair; ``converged_`` says whether there were n_clusters.
    isolated_ : array (n_samples,) of bool
        Objects that the graph cut off from every base cluster; their label is a vote of their base clusters.
    history_ : list of dict
        One entry a round: components, objective, rho, lam, leading (sum of the c leading eigenvalues of Q'Q,
        c if there are c components) and next (the following one), min_W, mean_W, rows_weighed,
        and unfinished_S and unfinished_W, the distinct objects whose row still moved when its solver stopped.

    Notes
    -----
    u distinct objects and k distinct base clusters take O(u k^2) a round at worst, in compiled blocks, some 15
    to 40 rounds, and 24 u k bytes (48 with self-pacing). The objective changes with lam and rho in every round,
    so it does not descend along the history.

    Differences from the paper: (1) exactly n_clusters clusters: too many components are merged by
    co-association, too few split by the embedding, both reported. (2) Components are counted, not inferred from
    eigenvalues. (3) rho and lam grow by sqrt(2) from starts set by the data, so that edges are still being
    weighed when the graph begins to fall apart; where it jumps past n_clusters the round is taken back and
    repeated more gently. Doubling from fixed starts tears off small pieces. (4) gamma1 is scale-free, see above.
    (5) A missing label is no evidence: its entries have no loss, instead of the loss of a 0, and start at what
    the other labels lead one to expect. (6) Edges below 1e-4 are cut in every round. (7) The W problem is not convex;
    its solver treats all columns alike, see :mod:`consilience.kernels.boxqp`. ``mode="authors"`` keeps (7) alone.

    References
    ----------
    P. Zhou et al., "Self-paced adaptive bipartite graph learning for consensus clustering", ACM TKDD 17(5), 2023.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, None, 1, 1]]
    >>> model = cs.SCCABG(n_clusters=2).fit(base)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1]
    >>> model.filled_labels()[2].tolist()
    [0, 0, 0]
    """

    constraints = {
        "gamma1": Nothing() | Real(0, open_low=True),
        "gamma2": Nothing() | Real(0, open_low=True),
        "similarity": Choice("adaptive", "fixed"),
        "patience": Nothing() | Real(0, open_low=True),
        "self_paced": Flag(),
        "mode": Choice("standard", "authors"),
        "max_iter": Nothing() | Integer(1),
    }
    _test_params = [{}, {"similarity": "fixed"}, {"self_paced": False}]
    _remedy = "use LWGP, which holds no matrix of objects by base clusters, or fewer or coarser clusterings"
    pacing = Pacing("edges between objects and base clusters", lambda terms, total: terms["mean_W"])

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        gamma1: float | None = None,
        gamma2: float | None = None,
        similarity: str = "adaptive",
        patience: float | None = None,
        self_paced: bool = True,
        mode: str = "standard",
        max_iter: int | None = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.similarity = similarity
        self.patience = patience
        self.self_paced = self_paced
        self.mode = mode
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        authors, c, patience = self.mode == "authors", self.n_clusters, None
        gamma1, gamma2 = (
            default if given is None else given
            for given, default in zip((self.gamma1, self.gamma2), DEFAULTS[self.mode])
        )
        with one_blas_thread():  # blocks are the parallel part; inside, more threads would only be in the way
            graph = Graph(
                ensemble,
                gamma1=gamma1,
                mu=gamma1 / (2 * gamma2) if self.similarity == "adaptive" else 0.0,
                self_paced=self.self_paced,
                missing_counts=authors,
                scale_free=not authors,
                n_jobs=self.n_jobs,
            )
            if authors:
                state, history, converged = follow_authors(graph, c, self.max_iter or 20)
            else:
                patience = default_patience(ensemble, c) if self.patience is None else self.patience
                state, history, converged = reach_components(graph, c, self.max_iter or 100, patience)
            S = sp.vstack([_sparse(block.S) for block in graph.blocks], format="csr")
            labels = components(sp.block_array([[None, S], [S.T, None]], format="csr"))[1][: S.shape[0]]
            isolated = np.diff(S.indptr) == 0
            found = np.unique(labels[~isolated]).size
            if not authors:
                if not found:
                    raise InputError(_no_edge(gamma1, self.max_iter, len(history)))
                labels = rejoin(np.where(isolated, -1, labels), ensemble)
                labels = exactly(
                    labels,
                    c,
                    similarity=_Together(ensemble.indicator()),
                    embedding=graph.rows(lambda block: embed(block.S, state)),
                    weights=ensemble.weights,
                )
        if unfinished := _unfinished(graph.total, ensemble.n_samples, gamma1, patience):
            warn(unfinished, ConvergenceWarning, stacklevel=4)
        edges = graph.rows(_trust)[:, graph.column]
        trust, reliability = {}, edge_means(ensemble, edges)
        if self.self_paced:
            trust = {"clustering_weights": trust_by_reliability(ensemble, reliability)}
        return Solution(
            labels,
            history,
            converged=converged,
            shortfall=_shortfall(found, c, authors),
            exact=not authors,
            per_cluster={"cluster_reliability": reliability},
            per_clustering=trust,
            per_sample={"isolated": isolated, "reliability": graph.rows(_own_trust)},
            per_signature_edge={
                "signature_graph": S[:, graph.column],
                "signature_reliability": edges,
            },
            per_cluster_pair={"cluster_similarity": graph.C[graph.column][:, graph.column]},
            extra={"n_components": found},
        )

    def _store(self, solution, ensemble, compressed, *orders):
        super()._store(solution, ensemble, compressed, *orders)
        if self.mode == "authors" and self.isolated_.any():
            # Equal objects share a signature, but in the authors' program each one that is cut off is alone.
            labels = self.labels_.copy()
            labels[self.isolated_] = labels.size + np.arange(self.isolated_.sum())
            self.labels_ = compact(labels)

    @property
    def bipartite_graph_(self) -> sp.csr_array:
        """(n_samples, k) the learned graph, S."""
        check_is_fitted(self, "labels_")
        return self.signatures_.expand(self.signature_graph_)

    @property
    def edge_reliability_(self) -> np.ndarray:
        """(n_samples, k) mean W over the rounds in which it was learned."""
        check_is_fitted(self, "labels_")
        return self.signatures_.expand(self.signature_reliability_)

    def filled_labels(self) -> np.ndarray:
        """(n_samples, n_clusterings) the labels as given, each missing one replaced by its most likely cluster.

        That is the base cluster with the strongest learned edge; where the graph holds none, the one that
        overlaps most with the clusters the object is in.
        """
        check_is_fitted(self, "labels_")
        signatures = self.signatures_
        labels = np.array(signatures.labels)
        S, overlap = self.signature_graph_.tocsc(), expected_clusters(signatures).tocsc()
        for i in np.flatnonzero((labels < 0).any(axis=0)):
            rows = np.flatnonzero(labels[:, i] < 0)
            own = slice(signatures.offsets[i], signatures.offsets[i + 1])
            learned, likely = S[:, own].tocsr()[rows].toarray(), overlap[:, own].tocsr()[rows].toarray()
            score = np.where(learned.max(axis=1, keepdims=True) > 0, learned, likely)
            labels[rows, i] = score.argmax(axis=1)
        columns = [values[labels[:, i]] for i, values in enumerate(signatures.categories)]
        kinds = {column.dtype.kind for column in columns}
        filled = (
            np.column_stack(columns) if len(kinds) == 1 else np.stack([c.astype(object) for c in columns], 1)
        )
        return signatures.expand(filled)


def _no_edge(gamma1: float, max_iter: int | None, rounds: int) -> str:
    """Why there is no graph, and what to do: a round that cuts too far is taken back, if there is one after it."""
    usual = DEFAULTS["standard"][0]
    if gamma1 > usual:
        cause, way = (
            f"gamma1={gamma1:g} leaves no edge in the learned graph",
            f"Lower gamma1 (default {usual:g})",
        )
    elif max_iter is not None and rounds >= max_iter:
        cause, way = (
            f"max_iter={max_iter} ends where no edge is left in the learned graph",
            "Raise max_iter (default 100)",
        )
    else:
        cause, way = (
            "The base clusterings share no structure that a graph can hold",
            "Give more or coarser ones",
        )
    return (
        f"{cause}: every object is cut off. {way}, or use LWGP or EvidenceAccumulation, which learn no graph."
    )


def _shortfall(found: int, c: int, authors: bool) -> str:
    """What was not reached, for the warning."""
    if authors:
        return "the authors' test of the number of components was not passed"
    mended = "merged" if found > c else "split"
    return f"the learned graph has {found} components instead of {c}, which were {mended}; labels have {c} clusters"


def _unfinished(last: Sums, n: int, gamma1: float, patience: float | None) -> str:
    """The warning about rows whose solver stopped early in the last round; empty if there are none.

    The solver of S creeps where couplings dwarf the loss, that of W where contradictions dwarf lam. In units
    of these, lam starts at the patience; in the authors' mode (None) it starts at a constant.
    """
    if not last.unfinished_S and not last.unfinished_W:
        return ""
    remedies = []
    if last.unfinished_S or patience is None:
        remedies.append(f"lower gamma1={gamma1:g}")
    if last.unfinished_W and patience is not None:
        remedies.append(f"raise patience={patience:g}")
    return (
        f"SCCABG left {last.unfinished_S} of the {n} rows of S and {last.unfinished_W} of W still moving at "
        f"the end of the last round, so the learned graph is less exact there; {' and '.join(remedies)}."
    )


def _sparse(S: np.ndarray) -> sp.csr_array:
    """A block of the graph without its small edges."""
    return sp.csr_array(np.where(S < SMALL, 0.0, S))


def _trust(block: Block) -> np.ndarray:
    """(b, k) mean weight of every edge."""
    return np.ones(block.S.shape, np.float32) if block.trust is None else block.trust.astype(np.float32)


def _own_trust(block: Block) -> np.ndarray:
    """(b,) mean weight of the edges an object has to begin with."""
    if block.trust is None:
        return np.ones(block.S.shape[0])
    seen = block.codes >= 0
    own = np.take_along_axis(block.trust, np.maximum(block.codes, 0), axis=1)
    return np.where(seen, own, 0.0).sum(axis=1) / seen.sum(axis=1)
