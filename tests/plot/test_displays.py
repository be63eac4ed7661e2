"""The numbers behind the displays against brute force, and that every display draws."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import consilience as cs
from consilience._results.view import Fitted, read_terms
from consilience.errors import InputError
from consilience.plot._coassociation import cell_counts
from consilience.plot._embedding import sample, scale_coassociation, seriate
from consilience.plot.style import needs_log


def some_labels(rng, n=60, m=7, missing=0.2):
    """Noisy copies of three groups, with gaps."""
    groups = np.arange(n) % 3
    labels = np.where(rng.random((n, m)) < 0.7, groups[:, None], rng.integers(0, 5, (n, m)))
    labels[rng.random((n, m)) < missing] = -1
    labels[:, 0] = groups  # every object is seen at least once
    return labels


@pytest.fixture
def ensemble(seed):
    return cs.Ensemble(some_labels(np.random.default_rng(seed)), sample_names=[f"s{i}" for i in range(60)])


@pytest.fixture
def model(ensemble):
    return cs.consensus.EvidenceAccumulation(n_clusters=4).fit(ensemble)


def brute_blocks(labels, bins, b):
    """Eq. (3) by looping over pairs of different objects."""
    together, seen = np.zeros((b, b)), np.zeros((b, b))
    for p in range(len(labels)):
        for q in range(len(labels)):
            if p != q:
                both = (labels[p] >= 0) & (labels[q] >= 0)
                together[bins[p], bins[q]] += (both & (labels[p] == labels[q])).sum()
                seen[bins[p], bins[q]] += both.sum()
    return np.where(seen > 0, together / np.maximum(seen, 1), np.nan)


def test_blocks_are_mean_coassociation(ensemble, seed):
    bins = np.random.default_rng(seed).integers(0, 5, 60)
    found = Fitted.from_ensemble(ensemble, np.zeros(60)).against(bins, 5).between
    np.testing.assert_allclose(found, brute_blocks(ensemble.labels, bins, 5), atol=1e-12)


def test_stability_is_that_of_the_metrics(ensemble, model):
    fitted = Fitted.from_estimator(model)
    expected = cs.metrics.cluster_stability(ensemble, model.labels_)
    np.testing.assert_allclose(fitted.evidence.stability, expected, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(fitted.evidence.between), expected, atol=1e-12)


def test_togetherness_is_the_mean_over_pairs_of_objects(seed):
    labels = some_labels(np.random.default_rng(seed), missing=0)
    model = cs.consensus.EvidenceAccumulation(n_clusters=4).fit(labels)
    A = cs.Ensemble(labels).coassociation()
    i, j = np.triu_indices(60, 1)
    same = model.labels_[i] == model.labels_[j]
    within, across = Fitted.from_estimator(model).togetherness
    assert within == pytest.approx(A[i, j][same].mean())
    assert across == pytest.approx(A[i, j][~same].mean())


def test_weights_count_as_copies(seed):
    rng = np.random.default_rng(seed)
    labels = some_labels(rng, n=30, missing=0.1)
    copies = rng.integers(1, 4, 30)
    weighted = cs.consensus.EvidenceAccumulation(n_clusters=3).fit(labels, sample_weight=copies)
    repeated = Fitted.from_ensemble(np.repeat(labels, copies, axis=0), np.repeat(weighted.labels_, copies))
    found = Fitted.from_estimator(weighted).evidence.between
    np.testing.assert_allclose(found, repeated.evidence.between, atol=1e-9)


def test_confidence_of_any_labels_is_that_of_the_methods(ensemble, model):
    fitted = Fitted.from_estimator(model)
    np.testing.assert_allclose(fitted.evidence.confidence, model.confidence_, atol=1e-12)
    elsewhere = Fitted.from_ensemble(ensemble, model.labels_)
    np.testing.assert_allclose(elsewhere.confidence, model.confidence_, atol=1e-12)


def test_support_is_the_membership_in_the_own_cluster(model):
    fitted = Fitted.from_estimator(model)
    rows = fitted.evidence.memberships(np.arange(60))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    np.testing.assert_allclose(rows[np.arange(60), model.labels_], fitted.support, atol=1e-12)


# Co-association --------------------------------------------------------------------------------------------


def test_small_heat_map_is_the_matrix_itself(ensemble, model):
    display = cs.plot.CoassociationDisplay.from_estimator(model)
    A = ensemble.coassociation()[np.ix_(display.order, display.order)]
    counts = ensemble.cooccurrence_counts()[np.ix_(display.order, display.order)]
    np.testing.assert_allclose(display.values[counts > 0], A[counts > 0], atol=1e-12)
    assert np.isnan(display.values[counts == 0]).all()
    assert (np.diff(display.cell_cluster) >= 0).all()
    np.testing.assert_array_equal(model.labels_[display.order], display.cell_cluster)


def test_order_puts_parts_of_a_cluster_side_by_side():
    """One consensus cluster of two parts that are never together: each part must be one run."""
    halves = np.tile([0, 1], 20)
    display = cs.plot.CoassociationDisplay.from_ensemble(
        np.column_stack([halves, np.zeros(40, int), halves]), np.zeros(40, int)
    )
    assert np.abs(np.diff(halves[display.order])).sum() == 1


def test_large_heat_map_needs_no_square_memory():
    rng = np.random.default_rng(0)
    n = 50_000
    truth = rng.integers(0, 8, n)
    labels = np.column_stack([np.where(rng.random(n) < 0.9, truth, rng.integers(0, 8, n)) for _ in range(8)])
    ensemble = cs.Ensemble(labels)
    ensemble.distinct()
    tracemalloc.start()
    display = cs.plot.CoassociationDisplay.from_ensemble(ensemble, truth, max_cells=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # 8 n^2 would be 20 GB
    assert len(display.values) <= 100
    assert display.cell_size.sum() == n
    assert np.unique(display.cell_cluster).size == 8
    inside = display.cell_cluster[:, None] == display.cell_cluster
    assert display.values[inside].mean() > 0.7 > 0.2 > display.values[~inside].mean()


@pytest.mark.parametrize(
    ("sizes", "most"), [([3, 2], 10), ([1000, 1, 1], 50), ([70, 20, 10], 30), ([1] * 40, 40)]
)
def test_cells_cover_every_cluster(sizes, most):
    sizes = np.array(sizes)
    cells = cell_counts(sizes, most)
    assert (cells >= 1).all()
    assert (cells <= sizes).all()
    assert cells.sum() <= most or sizes.sum() <= most


def test_more_clusters_than_cells_still_gives_a_picture():
    display = cs.plot.CoassociationDisplay.from_ensemble(
        np.column_stack([np.arange(50) // 2] * 2), np.arange(50), max_cells=10
    )
    assert display.values.shape == (10, 10)
    assert display.cell_size.sum() == 50


# Agreement -------------------------------------------------------------------------------------------------


def test_agreement_is_that_of_the_metrics(ensemble, model):
    display = cs.plot.AgreementDisplay.from_estimator(model)
    for i in range(ensemble.n_clusterings):
        base = ensemble.labels[:, i]
        assert display.nmi[i] == pytest.approx(cs.metrics.nmi(model.labels_, base, missing="ignore"))
        assert display.ari[i] == pytest.approx(cs.metrics.ari(model.labels_, base, missing="ignore"))
        table = display.table[display.offsets[i] : display.offsets[i + 1]]
        expected = [[((base == a) & (model.labels_ == b)).sum() for b in range(4)] for a in range(len(table))]
        np.testing.assert_array_equal(table, expected)


def test_alluvial_loses_nobody(model):
    display = cs.plot.AlluvialDisplay.from_estimator(model, max_clusters=3)
    assert display.stages[-1] == "consensus"
    for flow, left, right in zip(display.flows, display.nodes, display.nodes[1:]):
        np.testing.assert_allclose(flow.sum(axis=1), left)
        np.testing.assert_allclose(flow.sum(axis=0), right)
        assert flow.sum() == pytest.approx(60)
    assert any("smaller" in name for names in display.node_names for name in names)
    assert any("not seen" in names for names in display.node_names)


def test_bands_are_the_flows_of_the_display(model):
    """The page draws what the display draws; consensus clusters beyond the second are taken together."""
    for i in range(7):
        display = cs.plot.AlluvialDisplay.from_estimator(model, clusterings=[i], max_clusters=3)
        bands = cs.plot.AlluvialDisplay.bands(Fitted.from_estimator(model), i, 3, max_groups=2)
        flows = dict(zip(display.node_names[0], display.flows[0]))
        assert list(flows)[: len(bands.names)] == bands.names
        for name, flow in zip(bands.names, bands.flows):
            np.testing.assert_allclose(flow, [*flows[name][:2], flows[name][2:].sum()])


def test_unknown_clustering_is_refused(model):
    with pytest.raises(InputError, match="no clustering 7: they are counted from 0 to 6"):
        cs.plot.AlluvialDisplay.from_estimator(model, clusterings=[7])
    with pytest.raises(InputError, match="clustering=9 is not valid"):
        cs.plot.AgreementDisplay.from_estimator(model).plot(clustering=9)


def test_weights_are_what_the_method_learned(ensemble, model):
    with pytest.raises(InputError, match="EvidenceAccumulation learns no weights"):
        cs.plot.WeightsDisplay.from_estimator(model)
    with pytest.raises(InputError, match="SCCABG learns no weights"):
        cs.plot.WeightsDisplay.from_estimator(cs.SCCABG(n_clusters=3, weighting="none").fit(ensemble))
    for method in (
        cs.SPCE(3, threshold=0.1),
        cs.SCCABG(3),
        cs.consensus.LWEA(3),
        cs.consensus.LWSC(3, random_state=0),
        cs.consensus.LWGP(3),
    ):
        display = cs.plot.WeightsDisplay.from_estimator(method.fit(ensemble))
        np.testing.assert_array_equal(display.weights, method.clustering_weights_)


def test_trust_of_reliabilities_is_their_mean_over_objects(ensemble):
    """By the reliability of the cluster, or of the edge, that each object is in."""
    for model in (cs.consensus.LWEA(3).fit(ensemble), cs.SCCABG(3).fit(ensemble)):
        means = []
        for i, column in enumerate(ensemble.labels.T):
            seen = np.flatnonzero(column >= 0)
            cluster = ensemble.offsets[i] + column[seen]
            own = (
                model.edge_reliability_[seen, cluster]
                if hasattr(model, "edge_reliability_")
                else model.cluster_reliability_[cluster]
            )
            means.append(own.mean())
        np.testing.assert_allclose(model.clustering_weights_, np.array(means) / np.sum(means), rtol=1e-6)


# Confidence and history ------------------------------------------------------------------------------------


def test_confidence_counts_everyone_once(model):
    model.confidence_ = np.linspace(0, 1, 60)
    display = cs.plot.ConfidenceDisplay.from_estimator(model, bins=10)
    np.testing.assert_array_equal(display.sizes, np.bincount(model.labels_))
    np.testing.assert_array_equal(display.counts.sum(axis=0), np.histogram(model.confidence_, 10, (0, 1))[0])
    assert display.quartiles[0, 1] == pytest.approx(np.median(model.confidence_[model.labels_ == 0]))


def test_reliability_by_hand():
    labels, truth = [0, 0, 0, 1, 1, 2], ["a", "a", "b", "b", "b", "a"]
    display = cs.plot.CalibrationDisplay.from_labels(
        labels, [0.95, 0.9, 0.6, 0.7, 1.0, 0.1], truth, edges=[0, 0.6, 0.9, 1]
    )
    # 0 is matched to a and 1 to b; 2 has no class left. A value on an edge is in the bin above it, 1 in the
    # last.
    assert display.counts.tolist() == [1, 2, 3]
    np.testing.assert_allclose(display.right, [0, 1 / 2, 1])
    np.testing.assert_allclose(display.confidence, [0.1, 0.65, 0.95])
    assert display.error == pytest.approx((0.1 + 2 * 0.15 + 3 * 0.05) / 6)


def test_reliability_counts_everyone_with_a_class(model, seed):
    truth = np.random.default_rng(seed).integers(-1, 3, 60)  # -1: not known
    display = cs.plot.CalibrationDisplay.from_estimator(model, truth, bins=7)
    assert display.counts.sum() == (truth >= 0).sum()
    right = np.nansum(display.counts * display.right) / display.counts.sum()
    assert right == pytest.approx(cs.metrics.accuracy(truth, model.labels_, missing="ignore"))
    assert np.isnan(display.right[display.counts == 0]).all()
    assert 0 <= display.error <= 1


def test_reliability_of_a_pipeline_and_of_several_tasks():
    X = np.random.default_rng(0).normal(size=(40, 3)) + 4 * (np.arange(40) % 2)[:, None]
    pipeline = cs.ConsensusClustering(n_clusters=2, n_clusterings=5, random_state=0).fit(X)
    tasks = cs.multitask.ASI(2, random_state=0).fit(np.abs(X), task=np.repeat([0, 1], 20))
    for fitted in (pipeline, tasks):
        assert cs.plot.CalibrationDisplay.from_estimator(fitted, np.arange(40) % 2).counts.sum() == 40


def test_reliability_says_what_it_expects(model):
    from sklearn.cluster import KMeans
    from sklearn.exceptions import NotFittedError

    display = cs.plot.CalibrationDisplay
    with pytest.raises(NotFittedError):
        display.from_estimator(cs.consensus.EvidenceAccumulation(2), [0, 1])
    with pytest.raises(InputError, match=r"KMeans has no labels_ and confidence_.*from_labels"):
        display.from_estimator(KMeans(2, n_init=1).fit(np.arange(10.0)[:, None]), np.zeros(10))
    with pytest.raises(InputError, match=r"confidence has shape \(60,\) for the 3 objects of labels_true"):
        display.from_estimator(model, [0, 1, 2])
    with pytest.raises(InputError, match=r"confidence holds 1\.5: expected values between 0 and 1"):
        display.from_labels([0, 1], [0.5, 1.5], [0, 1])
    with pytest.raises(InputError, match="labels_true gives no object a class"):
        display.from_labels([0, 1], [0.5, 0.5], [-1, -1])
    for edges in ([0, 0.5], [0, 0.5, 0.5, 1], [1], [[0, 1]]):
        with pytest.raises(InputError, match="expected numbers that rise from 0 to 1"):
            display.from_labels([0, 1], [0.5, 0.5], [0, 1], edges=edges)
    for bins in (0, 2.5, True):
        with pytest.raises(InputError, match="expected a whole number from 1 on"):
            display.from_labels([0, 1], [0.5, 0.5], [0, 1], bins=bins)


def test_history_of_numbers_and_of_dicts():
    assert read_terms([3, 2.5])["objective"].tolist() == [3, 2.5]
    terms = read_terms([{"loss": 1, "note": "x"}, {"loss": np.float32(2), "rank": True}, {"loss": None}])
    assert list(terms) == ["loss", "rank"]
    np.testing.assert_array_equal(terms["loss"], [1, 2, np.nan])
    assert not read_terms([])
    assert needs_log(np.array([1, 1e4]))
    assert not needs_log(np.array([-1, 1e4]))


def test_history_says_when_there_is_none(model):
    with pytest.raises(InputError, match="EvidenceAccumulation keeps no history"):
        cs.plot.ConvergenceDisplay.from_estimator(model)
    with pytest.raises(InputError, match="EvidenceAccumulation is not self-paced"):
        cs.plot.PacingDisplay.from_estimator(model)
    model.history_ = [1.0, 0.5]
    with pytest.raises(InputError, match="has no 'loss'; it has objective"):
        cs.plot.ConvergenceDisplay.from_estimator(model).plot(terms="loss")


def test_pacing_from_pairs_and_from_edges(ensemble):
    model = cs.SPCE(n_clusters=3, threshold=0.1).fit(ensemble)
    display = cs.plot.PacingDisplay.from_estimator(model)
    # The pace term is -lambda times the sum of the pairs' weights, and there are 60 x 60 pairs.
    pace = [entry["pace"] / -entry["lambda"] / 3600 for entry in model.history_]
    np.testing.assert_allclose(display.share, pace)
    stages = [entry["r"] for entry in model.history_]
    np.testing.assert_array_equal(np.diff(display.stage), np.diff(stages) != 0)
    assert (display.stage[0], display.stage[-1]) == (1, 5)
    assert display.what == "pairs of objects"
    model = cs.SCCABG(n_clusters=3).fit(ensemble)
    display = cs.plot.PacingDisplay.from_estimator(model)
    np.testing.assert_allclose(display.share, [entry["mean_W"] for entry in model.history_])
    assert display.what == "edges between objects and base clusters"


# Embedding and comparison ----------------------------------------------------------------------------------


def test_scaling_is_that_of_coassociation(seed):
    """Without gaps, inner products of all dimensions are the doubly centered co-association.

    Two dimensions are its best part.
    """
    labels = some_labels(np.random.default_rng(seed), n=40, missing=0)
    ensemble = cs.Ensemble(labels)
    distinct = ensemble.distinct()
    points, explained = scale_coassociation(distinct)
    center = np.eye(40) - 1 / 40
    B = center @ ensemble.coassociation() @ center * ensemble.n_clusterings
    values = np.sort(np.linalg.eigvalsh(B))[::-1]
    np.testing.assert_allclose(explained, values[:2] / values.sum(), atol=1e-9)
    np.testing.assert_allclose(
        np.sort((points[distinct.inverse] ** 2).sum(axis=0))[::-1], values[:2], atol=1e-8
    )


def test_features_give_principal_components(model, seed):
    from sklearn.decomposition import PCA

    X = np.random.default_rng(seed).normal(size=(60, 5))
    display = cs.plot.EmbeddingDisplay.from_estimator(model, X)
    np.testing.assert_allclose(np.abs(display.points), np.abs(PCA(2).fit_transform(X)), atol=1e-8)
    assert "principal component 1" in display.axis_names()[0]
    one = cs.plot.EmbeddingDisplay.from_estimator(model, X[:, :1])
    assert one.points.shape == (60, 2)
    with pytest.raises(InputError, match="X has 59 rows, but the model has 60 objects"):
        cs.plot.EmbeddingDisplay.from_estimator(model, X[:-1])


def test_circle_keeps_sure_objects_at_their_cluster():
    truth = np.repeat(np.arange(6), 10)
    display = cs.plot.EmbeddingDisplay.from_ensemble(np.column_stack([truth] * 3), truth)
    assert display.what == "circle"
    middles = np.array([display.points[truth == j].mean(axis=0) for j in range(6)])
    distance = np.linalg.norm(display.points[:, None] - middles, axis=2)
    np.testing.assert_array_equal(distance.argmin(axis=1), truth)
    assert len(np.unique(display.points.round(6), axis=0)) == 60


def test_seriation_visits_all_and_likes_neighbors():
    similarity = np.array([[1, 0.1, 0.9, 0], [0.1, 1, 0.2, 0.8], [0.9, 0.2, 1, 0.1], [0, 0.8, 0.1, 1]])
    assert seriate(similarity).tolist() == [0, 2, 1, 3]


def test_sample_is_in_proportion_but_leaves_nobody_out(seed):
    labels = np.repeat([0, 1, 2], [9000, 990, 10])
    index = sample(labels, np.bincount(labels), 500, np.random.default_rng(seed))
    shown = np.bincount(labels[index])
    assert shown[2] == 10
    assert 400 < shown[0] <= 460
    assert (np.diff(index) > 0).all()


def test_comparison(ensemble, model):
    other = cs.consensus.EvidenceAccumulation(n_clusters=3).fit(ensemble)
    truth = np.arange(60) % 3
    display = cs.plot.ComparisonDisplay.from_estimators([model, other], labels_true=truth)
    assert display.names == ["EvidenceAccumulation 1", "EvidenceAccumulation 2"]
    assert display.ari[0, 1] == pytest.approx(cs.metrics.ari(other.labels_, model.labels_))
    assert display.scores["EvidenceAccumulation 2"]["accuracy"] == pytest.approx(
        cs.metrics.accuracy(truth, other.labels_)
    )
    with pytest.raises(InputError, match="different numbers of objects"):
        cs.plot.ComparisonDisplay.from_estimators(
            [model, cs.consensus.EvidenceAccumulation(2).fit([[0], [0], [1]])]
        )


# Doors and drawing -----------------------------------------------------------------------------------------


def test_doors_say_what_they_expect(ensemble):
    from sklearn.cluster import KMeans
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        cs.plot.ConfidenceDisplay.from_estimator(cs.consensus.EvidenceAccumulation(2))
    with pytest.raises(InputError, match=r"KMeans is not a fitted consensus method.*from_ensemble"):
        cs.plot.ConfidenceDisplay.from_estimator(KMeans(2, n_init=1).fit(np.arange(10.0)[:, None]))
    with pytest.raises(InputError, match=r"labels has shape \(3,\) for the 60 objects"):
        cs.plot.CoassociationDisplay.from_ensemble(ensemble, [0, 1, 2])


def test_a_pipeline_is_read_like_its_method():
    X = np.random.default_rng(0).normal(size=(40, 3))
    pipeline = cs.ConsensusClustering(n_clusters=3, n_clusterings=5, random_state=0).fit(X)
    a = cs.plot.CoassociationDisplay.from_estimator(pipeline).values
    np.testing.assert_array_equal(a, cs.plot.CoassociationDisplay.from_estimator(pipeline.method_).values)


@pytest.fixture(scope="module")
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_every_display_draws_into_the_axes_given(ensemble, pyplot):
    model = cs.SCCABG(n_clusters=4).fit(ensemble)  # it iterates, is self-paced and learns trust
    X = np.random.default_rng(0).normal(size=(60, 5))
    drawn = set()
    displays = {name for name in cs.plot.__all__ if name.endswith("Display")}
    for name in sorted(displays):
        cls = getattr(cs.plot, name)
        if name == "ComparisonDisplay":
            display = cls.from_estimators([model])
        elif name == "CalibrationDisplay":
            display = cls.from_estimator(model, np.arange(60) % 3)
        elif hasattr(cls, "from_study"):
            display = cls.from_study(
                cs.choose_k(cs.Ensemble(np.arange(60)[:, None] % [2, 2, 3, 3]), n_clusters=[2, 3])
            )
        else:
            display = cls.from_estimator(model, *([X] if name == "FeaturesDisplay" else []))
        figure, ax = pyplot.subplots()
        assert display.plot(ax) is display
        assert display.ax_ is ax
        assert ax.has_data() or ax.images or ax.collections, name
        assert display.plot().figure_ is not figure
        display.figure_.canvas.draw()
        drawn.add(name)
        pyplot.close("all")
    assert drawn == displays


def test_embedding_draws_by_confidence_and_by_nothing_else(model, pyplot):
    display = cs.plot.EmbeddingDisplay.from_estimator(model)
    display.plot(by="confidence")
    with pytest.raises(InputError, match="by='age' is not valid"):
        display.plot(by="age")


def test_numbers_need_no_plotting_library():
    code = (
        "import sys, consilience as cs; m = cs.consensus.EvidenceAccumulation(2).fit([[0, 0], [0, 1], [1, "
        "1], [1, 1]]); cs.plot.CoassociationDisplay.from_estimator(m); "
        "cs.plot.EmbeddingDisplay.from_estimator(m); print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_colors_follow_the_number_of_a_cluster():
    palette = cs.plot.style.CLUSTER_COLORS
    assert cs.plot.colors([2, 0, 12, 2.0]).tolist() == [palette[2], palette[0], palette[2], palette[2]]
    assert cs.plot.colors(["b", "a", None]).tolist() == [palette[1], palette[0], cs.plot.style.UNLABELED]
    assert cs.plot.colors(np.array([-1, -1])).tolist() == [cs.plot.style.UNLABELED] * 2


@pytest.mark.parametrize("name", [n for n in cs.plot.__all__ if hasattr(getattr(cs.plot, n), "from_fitted")])
def test_from_fitted_takes_fitted_models_too(name):
    X = np.repeat([[0.0, 1], [5, 1], [5, 9]], 8, axis=0) + np.arange(24)[:, None] / 50
    model = cs.ConsensusClustering(3, generator="kmeans", method="lwea", n_clusterings=6, random_state=0)
    display, more = getattr(cs.plot, name), (X,) if name == "FeaturesDisplay" else ()
    view = Fitted.from_estimator(model.fit(X))
    view = {"LWEA": view} if name == "ComparisonDisplay" else view
    try:
        expected = vars(display.from_fitted(view, *more)).keys()
    except InputError:  # what this method does not learn
        with pytest.raises(InputError, match="LWEA"):
            display.from_fitted(model, *more)
    else:
        assert vars(display.from_fitted(model, *more)).keys() == expected
    with pytest.raises(InputError, match="is not a fitted consensus method"):
        display.from_fitted(object(), *more)


def test_features_have_the_names_given():
    X = np.repeat([[0.0, 1], [5, 1], [5, 9]], 8, axis=0) + np.arange(24)[:, None] / 50
    model = cs.ConsensusClustering(3, generator="kmeans", n_clusterings=6, random_state=0).fit(X)
    names = ["length", "width"]
    assert cs.plot.FeaturesDisplay.from_estimator(model, X, feature_names=names).names == names
    assert cs.plot.FeaturesDisplay.from_fitted(model, X, names).names == names
    by_ensemble = cs.plot.FeaturesDisplay.from_ensemble(
        model.ensemble_, model.labels_, X, feature_names=names
    )
    assert by_ensemble.names == names
    assert "width" in cs.report(model, X, feature_names=names).html
    with pytest.raises(InputError, match="feature_names is given without X"):
        cs.report(model, feature_names=names)
