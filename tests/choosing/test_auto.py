"""``n_clusters="auto"``: the default of ConsensusClustering, and of the command line when asked."""

from __future__ import annotations

import json
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import consilience as cs
from consilience._cli._program import cli
from consilience.errors import ConsilienceWarning, InputError

from ..commands import runner

BLOBS, TRUTH = make_blobs(90, centers=[[0, 0, 0], [9, 0, 0], [0, 9, 0]], random_state=0)


def test_the_number_is_chosen():
    model = cs.ConsensusClustering(random_state=0)
    assert model.n_clusters == "auto"
    model.fit(BLOBS * [1, 1000, 1])  # columns need no scaling
    assert model.study_.n_clusters == 3
    assert cs.metrics.scores(TRUTH, model.labels_)["ari"] == 1
    assert model.n_clusters == "auto"  # parameters stay as given
    assert clone(model).n_clusters == "auto"
    again = cs.ConsensusClustering("auto", random_state=0, n_jobs=1).fit(BLOBS * [1, 1000, 1])
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(BLOBS * [1, 1000, 1]), model.labels_)


@pytest.fixture(scope="module")
def fitted():
    return cs.ConsensusClustering(random_state=0, generator="kmeans").fit(BLOBS)


def test_a_file_keeps_the_study(fitted, tmp_path):
    model = fitted
    model.save(tmp_path / "model")
    again = cs.load(tmp_path / "model")
    assert again.n_clusters == "auto"
    np.testing.assert_array_equal(again.predict(BLOBS), model.labels_)
    own, other = again.study_, model.study_
    np.testing.assert_equal(own.to_dict(), other.to_dict())
    assert own.tests == other.tests
    assert str(own) == str(other)
    for name in vars(other.references):
        np.testing.assert_array_equal(getattr(own.references, name), getattr(other.references, name))
    assert own.mixed_ensemble == other.mixed_ensemble
    for k in other.n_clusters_tried.tolist():
        assert own.ensemble(k) == other.ensemble(k)
        np.testing.assert_array_equal(own.labels(k), other.labels(k))
        np.testing.assert_equal(own.cdf(k), other.cdf(k))
    np.testing.assert_array_equal(own.model(4).confidence_, other.model(4).confidence_)
    assert own.table.equals(other.table)
    again.save(tmp_path / "twice")
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "model").read_bytes()


def test_the_summary_says_how_the_number_was_chosen(fitted):
    assert "number of clusters: chosen by a study, verdict strong" in fitted.summary()
    model = copy(fitted)
    model.study_ = copy(fitted.study_)
    model.study_.alternatives = [2, 5]
    assert "verdict strong; also plausible: 2 and 5" in model.summary()


def test_a_loaded_model_reports_how_many_clusters(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    pages = [cs.report(one).html for one in (fitted, cs.load(tmp_path / "model"))]
    sections = [page[page.index('id="how-many"') : page.index('id="doubt"')] for page in pages]
    assert sections[0] == sections[1]
    assert fitted.study_.summary() in sections[1]


@pytest.mark.parametrize(
    "change",
    [
        {"n_clusters": 99},
        {"mixed": None},
        {"labels": {}},
        {"n_clusters_tried": np.array([2, 3])},
        {"columns": {"n_clusters": np.arange(3)}},
        {"n_samples": 7},
        {"backend": "antigravity"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_parts_of_a_study_that_do_not_fit_are_refused(fitted, change):
    parts = fitted.study_._to_parts()
    assert cs.io.ChooseKResult._from_parts(parts).n_clusters == 3
    with pytest.raises(InputError, match="The parts of a study of k=.* do not fit together"):
        cs.io.ChooseKResult._from_parts({**parts, **change})


def test_no_structure_is_one_cluster_and_a_word():
    X = np.random.default_rng(1).normal(size=(80, 3))
    with pytest.warns(
        ConsilienceWarning, match="found no more structure than one Gaussian cloud of the same covariance has"
    ):
        model = cs.ConsensusClustering(generator="kmeans", random_state=0).fit(X)
    assert (model.labels_ == 0).all()
    assert model.study_.verdict == "none"


def test_a_number_from_elsewhere_is_taken():
    model = cs.ConsensusClustering(method=cs.consensus.LWEA(5), random_state=0).fit(BLOBS)
    assert model.labels_.max() == 4
    assert not hasattr(model, "study_")


def test_a_fit_with_a_number_leaves_no_study(fitted):
    model = copy(fitted)
    assert model.study_.n_clusters == 3
    model.set_params(n_clusters=2).fit(BLOBS)
    assert not hasattr(model, "study_")


def test_weights_of_zero_take_no_part():
    weights = np.where(TRUTH == 2, 0.0, 1.0)
    model = cs.ConsensusClustering(generator="kmeans", random_state=0).fit(BLOBS, sample_weight=weights)
    assert model.study_.n_samples == 60
    assert 2 in [model.study_.n_clusters, *model.study_.alternatives]


def test_too_few_objects():
    with pytest.raises(
        InputError,
        match="n_clusters='auto' cannot choose for 3 objects, 3 of them distinct: there are too few",
    ):
        cs.ConsensusClustering().fit(BLOBS[[0, 1, 40]])


def run(*arguments):
    return runner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def features(tmp_path):
    path = tmp_path / "x.csv"
    cs.io.write_features(BLOBS, path)
    return str(path)


def test_on_the_command_line(features, tmp_path):
    out, labels = str(tmp_path / "table.csv"), str(tmp_path / "labels.csv")
    done = run("choose-k", features, "-k", "2:5", "-n", "8", "-o", out, "--save-labels", labels)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("3 clusters (verdict: ")
    with open(out) as file:
        lines = file.read().splitlines()
    assert lines[0].startswith("name,n_clusters,ari,")
    assert [line.split(",")[:2] for line in lines[1:]] == [[f"k={k}", str(k)] for k in range(2, 6)]
    assert cs.io.read_labels(labels).n_clusters_per_clustering.tolist() == [3]
    told = run("choose-k", features, "-k", "2,3", "-n", "8", "--null", "none", "--json", "-q")
    found = json.loads(told.stdout)
    assert (found["command"], found["n_clusters"], found["verdict"], found["table"]["n_clusters"]) == (
        "choose-k",
        3,
        "not tested",
        [2, 3],
    )
    wrong = run("choose-k", features, "-k", "two")
    assert wrong.exit_code == 2
    assert (
        "-k two is not valid: expected a number, the smallest and the largest number, such as 2:10"
        in wrong.stderr
    )
    wrong = run("choose-k", features, "--features", features)
    assert "--features goes with --from-ensemble" in wrong.stderr


def test_how_clusterings_are_made_on_the_command_line(features):
    common = {"n_clusters": [2, 3], "n_clusterings": 8, "null": None, "random_state": 0}
    given = ["-k", "2,3", "-n", "8", "--null", "none", "--json", "-q"]
    ways = ["--generator", "random-features", "--generator-param", "feature_fraction=0.7"]
    told = run("choose-k", features, *given, *ways, "--sample-fraction", "0.6")
    own = cs.choose_k(
        BLOBS,
        generator="random-features",
        generator_params={"feature_fraction": 0.7},
        sample_fraction=0.6,
        **common,
    )
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout)["table"]["ari"] == own.columns["ari"].tolist()
    told = run("choose-k", features, *given, "--feature-fraction", "0.7")
    own = cs.choose_k(BLOBS, feature_fraction=0.7, **common)
    assert json.loads(told.stdout)["table"]["ari"] == own.columns["ari"].tolist()
    wrong = run("choose-k", features, "--generator", "kmeans", "--generator-param", "n_clusters=3")
    assert wrong.exit_code == 2
    assert "the option -k" in wrong.stderr


def test_an_ensemble_on_the_command_line(features, tmp_path):
    ensemble = str(tmp_path / "e.npz")
    run("generate", features, "-n", "15", "-k", "2:8", "-o", ensemble)
    done = run("choose-k", ensemble, "--from-ensemble", "-k", "2:6", "--json")
    assert json.loads(done.stdout)["n_clusters"] == 3


def test_cluster_by_itself(features, tmp_path):
    done = run("cluster", features, "-k", "auto", "-o", str(tmp_path / "labels.csv"), "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["n_clusters"], found["study"]["n_clusters"]) == (3, 3)
    assert found["notes"][-1].startswith("3 clusters (verdict: ")
    wrong = run("cluster", features, "-k", "some")
    assert "'some' is neither a whole number nor auto" in wrong.stderr


@pytest.mark.parametrize("estimator", [cs.ConsensusClustering, cs.MDEC])
def test_none_means_the_same(estimator):
    models = [estimator(given, n_clusterings=6, random_state=0).fit(BLOBS) for given in (None, "auto")]
    assert models[0].study_.n_clusters == models[1].study_.n_clusters == 3
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
