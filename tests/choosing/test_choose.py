"""A whole study: its answer, evidence and messages; neither threads nor an interruption change it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs

import consilience as cs
from consilience._choosing import COLUMNS, description, statistics
from consilience._choosing import range as range_of
from consilience._choosing.rule import VOTERS, WITHOUT_REFERENCES, decide
from consilience._choosing.rule import Test as OneTest
from consilience.errors import ConsilienceWarning, FileError, InputError, LowAgreementWarning

from ..consensus.test_base import Blind

BLOBS, TRUTH = make_blobs(120, centers=[[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]], random_state=0)
#: Nine references are enough for a level of .2.
QUICK = {"n_clusters": (2, 5), "n_clusterings": 8, "n_references": 9, "alpha": 0.2, "random_state": 0}
QUICK |= {"preprocess": "none"}


@pytest.fixture(scope="module")
def study():
    return cs.choose_k(BLOBS, **QUICK)


@pytest.fixture(scope="module")
def nothing():
    return cs.choose_k(np.random.default_rng(0).normal(size=(120, 3)), **QUICK)


def test_clear_clusters(study):
    assert (study.n_clusters, study.verdict) == (4, "strong")
    assert study.alternatives == []
    assert study.votes == dict.fromkeys(["gain", "eigengap", "lifetime", "rcsi", "silhouette"], 4)
    assert [(test.name, test.p, test.rejected) for test in study.tests] == [
        ("inertia", 0.1, True),
        ("stability", 0.1, True),
    ]
    assert cs.metrics.scores(TRUTH, study.labels())["ari"] == 1
    np.testing.assert_array_equal(study.labels(4), study.model(4).labels_)
    assert study.ensemble(4).n_clusterings == 8
    assert (study.ensemble(3).n_clusters_per_clustering == 3).all()
    assert study.spectrum[3] > 3 * study.spectrum[4]
    found = study.cdf(4)
    assert found._fields == ("values", "cdf", "area", "band")
    assert (found.values[-1], found.cdf[-1], found.band) == (1.0, pytest.approx(1.0), 0.0)
    # The curve is a step function: the area under it is 1 - the mean of what it is the distribution of.
    steps = np.diff(np.append(found.values, 1.0))
    assert found.area == pytest.approx(steps @ found.cdf)
    assert found.area == study.columns["area"][2]
    assert study.references.ari.shape == (9, 4)


def test_the_table_holds_what_it_says(study):
    assert list(study.columns) == [name for name in COLUMNS if name != "frequency"]
    assert list(study.table.columns) == list(study.columns)
    row = {name: values[2] for name, values in study.columns.items()}
    assert row["n_clusters"] == 4
    assert row["gain"] == pytest.approx(row["ari"] - row["ari_null"])
    pairs = study.ensemble(4).coassociation()[np.triu_indices(120, 1)]
    seen = study.ensemble(4).cooccurrence_counts()[np.triu_indices(120, 1)]
    pairs = pairs[np.asarray(seen) > 0]
    assert row["area"] == pytest.approx(1 - pairs.mean())
    assert row["pac"] == pytest.approx(np.mean((pairs > 0.1) & (pairs < 0.9)))
    assert row["smallest"] == pytest.approx(0.25)
    area = study.columns["area"]
    np.testing.assert_allclose(study.columns["delta_area"], [area[0], *(np.diff(area) / area[:-1])])
    labels = study.ensemble(4).labels
    left = []
    for column in labels.T:
        part, own = BLOBS[column >= 0], column[column >= 0]
        within = sum(((part[own == j] - part[own == j].mean(axis=0)) ** 2).sum() for j in range(4))
        left.append(np.log(within / ((part - part.mean(axis=0)) ** 2).sum()))
    assert row["inertia"] == pytest.approx(np.exp(np.mean(left)))


def test_no_clusters(nothing):
    assert (nothing.n_clusters, nothing.verdict, nothing.alternatives) == (1, "none", [])
    assert (nothing.labels() == 0).all()
    assert nothing.labels(3).max() == 2
    with pytest.raises(
        InputError,
        match="The answer is one cluster, which has no clusterings; give n_clusters, one of 2, 3, 4 and 5",
    ):
        nothing.model()
    with pytest.raises(InputError, match="n_clusters=9 was not studied; choose one of 2, 3, 4 and 5"):
        nothing.labels(9)


def test_what_is_said(study, nothing):
    assert study.summary() == (
        "4 clusters (verdict: strong; 2 to 5 were compared). Both tests show more structure than one "
        "Gaussian cloud of the same covariance (inertia p = 0.100, stability p = 0.100; each test at 0.1). "
        "Gain, eigengap, lifetime, rcsi and silhouette name 4. No other number stands out. Not tested: "
        "whether one cloud of another shape than a Gaussian would show as much, and numbers of clusters "
        "above 5."
    )
    assert nothing.summary().startswith(
        "1 cluster (verdict: none; 2 to 5 were compared). Nothing shows more structure than one Gaussian "
        "cloud of the same covariance ("
    )
    assert " ".join(str(study).split()) == " ".join([study.summary(), *study.notes])
    assert str(study).splitlines()[0] == "4 clusters (verdict: strong; 2 to 5 were compared)."
    assert max(map(len, str(study).splitlines())) <= 80
    assert repr(study) == "ChooseKResult: n_clusters=4, verdict 'strong'"
    assert "<table>" in study._repr_html_()
    assert 'title="number of clusters"' in study._repr_html_()
    assert "real" not in str(study) + str(nothing)
    told = json.loads(json.dumps(study.to_dict()))
    assert (told["n_clusters"], told["tests"][0]["name"], told["table"]["n_clusters"]) == (
        4,
        "inertia",
        [2, 3, 4, 5],
    )


def test_threads_and_an_interruption_change_nothing(study, tmp_path):
    file = tmp_path / "half.jsonl"
    some = cs.choose_k(BLOBS, **QUICK, n_jobs=2, checkpoint=file)
    lines = file.read_text().splitlines()
    assert len(lines) == 9
    file.write_text("\n".join(lines[:5]) + "\n" + lines[5][:30])  # stopped while it wrote
    again = cs.choose_k(BLOBS, **QUICK, n_jobs=1, checkpoint=file)
    for other in (some, again):
        np.testing.assert_equal(other.to_dict(), study.to_dict())  # NaN is equal to NaN here
        np.testing.assert_array_equal(other.references.loss, study.references.loss)
    assert len(file.read_text().splitlines()) == 9  # the broken line is gone
    third = cs.choose_k(
        BLOBS, **{**QUICK, "random_state": 1}, checkpoint=file
    )  # another study, in the same file
    assert third.n_clusters == 4
    assert len(file.read_text().splitlines()) == 18
    (tmp_path / "other.txt").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="line 1: this is not a checkpoint of choose_k"):
        cs.choose_k(BLOBS, **QUICK, checkpoint=tmp_path / "other.txt")


def test_rotation_and_units_change_nothing(study):
    rng = np.random.default_rng(5)
    turned = (BLOBS @ np.linalg.qr(rng.normal(size=(3, 3)))[0]) * 7 + 3
    assert cs.choose_k(turned, **QUICK).n_clusters == study.n_clusters


def test_weights_count_objects():
    weights = np.where(TRUTH < 2, 3.0, 1.0)
    study = cs.choose_k(BLOBS, **QUICK, sample_weight=weights)
    assert study.n_clusters == 4
    assert study.columns["smallest"][2] == pytest.approx(1 / 8)
    assert study.ensemble(4).sample_weight[TRUTH == 0].mean() == pytest.approx(
        3 * study.ensemble(4).sample_weight[TRUTH == 3].mean()
    )


def test_many_features_sparse_and_frames():
    rng = np.random.default_rng(6)
    wide = np.hstack([BLOBS, rng.normal(size=(120, 300)) * 0.3])
    assert cs.choose_k(wide, **QUICK).n_clusters == 4
    sparse = sp.csr_array(np.where(np.abs(wide) > 0.5, wide, 0))
    dense = cs.choose_k(sparse.toarray(), **QUICK)
    for ours, theirs in zip(cs.choose_k(sparse, **QUICK).tests, dense.tests):
        assert (ours.p, ours.statistic) == (theirs.p, pytest.approx(theirs.statistic))
    polars = pytest.importorskip("polars")
    table = cs.choose_k(polars.DataFrame(BLOBS), **QUICK, null=None).table
    assert isinstance(table, polars.DataFrame)


def test_a_sample_is_studied_and_said():
    study = cs.choose_k(BLOBS, **QUICK, max_samples=60)
    assert study.notes[0] == "The study looked at a random sample of 60 of the 120 objects (max_samples=60)."
    assert study.labels(4).shape == (60,)
    assert cs.metrics.scores(TRUTH[study.sample], study.labels(4))["ari"] == 1


@pytest.mark.parametrize(
    "null", ["uniform", lambda X, rng: rng.permuted(X, axis=0)], ids=["uniform", "function"]
)
def test_other_nulls(null):
    study = cs.choose_k(BLOBS, **QUICK, null=null)
    assert study.n_clusters == 4
    assert "one uniform cloud" in str(study) or "the references of <lambda>" in str(study)


def test_other_generators():
    def by_sign(X, k):
        return np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, k + 1)[1:-1]))

    quick = {**QUICK, "n_references": 3, "alpha": 0.5, "n_clusters": [2, 3]}
    for generator in (AgglomerativeClustering(linkage="average"), by_sign, "random-features"):
        study = cs.choose_k(BLOBS[::2], **quick, generator=generator)
        assert study.verdict in ("strong", "moderate", "weak", "none")
    with pytest.raises(
        InputError, match="X is sparse, and generator='random-features' depends on more than distances"
    ):
        cs.choose_k(sp.csr_array(BLOBS), **quick, generator="random-features")


def test_prepared_features():
    scaled = BLOBS * [1, 1, 1000]
    with pytest.warns(ConsilienceWarning, match="very different scale") as caught:
        plain = cs.choose_k(scaled, **QUICK)
    (note,) = caught
    assert str(note.message).endswith(
        "use preprocess='standardize', or scale X."
    )  # not "diverse", refused here
    assert note.filename == __file__
    with pytest.raises(InputError, match="preprocess='diverse' is not valid"):
        cs.choose_k(scaled, **{**QUICK, "preprocess": "diverse"})
    assert plain.n_clusters != 4
    assert cs.choose_k(scaled, **{**QUICK, "preprocess": "standardize"}).n_clusters == 4
    by_default = {name: value for name, value in QUICK.items() if name != "preprocess"}
    assert cs.choose_k(scaled, **by_default).n_clusters == 4


def test_another_consensus():
    study = cs.choose_k(BLOBS, **QUICK, null=None, method="lwgp")
    assert isinstance(study.model(4), cs.consensus.LWGP)


def test_answers_of_every_k_are_compared_not_warned_of():
    """Most of them are wrong: that is what the study finds out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAgreementWarning)
        study = cs.choose_k(BLOBS, **QUICK, null=None, method=Blind())
    assert study.model(4).messages_
    assert study.model().messages_[0] in study.notes  # of the answer it is said


# Labels ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ensemble():
    return cs.generate.random_k(BLOBS, n_clusterings=30, n_clusters=(None, 10), random_state=0)


def test_labels_alone_are_not_tested(ensemble):
    study = cs.choose_k(ensemble, n_clusters=(2, 7))
    assert (study.n_clusters, study.verdict, study.tests) == (4, "not tested", [])
    assert study.summary().endswith(
        "Not tested: whether there is any structure at all, as there are no features. Give the features, "
        "choose_k(X, ensemble=ensemble)."
    )
    counts = ensemble.n_clusters_per_clustering
    np.testing.assert_allclose(study.columns["frequency"], [np.mean(counts == k) for k in range(2, 8)])
    assert cs.metrics.scores(TRUTH, study.labels(4))["ari"] == 1
    assert "gain" not in study.columns


def test_features_beside_labels_add_the_tests(ensemble):
    study = cs.choose_k(BLOBS, ensemble=ensemble, **QUICK)
    assert (study.n_clusters, study.verdict) == (4, "strong")
    assert "frequency" in study.columns
    assert study.mixed_ensemble is ensemble


def test_features_beside_labels_may_be_sampled(ensemble):
    study = cs.choose_k(BLOBS, ensemble=ensemble, **QUICK, max_samples=60)
    assert (study.n_clusters, study.n_samples, study.sample) == (4, 120, None)
    assert study.labels().shape == (120,)
    assert study.notes == ["The tests looked at a random sample of 60 of the 120 objects (max_samples=60)."]


def test_an_ensemble_of_one_k():
    study = cs.choose_k(
        cs.generate.bagging(BLOBS, n_clusterings=20, n_clusters=4, random_state=0), n_clusters=(2, 6)
    )
    assert study.n_clusters == 4
    assert study.notes[-1].startswith(
        "Every clustering has 4 clusters, so that eigengap and lifetime lean towards 4: add clusterings"
    )
    assert np.isfinite(study.columns["pac"]).sum() == 1


def test_many_distinct_objects_are_linked_by_a_sample(ensemble, monkeypatch):
    monkeypatch.setattr(description, "LINK_ALL", 20)
    monkeypatch.setattr(statistics, "LINKED", 30)
    study = cs.choose_k(ensemble, n_clusters=(2, 5))
    assert isinstance(study.model(4), cs.consensus.LWEA)
    assert cs.metrics.scores(TRUTH, study.labels(4))["ari"] > 0.9


# The rule --------------------------------------------------------------------------------------------------


def answer(p, *curves, pac=(1, 1, 1), voters=VOTERS):
    columns = {"n_clusters": np.array([2, 3, 4]), "pac": np.array(pac, float)}
    columns |= {name: np.array(values, float) for name, values in zip(voters, curves)}
    tests = [
        OneTest(name, 1.0, value, 0.025, "gaussian", 39) for name, value in zip(("inertia", "stability"), p)
    ]
    found = decide(columns, tests)
    return found.n_clusters, found.verdict, found.alternatives


#: Statistics that are largest at 2, at 3 and at 4, and the other numbers in their order.
AT2, AT3, AT4 = (3, 2, 1), (1, 3, 2), (1, 2, 3)


@pytest.mark.parametrize(
    ("curves", "p", "expected"),
    [
        ((AT3, AT3, AT3, AT2, AT4), (0.025, 0.025), (3, "strong", [2, 4])),
        ((AT4, AT4, AT4, AT4, AT3), (0.025, 0.5), (4, "moderate", [3])),
        # Few at the ends, none with three: 3 is nowhere below second.
        ((AT2, AT2, AT4, AT4, AT3), (0.025, 0.025), (3, "weak", [2, 4])),
        # 2 and 4 have the same mean rank: the smaller is taken.
        (((3, 1, 2), (3, 1, 2), (2, 1, 3), (2, 1, 3), (2, 3, 2)), (0.025, 0.025), (2, "weak", [3, 4])),
        ((AT3, AT3, AT3, AT3, AT3), (0.05, 0.5), (1, "none", [])),
    ],
)
def test_the_rule(curves, p, expected):
    assert answer(p, *curves) == expected


def test_the_rule_without_references():
    """Eigengap and lifetime alone; of equal mean ranks the smaller number."""
    known = {"voters": WITHOUT_REFERENCES}
    assert answer((), AT3, AT2, **known) == (3, "not tested", [2])
    assert answer((), (2, 3, 1), AT2, **known) == (2, "not tested", [3])
    assert answer((), (np.nan,) * 3, AT4, **known) == (4, "not tested", [])
    assert answer((), (np.nan, 1, 2), AT4, **known) == (4, "not tested", [])


def test_of_nested_clusters_the_clear_coarse_level_is_an_alternative():
    assert answer((0.025, 0.025), *[AT4] * 5, pac=(0.01, 0.3, 0.05)) == (4, "strong", [2])
    # Ever clearer up to the answer: 3 merges what 4 divides, and is no level of its own.
    assert answer((0.025, 0.025), *[AT4] * 5, pac=(0.09, 0.03, 0.01)) == (4, "strong", [])


def test_few_alternatives_are_named():
    ks = np.arange(2, 9)
    columns = {"n_clusters": ks, **{name: -np.abs(ks - one) for name, one in zip(VOTERS, (2, 3, 5, 6, 8))}}
    columns |= {"pac": np.ones(7)}
    found = decide(columns, [])
    assert (found.n_clusters, sorted(found.votes.values())) == (5, [2, 3, 5, 6, 8])
    assert found.alternatives == [3, 6]


# The range -------------------------------------------------------------------------------------------------


def test_the_range_is_2_to_10_and_wider_where_a_look_says_so():
    np.testing.assert_array_equal(range_of.range_for((3, 2), 60), np.arange(2, 11))
    np.testing.assert_array_equal(range_of.range_for((3, 2), 6), np.arange(2, 7))
    ks = range_of.range_for((40, 3), 80).tolist()
    assert ks[:9] == list(range(2, 11))
    assert ks[-1] == 60
    assert set(range(38, 43)) <= set(ks)
    assert len(ks) < 30
    assert range_of.range_for((40, 3), 45)[-1] == 45


def test_the_range_is_doubled_for_an_answer_near_its_end():
    ks = np.arange(2, 11)
    assert range_of.wider(ks, 8, 60) is None
    again = range_of.wider(ks, 9, 60)
    assert set(ks) < set(again.tolist())
    assert again[-1] == 20
    assert range_of.wider(ks, 10, 10) is None


@pytest.mark.parametrize(
    ("n", "distinct", "most"), [(40, 40, 10), (400, 400, 80), (9_000, 9_000, 200), (8, 5, 4)]
)
def test_the_largest_number_of_clusters(n, distinct, most):
    assert range_of.largest(n, distinct, 0.8) == most


def test_too_few_objects_to_choose():
    with pytest.raises(
        InputError, match="cannot choose for 9 objects, 2 of them distinct: there are too few"
    ):
        cs.choose_k([[0.0], [1], [1], [1], [1], [1], [1], [1], [1]])


def test_equal_objects_are_told():
    with pytest.raises(InputError, match="All objects have the same labels in every clustering"):
        cs.choose_k(cs.Ensemble(np.zeros((12, 3), int)))


def test_more_clusters_than_ten_are_found_by_default():
    X, _ = make_blobs(160, 20, centers=16, random_state=0)
    study = cs.choose_k(X, n_clusterings=8, n_references=9, alpha=0.2, random_state=0)
    assert (study.n_clusters, study.alternatives) == (16, [])
    assert study.summary().startswith("16 clusters (verdict: strong; 20 numbers from 2 to 24 were compared)")


def test_more_clusters_than_ten_are_found_in_given_clusterings():
    X, y = make_blobs(160, 20, centers=16, random_state=0)
    ensemble = cs.generate.random_k(X, n_clusterings=20, n_clusters=(4, 40), random_state=0)
    study = cs.choose_k(ensemble, random_state=0)
    assert study.n_clusters == 16
    assert cs.metrics.ari(y, study.labels()) == 1


def test_an_answer_at_the_end_of_the_range_warns():
    with pytest.warns(
        ConsilienceWarning, match="4, is the largest number of clusters that was compared"
    ) as caught:
        cs.choose_k(BLOBS, **{**QUICK, "n_clusters": (2, 4)})
    assert caught[0].filename == __file__


def test_all_doors_ask_the_same_study():
    own = cs.choose_k(BLOBS * [1, 9, 100], random_state=3)
    model = cs.ConsensusClustering(random_state=3, n_jobs=1).fit(BLOBS * [1, 9, 100])
    np.testing.assert_equal(model.study_.to_dict(), own.to_dict())


def test_clear_clusters_of_fewer_objects_than_features():
    """Gain and RCSI name too many here; statistics that do without references outvote them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1000)) + 12 * np.eye(4, 1000)[np.arange(120) % 4]
    study = cs.choose_k(X, **{**QUICK, "n_clusters": (2, 7)})
    assert (study.n_clusters, study.verdict) == (4, "strong")
    assert study.votes["rcsi"] > 4


def test_remarks():
    far = np.vstack([BLOBS, [[900, 900, 900]]])
    notes = cs.choose_k(far, **QUICK).notes
    assert any("the smallest holds 0.8% of the weight: it may be outliers" in note for note in notes)
    skewed = np.exp(np.random.default_rng(0).normal(size=(100, 3)))
    notes = cs.choose_k(skewed, **QUICK).notes
    assert any("of the columns are skewed or heavy-tailed" in note for note in notes)


def test_samples_of_objects_and_of_features_reach_the_generator(tmp_path):
    X, truth = make_blobs(90, 8, centers=3, random_state=0)
    seen = []

    def clusterer(part, k, random_state):
        seen.append((part.shape, tuple(part[0])))
        return KMeans(k, n_init=1, random_state=random_state % 2**32).fit_predict(part)

    fractions = {"sample_fraction": 0.7, "feature_fraction": 0.5}
    study = cs.choose_k(X, **{**QUICK, "n_clusters": (2, 4)}, **fractions, generator=clusterer, n_jobs=1)
    assert {shape for shape, _ in seen} == {(63, 4), (90, 4)}  # subsamples, and the mixed ensemble
    assert len({len(set(row)) for _, row in seen}) == 1
    assert study.n_clusters == 3
    assert (study.ensemble(3).labels < 0).sum(axis=0).tolist() == [27] * 8
    file = tmp_path / "done.jsonl"
    ours = cs.choose_k(X, **QUICK, **fractions, checkpoint=file)
    assert (ours.n_clusters, cs.metrics.scores(ours.labels(), truth)["ari"]) == (3, 1)
    again = cs.choose_k(X, **QUICK, **fractions, checkpoint=file, n_jobs=1)
    np.testing.assert_equal(again.to_dict(), ours.to_dict())
    assert len(file.read_text().splitlines()) == 9
    whole = cs.choose_k(X, **QUICK, sample_fraction=0.7, checkpoint=file)
    assert len(file.read_text().splitlines()) == 18  # another study
    assert not np.array_equal(whole.columns["inertia"], ours.columns["inertia"])
    with pytest.raises(InputError, match=r"X is sparse, and feature_fraction=0.5 needs columns"):
        cs.choose_k(sp.csr_array(X), **QUICK, **fractions)
    assert cs.choose_k(sp.csr_array(X), **QUICK, **fractions, null=None).n_clusters in (2, 3)


def test_a_method_that_was_given_a_number_of_threads_keeps_it():
    for given, expected in ((cs.consensus.LWGP(3), 2), (cs.consensus.LWGP(3, n_jobs=1), 1)):
        study = cs.choose_k(BLOBS, **QUICK, null=None, method=given, n_jobs=2)
        assert study.model(3).n_jobs == expected
        model = cs.ConsensusClustering(3, method=given, n_clusterings=4, n_jobs=2).fit(BLOBS)
        assert model.method_.n_jobs == expected


# Bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_clusters": []}, r"n_clusters=\[\] is empty: give at least one number"),
        ({"n_clusters": range(5, 2)}, r"n_clusters=range\(5, 2\) is empty"),
        (
            {"n_clusters": 1},
            "n_clusters=1 leaves nothing to compare with: one cluster is always among the answers",
        ),
        ({"n_clusters": [1]}, r"n_clusters=\[1\] leaves"),
        ({"n_clusters": "4"}, "n_clusters='4' is not valid: expected a whole number of at least 1, a pair"),
        ({"n_clusters": [2, 0]}, r"n_clusters=\[2, 0\] is not valid"),
        ({"n_clusters": (5, 2)}, r"n_clusters=\(5, 2\): the first is above the second; swap them"),
        ({"n_clusters": (2, 3, 5)}, r"a tuple is an interval, .*Give a list for these 3 numbers"),
        ({"n_clusters": [2.5]}, r"n_clusters=\[2.5\] is not valid"),
        ({"n_clusters": range(2, 200)}, "n_clusters=199 exceeds the 120 objects in X"),
        (
            {"n_clusters": range(2, 101)},
            r"n_clusters=100 is too large for subsamples of 96 objects \(sample_fraction=0.8 of 120\); "
            r"choose numbers below 96",
        ),
        (
            {"n_references": 20, "alpha": 0.05},
            r"n_references=20 can give no p below 1/21 = 0.048, but each of the two tests needs 0.025 "
            r"\(alpha=0.05\); take at least 39",
        ),
        ({"alpha": 0}, "alpha=0 is not valid"),
        ({"null": "normal"}, "null='normal' is not valid"),
        ({"generator": "landmarks"}, "generator='landmarks' is not known here: choose one of kmeans"),
        ({"generator": "kmens"}, r"'kmens' is not known here: .* -> labels. Did you mean 'kmeans'\?$"),
        ({"null": "gausian"}, r"null='gausian' .* Did you mean 'gaussian'\?$"),
        ({"generator": 3}, "generator=3 is not valid"),
        (
            {"n_clusterings": 2, "sample_fraction": 0.1, "n_clusters": 2},
            "objects are in none of the 2 subsamples; raise n_clusterings or sample_fraction=0.1",
        ),
        (
            {"null": lambda X, rng: X[:5]},
            r"null returned an array of shape \(5, 3\) for X of shape \(120, 3\)",
        ),
        ({"sample_fraction": 0}, "sample_fraction=0 is not valid"),
        ({"feature_fraction": 1.5}, "feature_fraction=1.5 is not valid"),
    ],
)
def test_bad_settings(change, said):
    with pytest.raises(InputError, match=said):
        cs.choose_k(BLOBS, **{**QUICK, **change})


def test_bad_data():
    with pytest.raises(InputError, match="All 30 rows of X are equal: there is nothing to cluster"):
        cs.choose_k(np.ones((30, 2)), **QUICK)
    with pytest.raises(InputError, match="n_clusters=5 exceeds the 3 distinct rows of X"):
        cs.choose_k(np.repeat(np.eye(3) / 2, 10, axis=0), **QUICK)
    with pytest.raises(InputError, match=r"X contains 1 missing value \(NaN\)"):
        cs.choose_k(np.where(np.arange(360).reshape(120, 3) == 7, np.nan, BLOBS), **QUICK)
    with pytest.raises(InputError, match="was given a SoftEnsemble"):
        cs.choose_k(cs.SoftEnsemble([np.full((9, 2), 0.5)] * 2))
    with pytest.raises(InputError, match="The ensemble has a single clustering"):
        cs.choose_k(cs.Ensemble.from_clusterings([TRUTH]))
    with pytest.raises(
        InputError,
        match="n_clusters=10 exceeds the 4 distinct objects of the ensemble; choose numbers up to 4",
    ):
        cs.choose_k(cs.Ensemble.from_clusterings([TRUTH, TRUTH]), n_clusters=(2, 10))
    with pytest.raises(InputError, match="X has 10 rows for the 120 objects of the ensemble"):
        cs.choose_k(BLOBS[:10], ensemble=cs.Ensemble.from_clusterings([TRUTH, TRUTH]), n_clusters=[2])
    with pytest.raises(InputError, match="1 objects are missing from every clustering"):
        cs.choose_k(cs.Ensemble.from_clusterings([[0, 1, 0, -1], [0, 1, 1, -1]]), n_clusters=[2])


def test_one_k_is_enough():
    assert cs.choose_k(BLOBS, **{**QUICK, "n_clusters": 4}).n_clusters == 4
    assert cs.choose_k(BLOBS, **{**QUICK, "n_clusters": range(1, 6)}).n_clusters_tried.tolist() == [
        2,
        3,
        4,
        5,
    ]


def test_numbers_that_no_given_clustering_has():
    """Given clusterings need not have any with a number of clusters that was compared."""
    labels = np.repeat([[0, 0, 0], [1, 1, 1], [2, 2, 2]], 5, axis=0)
    labels[0] = [0, 1, 2]
    study = cs.choose_k(ensemble=labels, n_clusters=(2, 4), random_state=0)
    for ask in (study.cdf, study.ensemble):
        assert ask(3) is not None
        with pytest.raises(
            InputError, match="No clustering of the ensemble has 2 clusters; choose 3, or use"
        ):
            ask(2)
