"""What someone who knows scikit-learn tries first."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import consilience as cs
from consilience import _register
from consilience._base import progress
from consilience.errors import ConsilienceWarning, InputError

X, TRUTH = make_blobs(90, centers=3, cluster_std=0.6, random_state=1)
L = cs.generate.kmeans(X, k=4, n_clusterings=8, random_state=0)
every_estimator = pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)


# n_clusters forgotten --------------------------------------------------------------------------------------


def data_for(entry):
    if entry in _register.CONSENSUS:
        return L
    return X if entry in _register.FEATURES else [X[::2], X[1::2]]


@every_estimator
def test_forgotten_n_clusters_is_said(entry):
    model = entry.load()()
    if entry.name == "ConsensusClustering":  # chooses it: tests/choosing/test_auto.py
        assert model.n_clusters == "auto"
        model.set_params(n_clusters=None)
    assert model.n_clusters is None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(data_for(entry))
    (said,) = [
        str(one.message) for one in heard if "n_clusters" in str(one.message) and "guess" in str(one.message)
    ]
    assert said == (
        f"n_clusters was not given, so {entry.name} makes 2 clusters, which is a guess. Give the number wanted: n_clusters=..."
    )
    assert np.unique(model.labels_).size == 2
    assert model.n_clusters is None  # parameters stay as given
    assert clone(model).n_clusters is None


@every_estimator
def test_a_given_n_clusters_is_not_questioned(entry):
    model = entry.load()(n_clusters=2)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model.fit(data_for(entry))
    assert not [one for one in heard if "guess" in str(one.message)]


def test_the_guess_is_the_answer_for_two():
    with pytest.warns(ConsilienceWarning, match="which is a guess"):
        guessed = cs.SCCABG().fit(L)
    asked = cs.SCCABG(2).fit(L)
    np.testing.assert_array_equal(guessed.labels_, asked.labels_)
    assert vars(guessed).keys() == vars(asked).keys()


def test_a_second_fit_leaves_nothing_of_the_first():
    model = cs.consensus.LWEA(3).fit(L).set_params(n_clusters=None)
    with pytest.warns(ConsilienceWarning, match="which is a guess"):
        assert model.fit(L).labels_.max() == 1


def test_n_clusters_of_a_consensus_estimator_counts():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConsilienceWarning)
        assert cs.ConsensusClustering(method=cs.consensus.LWEA(3), random_state=0).fit(X).labels_.max() == 2
        assert (
            cs.ConsensusClustering(4, method=cs.consensus.LWEA(3), random_state=0).fit(X).labels_.max() == 3
        )


# score -----------------------------------------------------------------------------------------------------


def test_score_with_and_without_truth():
    model = cs.ConsensusClustering(3, random_state=0).fit(X)
    assert model.score(X, TRUTH) == cs.metrics.ari(model.labels_, TRUTH)
    assert model.score(X) == pytest.approx(cs.metrics.anmi(model.labels_, model.ensemble_))
    method = cs.consensus.LWGP(3).fit(L)
    assert method.score(L, TRUTH) == cs.metrics.ari(method.labels_, TRUTH)
    assert method.score(L) == pytest.approx(cs.metrics.anmi(method.labels_, L))


def test_score_counts_weights():
    weights = np.where(TRUTH == 0, 5.0, 1.0)
    method = cs.consensus.LWGP(3).fit(L, sample_weight=weights)
    assert method.score(L) == pytest.approx(
        cs.metrics.anmi(method.labels_, cs.Ensemble(L, sample_weight=weights))
    )


def test_score_of_other_objects_says_what_to_do_and_that_works():
    model = cs.ConsensusClustering(3, random_state=0).fit(X)
    with pytest.raises(
        InputError, match="score was given 45 objects, but ConsensusClustering was fitted to 90"
    ):
        model.score(X[::2])
    assert model.fit(X[::2]).score(X[::2]) > 0
    with pytest.raises(InputError, match="score was given 4 objects"):
        cs.consensus.LWGP(3).fit(L).score([[0, 0, 1, 1]])


def test_grid_search_over_all_objects():
    everything = np.arange(len(X))
    search = GridSearchCV(
        cs.ConsensusClustering(random_state=0), {"n_clusters": [2, 3, 4]}, cv=[(everything, everything)]
    )
    assert search.fit(X, TRUTH).best_params_ == {"n_clusters": 3}


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
        match=r"seen by none of the 2 base clusterings.*n_clusterings=2.*'ratio'.*'unseen': 'nearest'",
    ):
        cs.ConsensusClustering(3, n_clusterings=2, generator_params={"ratio": 0.5}, **params).fit(X)
    for remedy in (
        {"n_clusterings": 30, "generator_params": {"ratio": 0.5}},
        {"n_clusterings": 2, "generator_params": {"ratio": 1.0, "bootstrap": False}},
        {"n_clusterings": 2, "generator_params": {"ratio": 0.5, "unseen": "nearest"}},
    ):
        assert cs.ConsensusClustering(3, **params, **remedy).fit(X).labels_.size == 90


# Names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cls"),
    [("eac", "EvidenceAccumulation"), ("EAC", "EvidenceAccumulation"), ("evidence_accumulation", "EvidenceAccumulation"),
     ("cokm", "CoassociationKMeans"), ("coassociation_kmeans", "CoassociationKMeans"), ("LWEA", "LWEA")],
)  # fmt: skip
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
        match="members come from metric-subspace: leave out generator='kmeans', or choose method='lwea'",
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
        InputError, match=r"labels is an Ensemble of 8 clusterings.*Swap the arguments: \(labels, ensemble\)"
    ):
        measure(L, TRUTH)
    measure(TRUTH, L)


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
