"""SCCABG: updates against plain formulas, the printed toys, the authors' results, and what users rely on."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import consilience as cs
from consilience._kernels.programs import box
from consilience._kernels.programs.box import smooth_rows, weigh_rows
from consilience._kernels.runtime.threads import one_blas_thread
from consilience.consensus._bipartite import _graph as graphs
from consilience.consensus._bipartite import _placement as placement
from consilience.consensus._bipartite import sccabg
from consilience.consensus._bipartite._graph import Block, Graph, State
from consilience.errors import ConsilienceWarning, InputError
from consilience.metrics import accuracy

from ...zoo import planted, same_partition


def small(seed=0, missing=0.0, **more):
    return cs.Ensemble(planted(seed, n=40, m=6, missing=missing, **more)[0]).distinct()


def graph_of(ensemble, **more):
    settings = {
        "similarity_weight": 0.3,
        "mu": 0.5,
        "self_paced": False,
        "missing_counts": True,
        "scale_free": False,
        "n_jobs": 1,
    }
    return Graph(ensemble, **settings | more)


def state_of(graph, c=3, **more):
    right, sigma, _ = graphs.update_F(graph.total, graph.copies, c)
    settings = {"lam": 0.5, "rho": 4.0, "weigh": False, "floor": 0.0, "tol": 1e-12}
    return State(right=right, sigma=sigma, **graph.shared() | settings | more)


# Updates ----------------------------------------------------------------------------------------------------


def test_F_holds_the_leading_singular_vectors(seed):
    ensemble = small(seed)
    graph = graph_of(ensemble)
    S = ensemble.indicator().toarray()
    w, c = ensemble.sample_weight, 3
    Q = np.sqrt(w / S.sum(1))[:, None] * S / np.sqrt(w @ S)  # rows of weight w stand for w equal objects
    U, s, Vt = np.linalg.svd(Q, full_matrices=False)
    state = state_of(graph, c)
    np.testing.assert_allclose(state.sigma, s[:c], atol=1e-9)
    columns = graph.column
    left, right = (
        graphs.embed(S, replace(state, right=state.right[columns], copies=np.ones(columns.size))),
        Vt[:c].T,
    )
    right = right / np.sqrt(w @ S)[:, None]
    left_plain = U[:, :c] / np.sqrt(w)[:, None] / np.sqrt(S.sum(1))[:, None]
    H = 0.5 * ((left_plain[:, None, :] - right) ** 2).sum(axis=2)  # does not depend on signs or rotations
    np.testing.assert_allclose(
        graphs.pull_apart(S[:, _first(columns)], state), H[:, _first(columns)], atol=1e-9
    )
    assert left.shape == (ensemble.n_samples, c)


def _first(columns):
    return np.unique(columns, return_index=True)[1]


def test_sums_equal_plain_formulas(seed):
    ensemble = small(seed)
    rng = np.random.default_rng(seed)
    u, k = ensemble.n_samples, 5
    S, W, Y = rng.random((3, u, k))
    w, copies = ensemble.sample_weight, np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    G = np.einsum("i,ipq,ip,iq->pq", w, (S[:, :, None] - S[:, None, :]) ** 2, W, W)
    total = graphs.sums(S, W, Y, None, Y, w, copies)
    np.testing.assert_allclose(total.G, G, atol=1e-9)
    np.testing.assert_allclose(total.D2, w @ S)
    np.testing.assert_allclose(total.P, S.T @ ((w / (S @ copies))[:, None] * S))
    np.testing.assert_allclose(total.loss, w @ ((W * (S - Y)) ** 2 @ copies))
    trusted = graphs.sums(S, None, Y, None, Y, w, copies)
    np.testing.assert_allclose(trusted.G, graphs.sums(S, np.ones_like(S), Y, None, Y, w, copies).G, atol=1e-9)


def test_what_all_blocks_share_is_formed_once_a_round(monkeypatch):
    """However few sums are held at a time: the same bits."""
    labels, _ = planted(0, n=90, m=6, noise=0.3)
    monkeypatch.setattr(graphs, "block_rows", lambda k: 16)
    whole = cs.SCCABG(3, first_trust=1.0, n_jobs=1).fit(labels)
    formed, couple = [], graphs.couple
    monkeypatch.setattr(graphs, "couple", lambda *a: formed.append(1) or couple(*a))
    monkeypatch.setattr(graphs, "_BYTES_AT_A_TIME", 1)
    assert graphs.blocks_at_a_time(5000, n_jobs=1) == 2
    few = cs.SCCABG(3, first_trust=1.0, n_jobs=1).fit(labels)
    assert np.array_equal(few.labels_, whole.labels_)
    assert np.array_equal(few.cluster_similarity_, whole.cluster_similarity_)
    assert len(formed) == few.n_iter_  # one to begin with, and one for each round after the first


def test_a_row_split_over_blocks_gives_the_same_sums(seed):
    ensemble = small(seed, missing=0.2)
    graph = graph_of(ensemble, self_paced=True)
    state = state_of(graph, weigh=True)
    whole = graph.blocks[0]
    assert len(graph.blocks) == 1
    parts = [
        Block(whole.codes[s], whole.weights[s], whole.S[s], whole.W[s]) for s in (slice(9), slice(9, None))
    ]
    block, total = graphs.advance(whole, state)
    (first, a), (second, b) = (graphs.advance(part, state) for part in parts)
    np.testing.assert_allclose(np.vstack([first.S, second.S]), block.S, atol=1e-9)
    np.testing.assert_allclose((a + b).G, total.G, atol=1e-8)
    np.testing.assert_allclose((a + b).P, total.P, atol=1e-8)
    assert whole.S.max() == 1.0, "a block is not changed in place"


def test_C_minimizes_its_part_of_the_objective(seed):
    rng = np.random.default_rng(seed)
    K, G = np.abs(rng.normal(size=(2, 4, 4)))
    similarity_weight, overlap_weight = 0.3, 0.2

    def value(C):
        return similarity_weight * np.sum(C * G) + overlap_weight * np.sum((C - K) ** 2)

    C = graphs.update_C(K, G, similarity_weight / (2 * overlap_weight))
    for _ in range(200):
        other = np.maximum(C + 0.05 * rng.normal(size=C.shape), 0)
        assert value(C) <= value(other) + 1e-12


def test_equal_base_clusters_share_a_column():
    labels = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0], [2, 2, 0]])
    column, copies, K = graphs.merge_copies(cs.Ensemble(labels).distinct(), same_view=True)
    assert sorted(copies.tolist()) == [1.0, 1.0, 2.0, 2.0, 2.0]
    assert column[0] == column[3]
    assert K[column[0], column[0]] == 2
    gap = labels.copy()
    gap[4, 1] = -1  # clusters 0 and 1 keep equal columns of Y, but one clustering has not seen object 4
    _, merged, _ = graphs.merge_copies(cs.Ensemble(gap).distinct(), same_view=False)
    _, apart, _ = graphs.merge_copies(cs.Ensemble(gap).distinct(), same_view=True)
    assert merged.max() == 2
    assert apart.max() == 1


def test_missing_labels_start_at_what_the_others_lead_one_to_expect(seed):
    # Object 2 was not seen by the third clustering. Of its clusters {0, 1, 2} and {2, 3, 4}, the third holds
    # two and none, and none and two: one half each.
    by_hand = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, None, 1, 1]]).distinct()
    graph = graph_of(by_hand, missing_counts=False)
    S = graph.rows(lambda block: block.S)[:, graph.column]
    row = int(np.flatnonzero((by_hand.labels < 0).any(axis=1))[0])
    np.testing.assert_allclose(S[row, 4:], [0.5, 0.5])
    ensemble = small(seed, missing=0.3)
    graph = graph_of(ensemble, missing_counts=False)
    S = graph.rows(lambda block: block.S)[:, graph.column]
    for i in range(
        ensemble.n_clusterings
    ):  # every object has one label in each clustering, known or expected
        np.testing.assert_allclose(S[:, ensemble.offsets[i] : ensemble.offsets[i + 1]].sum(axis=1), 1.0)
    Y = ensemble.indicator().toarray()
    assert (S[Y > 0] == 1).all()


def test_components_are_counted_on_the_cluster_side():
    P = np.array([[1.0, 0.2, 0, 0], [0.2, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    assert graphs.count_components(P) == 2  # the last cluster has no edges at all


# The printed toys -------------------------------------------------------------------------------------------

TOY_1 = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
TOY_2 = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, None, 1, 1]])


def toy(base):
    Y = cs.Ensemble(base).indicator().toarray()
    K = Y.T @ Y
    return Y, 2 * (K - np.diag(np.diag(K)))  # E for similarity_weight = 1


def test_toy_1_weights_as_printed():
    Y, E = toy(TOY_1)
    W, _, _ = weigh_rows(np.zeros_like(Y), Y, Y, 1.0, E, np.ones(4))
    np.testing.assert_allclose(W[2], 0.25)
    np.testing.assert_allclose(W[0], W[1])


def test_toy_2_doubts_the_missing_edge_alone():
    Y, E = toy(TOY_2)
    W, _, _ = weigh_rows(np.zeros_like(Y), Y, Y, 1.0, E, np.ones(6))
    assert W[2, 4] < 0.4  # 0.3976 in print, a point of a flat valley; any solver ends below
    np.testing.assert_allclose(np.delete(W[2], 4), 1.0)


def test_toy_2_edge_as_printed():
    # With the printed W and similarity_weight = 1 (rho does not matter: the graph has two components to begin
    # with).
    Y, E = toy(TOY_2)
    W = np.array([[1, 1, 1, 1, 0.3976, 1.0]])
    S, _ = smooth_rows(Y[2:3], W, Y[2:3], np.zeros((1, 6)), E, np.ones(6))
    np.testing.assert_allclose(S[0], [0.93, 0, 0.93, 0, 0.886, 0], atol=5e-4)


def test_toy_2_is_filled_by_default():
    model = cs.SCCABG(n_clusters=2).fit(TOY_2)
    assert same_partition(model.labels_, [0, 0, 0, 1, 1])
    assert model.filled_labels()[2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [200, 500])
def test_two_moons(seed, n):
    X, truth = make_moons(n, noise=0.05, random_state=seed)
    with one_blas_thread():
        base = [KMeans(k, n_init=10, random_state=seed).fit_predict(X) for k in (2, 4, 6, 8, 10)]
    assert max(adjusted_rand_score(truth, column) for column in base) < 0.5
    labels = cs.SCCABG(n_clusters=2, first_trust=0.4).fit_predict(np.column_stack(base))
    assert adjusted_rand_score(truth, labels) > 0.9


# The authors' results ---------------------------------------------------------------------------------------

GOLDEN = [
    "allaml_auth_1-20",
    "allaml_auth_21-40",
    "allaml_km",
    "glioma_auth_1-20",
    "glioma_auth_21-40",
    "iris_km",
    "lung_auth_1-20",
    "lung_auth_21-40",
    "pool_Caltech20_s300_1-20",
    "pool_MF_s300_1-20",
    "tox171_km",
    "yale_auth_1-20",
]


def is_tied(history, c):
    """Whether c + 1 or more leading eigenvalues were 1 before the last round.

    Which c of their vectors a solver returns is then chance, and so is everything after.
    """
    return bool((history[:-1, 4] > c + 1 - 1e-7).any())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", GOLDEN)
@pytest.mark.parametrize("method", ["SCCABG", "SCCBG"])
def test_authors_mode_gives_the_authors_labels(shared_dir, case, method):
    data = np.load(shared_dir / "golden" / f"{case}.npz")
    c, compared = int(data["n_clusters"]), 0
    settings = zip(json.loads(str(data[f"{method}__params"])), json.loads(str(data[f"{method}__extra"])))
    for j, (given, extra) in enumerate(settings):
        history = data[f"{method}__hist_{j}"]
        if extra["qp"]["nonconv"] > 0:
            continue  # the W step was not convex: any stationary point is as good
        gamma = given.get("gamma1", given.get("gamma"))
        model = cs.SCCABG(
            n_clusters=c,
            similarity_weight=gamma,
            overlap_weight=gamma / (2 * given.get("mu", 1.0)),
            similarity="adaptive" if method == "SCCABG" else "fixed",
            mode="authors",
        ).fit(data["labels_base"])
        tied = is_tied(history, c)
        ours = np.array([[entry["rho"], entry["leading"]] for entry in model.history_[:11]])
        np.testing.assert_allclose(ours, history[:11, [1, 3]], atol=1e-6)
        if not tied:
            assert same_partition(model.labels_, data[f"{method}__labels"][:, j]), (given, model.n_iter_)
            assert model.n_iter_ == len(history)
        compared += 1
    assert compared > 0


def test_printed_figure_without_self_pacing(shared_dir):
    pool = np.load(shared_dir / "data" / "pool_allaml.npz")
    scores = [
        accuracy(
            cs.SCCABG(
                n_clusters=2, similarity_weight=1e-5, similarity="fixed", weighting="none", mode="authors"
            ).fit_predict(pool["labels"][:, i : i + 20]),
            pool["y"],
        )
        for i in range(0, 200, 20)
    ]
    assert round(float(np.mean(scores)), 4) == 0.6681
    assert round(float(np.std(scores, ddof=1)), 3) == 0.012


# What users rely on -----------------------------------------------------------------------------------------


def test_attributes_are_in_the_order_given(seed):
    labels, _ = planted(seed, n=50, m=5)
    ensemble = cs.Ensemble(labels)
    model = cs.SCCABG(n_clusters=3).fit(ensemble)
    k = ensemble.n_base_clusters
    assert model.bipartite_graph_.shape == model.edge_reliability_.shape == (50, k)
    assert model.cluster_similarity_.shape == (k, k)
    assert model.reliability_.shape == (50,)
    assert model.edge_reliability_.min() >= 0
    assert model.edge_reliability_.max() <= 1
    # Similarity starts at the overlap and only falls, and clusters of one clustering share nobody.
    overlap = ensemble.contingency()
    assert (model.cluster_similarity_ <= overlap + 1e-9).all()
    np.testing.assert_allclose(np.diag(model.cluster_similarity_), np.diag(overlap))
    # Edges that are kept mostly existed: rows and columns were put back where they came from.
    Y = ensemble.indicator().toarray()
    S = model.bipartite_graph_.toarray()
    assert (S * Y).sum() > 0.8 * S.sum()
    shuffled = cs.SCCABG(n_clusters=3).fit(labels[::-1, ::-1])
    assert same_partition(shuffled.labels_[::-1], model.labels_)
    np.testing.assert_allclose(shuffled.reliability_[::-1], model.reliability_, atol=1e-6)


def test_doubt_falls_on_the_scrambled_object():
    labels = np.repeat([[0], [1], [2]], 20, axis=0) * np.ones(8, int)
    labels[5] = [0, 1, 2, 0, 1, 2, 0, 1]
    model = cs.SCCABG(n_clusters=3).fit(labels)
    assert model.reliability_.argmin() == 5
    assert same_partition(np.delete(model.labels_, 5), np.delete(labels[:, 0], 5))


def test_missing_labels_are_filled_with_the_right_cluster(seed):
    labels, truth = planted(seed, n=300, m=12, c=4, noise=0.05)
    gone = np.random.default_rng(seed).random(labels.shape) < 0.3
    gone[gone.all(axis=1), 0] = False
    hidden = np.where(gone, -1, labels)
    model = cs.SCCABG(n_clusters=4).fit(hidden)
    assert accuracy(truth, model.labels_) > 0.95
    filled = model.filled_labels()
    np.testing.assert_array_equal(filled[~gone], labels[~gone])
    assert (
        filled[gone] == labels[gone]
    ).mean() > 0.75  # base clusters that split a planted one are a coin toss


def test_filled_labels_keep_their_names():
    base = {"a": ["x", "x", "y", None], "b": [7, 7, 9, 9], "c": [1, 1, 2, 2]}
    filled = cs.SCCABG(n_clusters=2).fit(base).filled_labels()
    assert filled[:, 0].tolist() == ["x", "x", "y", "y"]
    assert filled[:, 1].tolist() == [7, 7, 9, 9]


def test_cut_off_objects_rejoin_by_their_signature():
    ensemble = cs.Ensemble.from_clusterings([[0, 0, 1, 1, 1], [0, 0, 1, 1, 0], [5, 6, 7, 7, 7]]).distinct()
    labels = placement.rejoin(np.array([0, -1, 1, -1]), ensemble)  # distinct objects: 0, 1, {2, 3}, 4
    assert labels.tolist() == [0, 0, 1, 1]
    stranger = cs.Ensemble.from_clusterings([[0, 0, 1, 2]]).distinct()
    assert placement.rejoin(np.array([0, 1, -1]), stranger).tolist() == [0, 1, 0]  # to the heaviest


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_authors_mode_leaves_cut_off_objects_alone(shared_dir):
    data = np.load(shared_dir / "golden" / "lung_auth_1-20.npz")
    settings = {"n_clusters": 5, "similarity_weight": 1e-5, "overlap_weight": 5e-3}
    authors = cs.SCCABG(**settings, mode="authors").fit(data["labels_base"])
    assert authors.isolated_.sum() == 4
    assert np.unique(authors.labels_).size == 9
    assert np.unique(cs.SCCABG(**settings).fit_predict(data["labels_base"])).size == 5


def test_weights_count_objects(seed):
    labels, _ = planted(seed, n=30, m=5)
    weights = np.random.default_rng(seed).integers(1, 4, 30)
    weighted = cs.SCCABG(n_clusters=3).fit(labels, sample_weight=weights)
    repeated = cs.SCCABG(n_clusters=3).fit(np.repeat(labels, weights, axis=0))
    assert same_partition(np.repeat(weighted.labels_, weights), repeated.labels_)
    np.testing.assert_allclose(np.repeat(weighted.reliability_, weights), repeated.reliability_, atol=1e-6)


def test_the_answer_does_not_depend_on_threads(monkeypatch):
    labels, _ = planted(3, n=400, m=10, noise=0.4)
    one = cs.SCCABG(n_clusters=3, n_jobs=1).fit(labels)
    two = cs.SCCABG(n_clusters=3, n_jobs=2).fit(labels)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.history_ == two.history_


# What labels are read from ---------------------------------------------------------------------------------


def torn():
    """(base clusterings, digits): members agree so little that rho tears small pieces off the graph."""
    X, digits = load_digits(return_X_y=True)
    ensemble = cs.generate.random_features(X[:300], n_clusterings=12, n_clusters=10, random_state=0)
    return ensemble, digits[:300]


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
def test_pieces_that_rho_tore_off_are_no_answer():
    ensemble, digits = torn()
    pieces = cs.SCCABG(10, first_trust=0.2, labels_from="pieces").fit(ensemble)
    model = cs.SCCABG(10, first_trust=0.2).fit(ensemble)
    assert np.bincount(pieces.labels_).max() > 150
    assert model.labels_from_ == "embedding"
    assert np.bincount(model.labels_).max() < 100
    assert adjusted_rand_score(digits, model.labels_) > adjusted_rand_score(digits, pieces.labels_) + 0.2
    # The graph is the same; only what labels are read from differs.
    assert model.n_pieces_ == pieces.n_pieces_
    assert (model.bipartite_graph_ != pieces.bipartite_graph_).nnz == 0


def test_the_embedding_is_that_of_the_last_whole_graph(seed):
    ensemble = small(seed)
    graph = graph_of(ensemble, missing_counts=False, scale_free=True, self_paced=True)
    state, history, _, rows = sccabg.reach_components(graph, 3, 100, 0.2, True)
    whole = max(i for i, entry in enumerate(history) if entry["pieces"] <= history[0]["pieces"])
    again = graph_of(ensemble, missing_counts=False, scale_free=True, self_paced=True)
    sccabg.reach_components(again, 3, whole + 1, 0.2, True)
    assert len(rows) == ensemble.n_samples
    right, sigma, _ = graphs.update_F(again.total, again.copies, 3)
    expected = sccabg.embedding_of(again.blocks, None, None, replace(state, right=right, sigma=sigma))
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, rtol=1e-6, atol=1e-9)


def test_components_are_kept_where_they_agree_as_well():
    ensemble = small()
    model, pieces = (cs.SCCABG(3, labels_from=name).fit(ensemble) for name in ("auto", "pieces"))
    assert model.labels_from_ == pieces.labels_from_ == "pieces"
    np.testing.assert_array_equal(model.labels_, pieces.labels_)


def test_the_first_trust_that_agrees_better_is_kept(seed):
    labels, _ = planted(seed, n=60, m=8, noise=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cs.SCCABG(3).fit(labels)
        tried = sccabg.first_trusts(model.distinct_, 3)
        each = [cs.SCCABG(3, first_trust=trust).fit(labels) for trust in tried]
    first = np.unique(model.distinct_.inverse, return_index=True)[1]
    values = [sccabg.agreement(model.distinct_, one.labels_[first]) for one in each]
    kept = each[int(values[0] < 0.98 * values[1])]
    assert tried[1] == 0.2
    assert 0.4 <= tried[0] <= 1
    assert model.first_trust_ == kept.first_trust_
    np.testing.assert_array_equal(model.labels_, kept.labels_)


def test_idle_self_pacing_is_said():
    ensemble = small(noise=0.3)
    with pytest.warns(ConsilienceWarning, match=r"first_trust=50, 100.0% of the edges were trusted"):
        idle = cs.SCCABG(3, first_trust=50).fit(ensemble)
    plain = cs.SCCABG(3, weighting="none").fit(ensemble)
    np.testing.assert_array_equal(idle.labels_, plain.labels_)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConsilienceWarning)
        cs.SCCABG(3).fit(ensemble)
        cs.SCCABG(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]])  # nobody chose this first_trust
        cs.SCCABG(2, first_trust=50).fit([[0, 0, 0], [0, 0, 0], [1, 1, 1]])  # nothing to doubt


def test_identical_bases_come_back_at_once():
    base = np.tile(np.repeat([0, 1, 2], [3, 4, 5])[:, None], (1, 6))
    model = cs.SCCABG(n_clusters=3).fit(base)
    assert same_partition(model.labels_, base[:, 0])
    assert model.converged_
    assert model.n_iter_ == 1


def test_a_graph_in_more_pieces_is_merged_and_said():
    base = np.tile(np.repeat([0, 1, 2], [3, 4, 5])[:, None], (1, 3))
    with pytest.warns(ConvergenceWarning, match="3 components instead of 2, which were merged"):
        model = cs.SCCABG(n_clusters=2).fit(base)
    assert np.unique(model.labels_).size == 2
    assert model.n_pieces_ == 3
    assert not model.converged_


def creeping(labels, monkeypatch, **settings):
    """A fit whose row solvers stop after one sweep or step, and the warnings about that."""
    monkeypatch.setattr(graphs, "smooth_rows", partial(smooth_rows, max_sweeps=1))
    monkeypatch.setattr(graphs, "weigh_rows", partial(weigh_rows, max_steps=1))
    monkeypatch.setattr(box, "_pivot_rows", lambda problem, r, rows: rows)  # it would finish all of them
    return fit_and_hear(labels, **settings)


def fit_and_hear(labels, **settings):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = cs.SCCABG(n_clusters=3, **settings).fit(labels)
    return model, [entry for entry in heard if "still moving" in str(entry.message)]


def unfinished(model):
    return np.array([[entry["unfinished_S"], entry["unfinished_W"]] for entry in model.history_])


@pytest.mark.parametrize(
    ("settings", "remedies"),
    [
        ({"first_trust": 0.2}, "lower similarity_weight=0.1 and raise first_trust=0.2."),
        ({"weighting": "none"}, "lower similarity_weight=0.1."),
        ({"mode": "authors", "similarity_weight": 0.5, "max_iter": 3}, "lower similarity_weight=0.5."),
    ],
)
def test_rows_left_unfinished_in_the_last_round_are_said(monkeypatch, settings, remedies):
    labels, _ = planted(0, n=60, m=8, noise=0.3)
    model, heard = creeping(labels, monkeypatch, **settings)
    counts = unfinished(model)
    assert (counts[0] == 0).all(), "the start solves nothing"
    assert counts[1:, 0].min() > 0
    assert (counts[:, 1].max() > 0) == (settings.get("weighting") != "none")
    assert len(heard) == 1
    assert heard[0].category is ConvergenceWarning
    message = str(heard[0].message)
    if model.converged_:
        S, W = counts[-1]
        n = model.distinct_.n_samples
        assert message.startswith(f"SCCABG left {S} of the {n} rows of S and {W} of W still moving")
    assert message.endswith(remedies)


def test_rows_left_unfinished_on_the_way_are_only_counted():
    labels, _ = planted(0, n=200, m=12)
    model, heard = fit_and_hear(labels, mode="authors", similarity_weight=10.0)
    counts = unfinished(model)
    assert counts.sum() > 0
    assert counts[-1].sum() == 0
    assert not heard


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_an_ordinary_fit_finishes_every_row(seed, missing):
    labels, _ = planted(seed, n=60, m=6, missing=missing)
    model, heard = fit_and_hear(labels, first_trust=1.0)
    assert model.n_iter_ > 2
    assert (unfinished(model) == 0).all()
    assert not heard


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("mode", ["standard", "authors"])
@pytest.mark.parametrize("similarity", ["adaptive", "fixed"])
def test_few_base_clusters(mode, similarity):
    """One clustering, c = 1, and more clusters asked for than there are base clusters."""
    settings = {"mode": mode, "similarity": similarity}
    assert np.unique(cs.SCCABG(n_clusters=1, **settings).fit_predict(TOY_1)).size == 1
    single = cs.SCCABG(n_clusters=3, **settings).fit([[0], [0], [1], [2], [2], [2]])
    assert same_partition(single.labels_, [0, 0, 1, 2, 2, 2])
    if mode == "standard":
        many = [[0, 0], [0, 1], [1, 0], [1, 1], [None, 0], [None, 1]]  # 6 distinct objects, 4 base clusters
        assert np.unique(cs.SCCABG(n_clusters=5).fit_predict(many)).size == 5


def test_variants_differ_where_they_should(seed):
    labels, _ = planted(seed, n=60, m=8, noise=0.3)
    fixed = cs.SCCABG(n_clusters=3, similarity="fixed").fit(labels)
    np.testing.assert_allclose(fixed.cluster_similarity_, cs.Ensemble(labels).contingency())
    plain = cs.SCCABG(n_clusters=3, similarity="fixed", weighting="none").fit(labels)
    assert (plain.reliability_ == 1).all()
    assert fixed.reliability_.min() < 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"similarity_weight": 0.0},
            r"similarity_weight=0.0 is not valid: expected None or a number of at least 1e-20 and at most "
            r"1e\+20.",
        ),
        (
            {"similarity": "learned"},
            "similarity='learned' is not valid: expected one of 'adaptive', 'fixed'.",
        ),
        ({"mode": "paper"}, "mode='paper' is not valid: expected one of 'standard', 'authors'."),
    ],
)
def test_messages(settings, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        cs.SCCABG(n_clusters=2, **settings).fit(TOY_1)


def test_a_graph_without_edges_is_refused():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    labels = np.array([np.where(rng.random(60) < 0.2, rng.integers(0, 3, 60), truth) for _ in range(6)]).T
    with pytest.raises(InputError, match=r"similarity_weight=1e\+08 leaves no edge.*Lower similarity_weight"):
        cs.SCCABG(3, similarity_weight=1e8).fit(labels)


def test_a_graph_that_loses_its_last_edge_is_taken_back():
    """Random labels, at the default similarity_weight, which is not to blame; also where rounds run out."""
    labels = np.stack([np.random.default_rng(i).integers(0, 3, 300) for i in range(3)], axis=1)
    for max_iter in (2, 5, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = cs.SCCABG(2, max_iter=max_iter).fit(labels)
        assert np.unique(model.labels_).tolist() == [0, 1]
        assert model.bipartite_graph_.nnz
        assert model.history_[-1]["pieces"] == model.n_pieces_ > 0


def test_the_last_entry_of_the_history_is_the_graph_returned():
    """Also where rounds run out."""
    labels, _ = planted(noise=0.4)
    for max_iter in (2, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cs.SCCABG(3, max_iter=max_iter, first_trust=0.7).fit(labels)
        assert len(model.history_) == max_iter
        assert model.history_[-1]["pieces"] == model.n_pieces_
        assert model.converged_ == (model.n_pieces_ == 3)


def test_integers_of_a_narrow_type_are_numbers_like_others():
    labels, _ = planted(noise=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = cs.SCCABG(3, overlap_weight=np.int8(100)).fit(labels)
    assert np.unique(model.labels_).size == 3
