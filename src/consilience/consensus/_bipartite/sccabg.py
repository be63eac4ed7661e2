"""Self-paced consensus clustering with an adaptive bipartite graph.

Objects and base clusters are the two sides of a graph. The method learns its edges S, the trust W in each
edge and the similarity C of base clusters such that the graph falls into c components, which are the
clusters.

    minimize over S, W, C, F
        ||W o (S - Y)||^2 - lam sum(W) + similarity_weight sum_i sum_pq C_pq (S_ip - S_iq)^2 W_ip W_iq
        + overlap_weight ||C - K||^2 + rho tr(F' L F)                                                     (9)
    with 0 <= S, W <= 1, C >= 0, F'F = I

    W_i  min  w' (diag((S_i - Y_i)^2) + similarity_weight B) w - lam 1'w,   B_pq = C_pq (S_ip - S_iq)^2   (10)
    F    [U; V] / sqrt(2): the c leading singular vectors of Q = D1^-1/2 S D2^-1/2                        (12)
    S_i  min  sum_p W_ip^2 (s_p - Y_ip)^2 + similarity_weight sum_pq C_pq W_ip W_iq (s_p - s_q)^2
              + rho sum_p H_ip s_p,   H_ip = ||F_i / sqrt(d_i) - F_(n+p) / sqrt(d_(n+p))||^2              (14)
    C    max(K - mu G, 0),  G_pq = sum_i (S_ip - S_iq)^2 W_ip W_iq,
         mu = similarity_weight / (2 overlap_weight)                                                      (18)
    lam doubles every round until every W is 1; rho doubles until there are c components

Y (n, k) 0/1 base clusters of each object, k of them in all; S, W (n, k); K = Y'Y, C, G (k, k); F (n + k, c);
L the normalized Laplacian of [[0, S], [S', 0]], D1 and D2 its degrees on either side.

Every quantity of size n is stored by rows, and every shared quantity is k x k. The work is therefore one map
over blocks of rows, which runs on threads here and could run on any number of workers. The updates (10) to
(18) are in :mod:`._graph`, the way from the graph to labels is in :mod:`._placement`, and the order of steps
of the authors' program in :mod:`._authors`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..._base.estimator import declared
from ..._base.parameters import Choice, Integer, MinClusterSize, NJobs, Nothing, Real
from ..._base.progress import progress
from ..._data.ensemble import Ensemble
from ..._evidence.table import Evidence, trust_by_reliability
from ..._kernels.cut.embedding import cut_rows
from ...errors import ConsilienceWarning, InputError, warn
from .._base import BaseConsensus, Pacing, Solution
from ._authors import follow_authors
from ._graph import SMALL, Graph, State, Sums, bytes_needed, edge_trust, embed, own_trust, record, update_F
from ._placement import fill_in, place, read_components

#: Seconds on one processor for each distinct object and base cluster, and more for each pair of base
#: clusters: fitted to the figures in the method's page, within a factor of about 3 elsewhere.
_SECONDS = 1.2e-6, 1.15e-9
PACE = 2**0.5  # growth of rho and lam in a round
_DOUBTFUL = 0.2  # the smaller first_trust that "auto" tries
_STARTS = 10  # of the k-means that reads labels off the embedding
# The components are no answer if they agree with the base clusterings less than this share of what the
# embedding does: rho has then torn off small pieces.
_FAR_LESS = 0.7
# The graph that doubts more is kept where the labels of the other agree less than this share of its own do:
# strong doubt can silence a clustering that is as good as others.
_AS_WELL = 0.98
_IDLE = 0.999  # mean W in the first round from which on self-pacing changes nothing

#: Defaults of similarity_weight and overlap_weight by mode. The standard mode measures C in units of its
#: mean degree (see SCCABG).
DEFAULTS = {"standard": (0.1, 0.05), "authors": (1e-4, 1e-2)}


def first_trusts(ensemble, c: int) -> list[float]:
    """What first_trust="auto" tries, with less doubt first, which is kept if both agree about equally well.

    One is c over the mean number of clusters of the base clusterings, between 0.4 and 1: a large base cluster
    contradicts many others, which is evidence against it if base clusters are finer than the clusters sought,
    but not if they are as coarse. The other is 0.2.
    """
    return [float(np.clip(c / ensemble.n_clusters_per_clustering.mean(), 0.4, 1.0)), _DOUBTFUL]


def reach_components(graph: Graph, c: int, max_iter: int, first_trust: float, keep_last: bool):
    """Raise rho until the graph has c components; if it jumps past c, go back and raise it more slowly.

    A graph that loses its last edge has jumped past c too. If no smaller step helps, or after max_iter
    rounds, the last graph that had edges is kept if ``keep_last``.

    Returns (state, history, whether c was reached, the embedding of the objects in the last graph that was
    not yet in more components than the first).
    """
    growth, history = PACE, []
    before: tuple | None = None  # the last round with too few components
    whole: tuple | np.ndarray | None = None  # the last round before the graph fell apart, or its embedding
    right, sigma, values = update_F(graph.total, graph.copies, c)
    # At the start, rho cuts a 64th of an average edge.
    apart = max(c - float(sigma.sum()), 1e-9)
    rho = float(graph.total.D2 @ graph.copies) / (64 * apart)
    weigh = graph.blocks[0].W is not None
    # lam starts at a share of what speaks against the worst edge of an average object, whatever
    # similarity_weight is. Then weights are still at work when the graph begins to fall apart: started at
    # 0.5, most are 1 long before.
    lam = first_trust * graph.total.strain / graph.total_weight if weigh else 0.5
    shared = graph.shared() | {"right": right, "sigma": sigma}
    state = State(**shared, lam=lam, rho=rho, weigh=weigh, floor=SMALL, tol=1e-7)
    with progress(total=max_iter, what="SCCABG, at most", unit="round") as bar:
        while True:
            bar.update(1)
            history.append(record(graph, state, values))
            found = history[-1]["pieces"]
            too_far = found > c or not found  # without an edge there is nothing left to take apart
            if found == c or (too_far and (before is None or growth < 1.02)) or len(history) == max_iter:
                break
            if too_far and before is not None:
                graph.blocks, graph.total, graph.C, state = before
                growth **= 0.5
            else:
                right, sigma, values = update_F(graph.total, graph.copies, c)
                state = replace(state, right=right, sigma=sigma)
                before = graph.blocks, graph.total, graph.C, state
                if found <= history[0]["pieces"]:
                    whole = before
                elif isinstance(whole, tuple):  # its rows are not kept any longer than those of ``before``
                    whole = embedding_of(*whole)
            state = replace(state, C=graph.C, rho=state.rho * growth)
            graph.advance(state)
            if state.weigh and graph.total.least_W >= 1.0:
                graph.trust_all()
                state = replace(state, weigh=False)
            state = replace(state, lam=PACE * state.lam)
    if not found and before is not None and keep_last:
        graph.blocks, graph.total, graph.C, state = before
        history.append(record(graph, state, values))
    if not isinstance(whole, np.ndarray):
        whole = embedding_of(*(whole or (graph.blocks, graph.total, graph.C, state)))
    return state, history, found == c, whole


def embedding_of(blocks, total, C, state) -> np.ndarray:
    """(u, c) rows of the objects in the embedding of a round's graph; ``state`` has its F."""
    return np.concatenate([embed(block.S, state) for block in blocks])


def read_embedding(rows: np.ndarray, ensemble, c: int, n_jobs: int | None) -> np.ndarray:
    """Labels by k-means of the directions of the rows, from fixed starts."""
    weights, seeds = ensemble.sample_weight, range(_STARTS)
    return cut_rows(rows, c, unit=True, weights=weights, seeds=seeds, max_iter=100, n_jobs=n_jobs).labels


def agreement(ensemble, labels: np.ndarray) -> float:
    """Mean adjusted Rand index of the clusterings with a partition."""
    return float(Evidence(ensemble, labels).agreement("ari", with_itself=True).mean())


def edge_means(ensemble, edges: np.ndarray) -> np.ndarray:
    """(k,) mean of edges (u, k) over the objects in each base cluster, weighted by object."""
    own = ensemble.indicator().multiply(edges)
    return (own.T @ ensemble.sample_weight) / ensemble.cluster_sizes()


@declared
class SCCABG(BaseConsensus):
    """Self-paced learning of the graph between objects and base clusters; linear in n, takes missing labels.

    Objects and base clusters form a graph. Its edges are learned so that it falls into ``n_clusters``
    components: edges that contradict the rest are trusted later, and base clusters that agree share objects.
    No matrix of pairs of objects is formed, so the method suits many objects and incomplete ensembles.

    Parameters
    ----------
    similarity_weight : float or None
        How strongly similar base clusters are made to hold the same objects (gamma_1 in the paper). The
        default is 0.1, in units of the mean similarity of a base cluster to all others, so that it does not
        depend on n, m or cluster sizes. Below 0.01 the base clusters hardly change. In ``mode="authors"`` the
        default is 1e-4 in the units of the paper, where similarities are counts of objects.
    overlap_weight : float or None
        How closely the similarity of base clusters stays at their overlap (gamma_2 in the paper). Only the
        ratio mu = similarity_weight / (2 overlap_weight) matters. The default, 0.05, gives mu = 1 with the
        default similarity_weight, which keeps base clusters similar as long as the objects they share
        outnumber the others. In ``mode="authors"`` the default is 1e-2.
    similarity : {"adaptive", "fixed"}
        "adaptive" learns the similarity of base clusters. "fixed" keeps it at their overlap, as in the
        conference version, SCCBG.
    first_trust : float or "auto"
        How much an edge may be contradicted and still be trusted in the first round, as a share of the
        contradiction of the worst edge of an average object. Trust grows from there. Smaller values start
        with more doubt; values of 2 and more doubt almost nothing. "auto" learns two graphs: one
        from n_clusters over the mean number of clusters of a base clustering, at least 0.4 and at most 1, and
        one from 0.2, which is kept if the mean adjusted Rand index of its labels with the base clusterings is
        more than 2% higher. Not used in ``mode="authors"``.
    labels_from : {"auto", "pieces", "embedding"}
        "pieces": clusters are the connected components of the learned graph. "embedding": they are the
        k-means clusters of the objects' rows of F, of the last graph that had not yet fallen apart. "auto":
        the components, unless their mean adjusted Rand index with the base clusterings is less than 70% of
        that of "embedding". Not used in ``mode="authors"``.
    weighting : {"self-paced", "none"}
        "self-paced" trusts edges that contradict the rest later. "none" trusts every edge from the start (W =
        1); with ``similarity="fixed"`` this is SCCBG-W of the paper.
    mode : {"standard", "authors"}
        "authors" follows the authors' program: the order of its steps, its thresholds and its units. It
        returns the components as clusters, whatever their number, and makes every object that is cut off from
        all base clusters a cluster of its own.
    max_iter : int or None
        Maximum number of rounds. The default is 100, in ``mode="authors"`` 20.

    Attributes
    ----------
    bipartite_graph_ : sparse array (n_samples, k)
        The learned graph, S. Columns are the base clusters of all clusterings in order.
    edge_reliability_ : array (n_samples, k)
        W averaged over the rounds in which it was learned: 1 if an edge (or its absence) was trusted from the
        start. Computed at each access.
    reliability_ : array (n_samples,)
        Mean of ``edge_reliability_`` over the base clusters an object is in.
    cluster_reliability_ : array (k,)
        Mean of ``edge_reliability_`` over the objects in a base cluster.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering: the mean reliability of its clusters, weighted by their size. Adds up
        to 1. Not set with ``weighting="none"``, which trusts all alike.
    cluster_similarity_ : array (k, k)
        Learned similarity of base clusters, C, as numbers of objects.
    first_trust_ : float
        The first_trust of the graph that was kept. Not set with ``weighting="none"`` or ``mode="authors"``.
    labels_from_ : {"pieces", "embedding"}
        What the labels were read from.
    n_pieces_ : int
        Number of pieces (connected components) of the learned graph before any repair; ``converged_`` says
        whether it was n_clusters.
    distinct_graph_, distinct_reliability_ : arrays (u, k)
        ``bipartite_graph_`` and ``edge_reliability_`` of the distinct objects, in the order of ``distinct_``.
    isolated_ : array (n_samples,) of bool
        Whether the learned graph cut the object off from every base cluster. The label of such an object is a
        vote of its base clusters.
    history_ : list of dict
        One entry per round: ``pieces``, ``objective``, ``rho``, ``lambda``, ``leading`` (sum of the c leading
        eigenvalues of Q'Q, c if there are c components) and ``next`` (the following one), ``min_W``,
        ``mean_W``, ``rows_weighed``, and ``unfinished_S`` and ``unfinished_W``, the number of distinct
        objects whose row was still changing when its solver stopped.

    Notes
    -----
    For u distinct objects and k distinct base clusters, a round takes at most O(u k^2) time, in compiled
    blocks, and a fit some 15 to 40 rounds. It takes 24 u k bytes (52 with self-pacing) and at least 100 k^2.
    The objective changes with lam and rho in every round, so that it does not fall along the history. For a
    :class:`~consilience.SoftEnsemble`, Y holds the memberships, and a missing share of an object is no
    evidence, like a missing label. The learned edges pull memberships towards 0 and 1 as the graph falls
    apart.

    Differences from the paper: (1) Exactly n_clusters clusters are returned: if there are too many
    components, they are merged by co-association; if there are too few, they are split by the embedding. Both
    are reported. Where the components agree with the base clusterings far less than the embedding of the last
    graph that was whole, labels come from that (``labels_from``). (2) Components are counted, not inferred
    from eigenvalues. (3) rho and lam grow by sqrt(2)
    from starting values set by the data, so that edge weights are still being learned when the graph begins
    to fall apart. If the graph jumps past n_clusters, the round is undone and repeated with a smaller step.
    Doubling from fixed starting values tears off small pieces. (4) similarity_weight is scale-free, see
    above. (5) A missing label is no evidence: its entries have no loss, instead of the loss of a 0, and start
    at the values expected from the other labels. (6) Edges below 1e-4 are cut in every round. (7) The W
    problem is not convex; its solver treats all columns alike, see :mod:`consilience._kernels.programs.box`.
    ``mode="authors"`` keeps (7) alone.

    References
    ----------
    P. Zhou, X. Liu, L. Du, X. Li, "Self-paced adaptive bipartite graph learning for consensus clustering",
    ACM TKDD 17(5), 2023.
    P. Zhou, L. Du, X. Li, "Self-paced consensus clustering with bipartite graph", IJCAI 2020.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, None, 1, 1]])
    >>> model = cs.SCCABG(n_clusters=2).fit(base)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1]
    >>> model.filled_labels()[2].tolist()
    [0, 0, 0]
    """

    similarity_weight: Annotated[float | None, Nothing() | Real(1e-20, 1e20)] = None
    overlap_weight: Annotated[float | None, Nothing() | Real(1e-20, 1e20)] = None
    similarity: Annotated[str, Choice("adaptive", "fixed")] = "adaptive"
    first_trust: Annotated[float | str, Real(0, open_low=True) | Choice("auto")] = "auto"
    labels_from: Annotated[str, Choice("auto", "pieces", "embedding")] = "auto"
    weighting: Annotated[str, Choice("self-paced", "none")] = "self-paced"
    mode: Annotated[str, Choice("standard", "authors")] = "standard"
    max_iter: Annotated[int | None, Nothing() | Integer(1)] = None
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    reliability_: ClassVar[np.ndarray]
    cluster_reliability_: ClassVar[np.ndarray]
    clustering_weights_: ClassVar[np.ndarray]
    cluster_similarity_: ClassVar[np.ndarray]
    first_trust_: ClassVar[float]
    labels_from_: ClassVar[str]
    n_pieces_: ClassVar[int]
    isolated_: ClassVar[np.ndarray]
    distinct_graph_: ClassVar[sp.csr_array]
    distinct_reliability_: ClassVar[np.ndarray]

    _test_params = [{}, {"similarity": "fixed"}, {"weighting": "none"}, {"labels_from": "embedding"}]
    _takes_soft = True
    _remedy = "use LWGP, which holds no matrix of objects by base clusters, or fewer or coarser clusterings"
    _pacing = Pacing("edges between objects and base clusters", lambda terms, total: terms["mean_W"])

    def _cost(self, ensemble):
        u, k = ensemble.n_samples, ensemble.n_base_clusters
        return u * k * (_SECONDS[0] + _SECONDS[1] * k), bytes_needed(u, k, self.weighting == "self-paced")

    def _fit(self, ensemble, rng):
        if self.mode == "authors" or self.weighting == "none":
            trusts = [1.0]  # has no effect
        elif self.first_trust == "auto":
            trusts = first_trusts(ensemble, self.n_clusters)
        else:
            trusts = [float(self.first_trust)]
        best, said, highest = None, [], -np.inf
        for trust in trusts:
            solution, remarks = self._solve(ensemble, trust)
            value = agreement(ensemble, solution.labels) if len(trusts) > 1 else 0.0
            if best is None or highest < _AS_WELL * value:
                best, said, highest = solution, remarks, value
        for message, category in said:
            warn(message, category)
        return best

    def _solve(self, ensemble, first_trust: float):
        """(what was learned from this first_trust, its warnings)."""
        authors, c, source = self.mode == "authors", self.n_clusters, "pieces"
        paced = self.weighting == "self-paced"
        similarity_weight, overlap_weight = (
            default if given is None else float(given)
            for given, default in zip((self.similarity_weight, self.overlap_weight), DEFAULTS[self.mode])
        )
        graph = Graph(
            ensemble,
            similarity_weight=similarity_weight,
            mu=similarity_weight / (2 * overlap_weight) if self.similarity == "adaptive" else 0.0,
            self_paced=paced,
            missing_counts=authors,
            scale_free=not authors,
            n_jobs=self.n_jobs,
        )
        if authors:
            state, history, converged = follow_authors(graph, c, self.max_iter or 20)
        else:
            # If an extreme similarity_weight destroys the graph, the graph of the round before says nothing.
            state, history, converged, whole = reach_components(
                graph,
                c,
                self.max_iter or 100,
                first_trust,
                keep_last=similarity_weight <= DEFAULTS["standard"][0],
            )
        S = graph.edges()
        labels, isolated = read_components(S)
        found = np.unique(labels[~isolated]).size
        if not authors:
            if not found:
                raise InputError(_no_edge(similarity_weight))
            embedding = graph.rows(lambda block: embed(block.S, state))
            labels = place(labels, isolated, ensemble, c, embedding)
            if self.labels_from != "pieces":
                other = read_embedding(whole, ensemble, c, self.n_jobs)
                if self.labels_from == "embedding" or (
                    agreement(ensemble, labels) < _FAR_LESS * agreement(ensemble, other)
                ):
                    labels, source = other, "embedding"
        remarks: list[tuple[str, type[Warning]]] = []
        if unfinished := _unfinished(
            graph.total, ensemble.n_samples, similarity_weight, None if authors else first_trust
        ):
            remarks.append((unfinished, ConvergenceWarning))
        judged = paced and not authors and self.first_trust != "auto"  # else it is not the user's choice
        if judged and (idle := _idle(history, first_trust, graph.strain)):
            remarks.append((idle, ConsilienceWarning))
        edges = graph.rows(edge_trust)[:, graph.column]
        reliability = edge_means(ensemble, edges)
        solution = Solution(
            labels,
            history=history,
            converged=converged,
            shortfall=_shortfall(found, c, authors, source),
            exact=not authors,
            # Equal objects share a row, but in the authors' program each one that is cut off is a cluster.
            alone=isolated if authors else None,
            per_cluster={"cluster_reliability": reliability},
            per_clustering={"clustering_weights": trust_by_reliability(ensemble, reliability)}
            if paced
            else {},
            per_sample={"isolated": isolated, "reliability": graph.rows(own_trust)},
            per_distinct_edge={"distinct_graph": S[:, graph.column], "distinct_reliability": edges},
            per_cluster_pair={"cluster_similarity": graph.C[graph.column][:, graph.column]},
            extra={"n_pieces": found, "labels_from": source}
            | ({"first_trust": float(first_trust)} if paced and not authors else {}),
        )
        return solution, remarks

    @property
    def bipartite_graph_(self) -> sp.csr_array:
        """(n_samples, k) the learned graph, S."""
        check_is_fitted(self, "labels_")
        return self.distinct_.expand(self.distinct_graph_)

    @property
    def edge_reliability_(self) -> np.ndarray:
        """(n_samples, k) mean W over the rounds in which it was learned."""
        check_is_fitted(self, "labels_")
        return self.distinct_.expand(self.distinct_reliability_)

    def filled_labels(self) -> np.ndarray:
        """The given labels (n_samples, n_clusterings), with missing ones replaced by the most likely cluster.

        The most likely cluster is the one with the strongest learned edge to the object, or, if the graph has
        none, the one that overlaps most with the clusters of the object.
        """
        check_is_fitted(self, "labels_")
        if not isinstance(self.distinct_, Ensemble):
            raise InputError(
                "filled_labels() fills in missing labels, but SCCABG was fitted to a SoftEnsemble. Use "
                "bipartite_graph_, which holds the learned memberships of every object."
            )
        return self.distinct_.expand(fill_in(self.distinct_, self.distinct_graph_))


def _no_edge(similarity_weight: float) -> str:
    """Why the graph is empty, and what to do."""
    return (
        f"similarity_weight={similarity_weight:g} leaves no edge in the learned graph: every object is cut "
        f"off. Lower similarity_weight (default {DEFAULTS['standard'][0]:g}), or use LWGP or "
        f"EvidenceAccumulation, which learn no graph."
    )


def _idle(history: list[dict], first_trust: float, strain: float) -> str:
    """The warning that self-pacing did nothing; empty if it did, or if there is nothing to doubt."""
    trusted = min((entry["mean_W"] for entry in history[1:]), default=0.0)
    if strain <= 0 or trusted < _IDLE:
        return ""
    return (
        f"Self-pacing had next to nothing to do: with first_trust={first_trust:g}, {trusted:.1%} of the "
        f'edges were trusted from the first round, so the answer is about that of weighting="none". Lower '
        f'first_trust, or leave the default, "auto".'
    )


def _shortfall(found: int, c: int, authors: bool, source: str) -> str:
    """What was not reached, for the warning."""
    if authors:
        return "the authors' test of the number of components was not passed"
    if source == "embedding":
        return f"the learned graph has {found} components instead of {c}; labels come from its embedding"
    mended = "merged" if found > c else "split"
    return (
        f"the learned graph has {found} components instead of {c}, which were {mended}; labels have {c} "
        f"clusters"
    )


def _unfinished(last: Sums, n: int, similarity_weight: float, first_trust: float | None) -> str:
    """The warning about rows whose solver stopped early in the last round; empty if there are none.

    The solver of S is slow if couplings are much larger than the loss, that of W if contradictions are much
    larger than lam. In units of these, lam starts at first_trust; in the authors' mode (None) it starts at a
    constant.
    """
    if not last.unfinished_S and not last.unfinished_W:
        return ""
    remedies = []
    if last.unfinished_S or first_trust is None:
        remedies.append(f"lower similarity_weight={similarity_weight:g}")
    if last.unfinished_W and first_trust is not None:
        remedies.append(f"raise first_trust={first_trust:g}")
    return (
        f"SCCABG left {last.unfinished_S} of the {n} rows of S and {last.unfinished_W} of W still moving at "
        f"the end of the last round, so the learned graph is less exact there; {' and '.join(remedies)}."
    )
