"""What someone who knows scikit-learn tries first."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import consilience as cs
from consilience import _register
from consilience._base import progress
from consilience._kernels.runtime import memory
from consilience.errors import ConsilienceWarning, InputError, NotEnoughMemoryError

X, TRUTH = make_blobs(90, centers=3, cluster_std=0.6, random_state=1)
L = cs.generate.kmeans(X, n_clusters=4, n_clusterings=8, random_state=0)
every_estimator = pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)


# n_clusters forgotten --------------------------------------------------------------------------------------


def data_for(entry):
    if entry in _register.CONSENSUS:
        return L
    return X if entry in _register.FEATURES else [X[::2], X[1::2]]


@every_estimator
@pytest.mark.parametrize("n_clusters", [None, "auto"])
def test_forgotten_n_clusters_is_refused(entry, n_clusters):
    model = entry.load()(n_clusters)
    if entry in _register.FEATURES:  # chooses it: tests/choosing/test_auto.py
        return
    remedy = r"cs\.choose_k\((ensemble=)?\w+\) estimates one"
    with pytest.raises(
        InputError,
        match=rf"^n_clusters={n_clusters!r}: {entry.name} needs the number of clusters\. Write "
        rf"{entry.name}\(n_clusters=3\), for instance; {remedy}\.$",
    ):
        model.fit(data_for(entry))
    assert not hasattr(model, "labels_")


@every_estimator
def test_what_every_fitted_estimator_says(entry):
    params = {"n_clusterings": 5} if entry in _register.FEATURES else {}
    model = entry.load()(3, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data_for(entry))
    assert model.n_clusters_ == np.unique(model.labels_).size == 3
    assert model.cluster_sizes_.tolist() == np.bincount(model.labels_).tolist()
    assert isinstance(model.messages_, list)
    lines = model.summary().splitlines()
    assert lines[0].startswith(entry.name)
    assert "3 clusters, 90 objects" in lines[0]
    assert str(model.cluster_sizes_[0]) in lines[1]
    assert model.get_params()["n_jobs"] == -1


def test_default_number_of_clusters():
    assert cs.ConsensusClustering().n_clusters == "auto"
    model = cs.MDEC("auto", n_clusterings=5, random_state=0).fit(X)
    assert model.n_clusters_ == model.study_.n_clusters == 3


def test_n_clusters_of_a_consensus_estimator_counts():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConsilienceWarning)
        assert cs.ConsensusClustering(method=cs.consensus.LWEA(3), random_state=0).fit(X).labels_.max() == 2
        assert (
            cs.ConsensusClustering(4, method=cs.consensus.LWEA(3), random_state=0).fit(X).labels_.max() == 3
        )


# score -----------------------------------------------------------------------------------------------------


def test_score_is_the_agreement_and_ignores_y():
    model = cs.ConsensusClustering(3, n_clusterings=5, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(model.consensus_nmi_, rel=1e-9)
    assert model.score(X, TRUTH) == model.score(X)
    assert model.consensus_nmi_ == model.method_.consensus_nmi_
    weights = np.where(TRUTH == 0, 5.0, 0.0)
    weights[:40] = 1.5
    model.fit(X, sample_weight=weights)
    assert model.score(X, sample_weight=weights) == pytest.approx(model.consensus_nmi_, rel=1e-9)
    assert model.score(X) != pytest.approx(model.consensus_nmi_, rel=1e-3)
    np.testing.assert_allclose(model.cluster_sizes_, np.bincount(model.labels_, weights))


def test_cross_validation_runs_and_finer_answers_score_no_lower():
    """Why the score cannot choose a number of clusters: base clusterings have four each."""
    found = [cross_val_score(cs.consensus.EvidenceAccumulation(c), L.labels, cv=3).mean() for c in (2, 4)]
    assert found[0] < found[1]
    assert np.isfinite(
        cross_val_score(cs.ConsensusClustering(3, n_clusterings=5, random_state=0), X, cv=2)
    ).all()


def test_grid_search_over_parameters():
    everything = np.arange(len(X))
    search = GridSearchCV(
        cs.consensus.EvidenceAccumulation(3),
        {"linkage": ["average", "single"], "min_cluster_size": [None, 10]},
        cv=[(everything, everything)],
    ).fit(L.labels)
    best = max(search.cv_results_["mean_test_score"])
    assert search.best_estimator_.consensus_nmi_ == pytest.approx(best, rel=1e-9)


# What is reached for first ---------------------------------------------------------------------------------


def test_frames_are_of_the_library_of_the_input():
    polars = pytest.importorskip("polars")
    names = [f"object {i}" for i in range(90)]
    labels = pd.DataFrame(L.labels, index=names)
    frame = cs.consensus.EvidenceAccumulation(3).fit(labels).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == names
    model = cs.consensus.EvidenceAccumulation(3).fit(polars.from_pandas(labels))
    assert isinstance(model.to_frame(), polars.DataFrame)
    assert model.to_frame().columns == ["label", "confidence"]
    assert model.to_frame()["label"].to_list() == model.labels_.tolist()
    whole = cs.ConsensusClustering(3, n_clusterings=5, random_state=0).fit(polars.DataFrame(X))
    assert isinstance(whole.to_frame(), polars.DataFrame)
    assert isinstance(cs.consensus.EvidenceAccumulation(3).fit(L).to_frame(), pd.DataFrame)


def test_a_frame_has_the_objects_of_weight_zero():
    weights = np.ones(90)
    weights[::7] = 0
    model = cs.ConsensusClustering(3, method="lwea", n_clusterings=5, random_state=0)
    model.fit(X, sample_weight=weights)
    assert model.to_frame()["label"].tolist() == model.labels_.tolist()
    assert model.consensus_matrix().shape == (90, 90)
    assert model.linkage_matrix().shape == (89, 4)
    assert model.method_.labels_.size == 77
    assert f"90 objects from {model.ensemble_.n_clusterings}" in model.summary()


def test_consensus_matrix_counts_as_the_method_does():
    plain = cs.consensus.EvidenceAccumulation(3).fit(L).consensus_matrix()
    np.testing.assert_allclose(plain, L.coassociation())
    weighted = cs.consensus.LWEA(3).fit(L)
    A = L.coassociation(cluster_weights=weighted.cluster_reliability_)
    np.fill_diagonal(A, 1)
    np.testing.assert_allclose(weighted.consensus_matrix(), A)
    trusted = cs.consensus.WEAC(3).fit(L)
    np.testing.assert_allclose(
        trusted.consensus_matrix(), L.coassociation(clustering_weights=trusted.clustering_weights_)
    )
    model = cs.ConsensusClustering(3, generator=lambda X: L, method="weac").fit(X)
    np.testing.assert_array_equal(model.consensus_matrix(), trusted.consensus_matrix())


def test_a_consensus_matrix_that_does_not_fit_is_refused(monkeypatch):
    model = cs.consensus.EvidenceAccumulation(3).fit(L)
    monkeypatch.setattr(memory, "available_memory", lambda: 1000.0)
    with pytest.raises(NotEnoughMemoryError, match="A consensus matrix of 90 x 90 objects"):
        model.consensus_matrix()


def test_a_sampled_tree_is_refused():
    model = cs.consensus.LWEA(3, max_samples=20).fit(L)
    if model.distinct_.n_samples > 20:
        with pytest.raises(InputError, match=r"LWEA linked a sample .* max_samples=None"):
            model.linkage_matrix()
    assert model.set_params(max_samples=None).fit(L).linkage_matrix().shape == (89, 4)


def test_report_of_a_model(tmp_path):
    model = cs.consensus.EvidenceAccumulation(3).fit(L)
    model.report(tmp_path / "page.html", title="Ours")
    assert "Ours" in (tmp_path / "page.html").read_text()
    cs.ConsensusClustering(3, n_clusterings=5, random_state=0).fit(X).report(tmp_path / "whole.html", X)
    assert (tmp_path / "whole.html").stat().st_size > 10_000


@pytest.mark.parametrize("table", [X, X.astype(np.float32), pd.DataFrame(X), cs.io.Features(X)])
def test_features_in_a_consensus_method_are_refused_by_name(table):
    with pytest.raises(InputError, match="ConsensusClustering"):
        cs.consensus.LWGP(3).fit(table)


# Progress --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verbose", "shown"), [(None, None), (True, True), (False, False), (1, True), (0, False)]
)
def test_verbose_is_the_switch_of_progress(verbose, shown):
    seen = []

    def watch(features):
        seen.append(progress._shown)
        return [KMeans(3, n_init=1, random_state=i).fit_predict(features) for i in range(3)]

    cs.ConsensusClustering(3, generator=watch, verbose=verbose).fit(X)
    assert seen == [shown]
    assert progress._shown is None
    with progress.progress_shown(False):  # what is set around it holds unless verbose says otherwise
        cs.ConsensusClustering(3, generator=watch, verbose=verbose).fit(X)
    assert seen[1] == (False if verbose is None else shown)
    with pytest.raises(InputError, match="verbose='yes' is not valid"):
        cs.ConsensusClustering(3, verbose="yes").fit(X)


# Generators ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generator", "names"),
    [
        (KMeans(3, n_init=1), [f"KMeans {i}" for i in range(1, 21)]),
        (GaussianMixture(3), [f"GaussianMixture {i}" for i in range(1, 21)]),
        (make_pipeline(StandardScaler(), KMeans(3, n_init=1)), [f"Pipeline {i}" for i in range(1, 21)]),
        (AgglomerativeClustering(3), ["AgglomerativeClustering"]),
        ([("a", KMeans(3)), ("b", AgglomerativeClustering(3))], ["a", "b"]),
        ({"a": KMeans(3), "b": AgglomerativeClustering(3)}, ["a", "b"]),
        ([("a", KMeans(3)), AgglomerativeClustering(3)], ["a", "AgglomerativeClustering"]),
    ],
)
def test_clusterers_as_generator(generator, names):
    model = cs.ConsensusClustering(3, generator=generator, random_state=0).fit(X)
    assert model.ensemble_.clustering_names == names
    assert model.labels_.max() == 2


def test_a_single_clusterer_as_often_as_asked_for():
    model = cs.ConsensusClustering(3, generator=KMeans(3, n_init=1), n_clusterings=4, random_state=0).fit(X)
    assert len({recipe["seed"] for recipe in model.ensemble_.recipes}) == 4


def test_a_class_is_no_clusterer():
    with pytest.raises(
        InputError, match=r"generator=<class .*KMeans'> is not valid: .* or a clusterer \(an instance\)"
    ):
        cs.ConsensusClustering(3, generator=KMeans).fit(X)


def test_callables_get_a_seed_if_they_take_one():
    seeds = []

    def plain(features):
        return [KMeans(3, n_init=1).fit_predict(features)] * 3

    def seeded(features, *, random_state):
        seeds.append(random_state)
        return plain(features)

    def anything(features, **options):
        seeds.append(options["random_state"])
        return plain(features)

    for generator in (plain, seeded, anything, lambda features: np.column_stack(plain(features))):
        assert cs.ConsensusClustering(3, generator=generator, random_state=0).fit(X).labels_.max() == 2
    assert len(set(seeds)) == 1
    own = cs.ConsensusClustering(3, generator=seeded, generator_params={"random_state": 7}).fit(X)
    assert own.ensemble_.n_clusterings == 3
    assert seeds[-1] == 7


def test_many_vectors_of_few_objects_from_a_callable():
    few = X[:6]
    model = cs.ConsensusClustering(2, generator=lambda features: [np.arange(6) % 2] * 30)
    assert model.fit(few).ensemble_.shape == (6, 30)


def test_objects_that_no_member_saw_name_remedies_that_work():
    params = {"generator": "bagging", "random_state": 0}
    with pytest.raises(
        InputError,
        match=r"seen by none of the 2 base clusterings.*n_clusterings=2.*'sample_fraction'.*'unseen': "
        r"'nearest'",
    ):
        cs.ConsensusClustering(3, n_clusterings=2, generator_params={"sample_fraction": 0.5}, **params).fit(X)
    for remedy in (
        {"n_clusterings": 30, "generator_params": {"sample_fraction": 0.5}},
        {"n_clusterings": 2, "generator_params": {"sample_fraction": 1.0, "bootstrap": False}},
        {"n_clusterings": 2, "generator_params": {"sample_fraction": 0.5, "unseen": "nearest"}},
    ):
        assert cs.ConsensusClustering(3, **params, **remedy).fit(X).labels_.size == 90


# Names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("eac", "EvidenceAccumulation"),
        ("EAC", "EvidenceAccumulation"),
        ("evidence_accumulation", "EvidenceAccumulation"),
        ("cokm", "CoassociationKMeans"),
        ("coassociation_kmeans", "CoassociationKMeans"),
        ("LWEA", "LWEA"),
    ],
)
def test_short_names(name, cls):
    assert cs.consensus.method(name).__name__ == cls
    model = cs.ConsensusClustering(3, method=name, random_state=0).fit(X)
    assert type(model.method_).__name__ == cls


@pytest.mark.parametrize("name", ["random-subspace", "random_features", "RandomFeatures"])
def test_generators_in_other_spellings(name):
    assert cs.generate.generator(name).name == "random-features"


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("mdec", "hierarchical"),
        ("MDEC_HC", "hierarchical"),
        ("mdec-sc", "spectral"),
        ("mdec-bg", "bipartite"),
    ],
)
def test_mdec_by_name_is_mdec(name, way):
    named = cs.ConsensusClustering(3, method=name, n_clusterings=10, random_state=0).fit(X)
    itself = cs.MDEC(3, method=way, n_clusterings=10, random_state=0).fit(X)
    np.testing.assert_array_equal(named.labels_, itself.labels_)
    assert named.ensemble_ == itself.ensemble_
    again = cs.MDEC(3, method=name, n_clusterings=10, random_state=0).fit(X)
    np.testing.assert_array_equal(again.labels_, itself.labels_)


def test_mdec_by_name_takes_no_other_members_and_the_remedies_work():
    with pytest.raises(
        InputError,
        match="come from metric-subspace: leave out generator='kmeans', or choose method='lwea'",
    ):
        cs.ConsensusClustering(3, method="mdec", generator="kmeans").fit(X)
    for params in (
        {"method": "mdec"},
        {"method": "mdec", "generator": "metric_subspace"},
        {"method": "lwea", "generator": "kmeans"},
    ):
        assert cs.ConsensusClustering(3, n_clusterings=5, random_state=0, **params).fit(X).labels_.max() == 2


# Advice elsewhere ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["anmi", "sample_stability", "cluster_stability"])
def test_swapped_arguments_are_said_and_swapping_helps(score):
    measure = getattr(cs.metrics, score)
    with pytest.raises(
        InputError, match=r"labels is an Ensemble of 8 clusterings.*Swap the arguments: \(ensemble, labels\)"
    ):
        measure(TRUTH, L)
    measure(L, TRUTH)


def test_a_report_of_a_multitask_method_says_where_its_answer_is():
    model = cs.SPMTC(2, random_state=0).fit([X[::2], X[1::2]])
    with pytest.raises(
        InputError, match="SPMTC is a multi-task method, which combines no base clusterings"
    ) as info:
        cs.report(model)
    for name in ("labels_", "confidence_", "task_labels_", "history_"):
        assert name in str(info.value)
        assert hasattr(model, name)
    from consilience._results.view import Fitted

    rows = np.concatenate([np.arange(90)[::2], np.arange(90)[1::2]])
    assert Fitted.from_ensemble(L.take(rows), model.labels_).n_clusters == 2
