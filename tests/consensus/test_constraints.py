"""min_cluster_size and must_link: of every method, as they are in the base class."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import consilience as cs
from consilience._data.links import join, linked_groups
from consilience._kernels.cut.partition import merge_small
from consilience.consensus import methods
from consilience.errors import ConsilienceWarning, InputError, LowAgreementWarning

from ..zoo import planted, same_partition

every_method = pytest.mark.parametrize("cls", methods().values(), ids=methods())
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::consilience.errors.LowAgreementWarning"),
]


def build(cls, n_clusters=3, **more):
    params = {**cls._test_params[0], **more}
    if "random_state" in cls().get_params():
        params = {**params, "random_state": 0}
    return cls(n_clusters, **params)


# min_cluster_size
# --------------------------------------------------------------------------------------------------------


def test_the_smallest_goes_first_to_the_cluster_it_is_most_often_with():
    sizes = np.array([50.0, 30, 4, 2])
    together = np.array([[1, 0, 0.1, 0], [0, 1, 0.3, 0.1], [0.1, 0.3, 1, 0.5], [0, 0.1, 0.5, 1]])
    seen = np.ones((4, 4))
    assert merge_small(sizes, together, seen, 0)[0].tolist() == [0, 1, 2, 3]
    assert merge_small(sizes, together, seen, 2)[0].tolist() == [0, 1, 2, 3]
    home, merged = merge_small(sizes, together, seen, 5)
    assert home.tolist() == [0, 1, 2, 2]  # together they are large enough
    assert merged == [2]
    home, merged = merge_small(sizes, together, seen, 10)
    assert home.tolist() == [0, 1, 1, 1]
    assert merged == [2, 6]
    assert merge_small(sizes, together, seen, 86)[0].tolist() == [0, 0, 0, 0]
    apart = merge_small(sizes, np.eye(4), seen, 4)
    assert apart[0].tolist() == [0, 1, 2, 0]  # with nobody: to the heaviest


@every_method
def test_no_cluster_is_smaller(cls, seed):
    labels, _ = planted(seed, n=60, noise=0.3)
    weights = np.random.default_rng(seed).integers(1, 4, 60)
    for given in (None, weights):
        model = build(cls, 9, min_cluster_size=8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConsilienceWarning)
            model.fit(labels, sample_weight=given)
        sizes = np.bincount(model.labels_, given)
        assert (sizes >= 8).all()
        assert (np.diff(sizes) <= 0).all()
        assert sizes.size + model.merged_.size == 9
        assert model.n_clusters_ == sizes.size
        assert model.cluster_sizes_.tolist() == sizes.tolist()
        assert any("min_cluster_size=8 leaves" in said for said in model.messages_) == (
            model.merged_.size > 0
        )
        assert model.membership_.shape == (60, sizes.size)
        assert np.allclose(model.membership_.sum(axis=1), 1)
        assert np.array_equal(model.predict(labels), model.labels_)
        if hasattr(model, "cluster_labels_"):
            assert model.cluster_labels_.max() < sizes.size


@every_method
def test_nothing_changes_where_all_are_large_enough(cls):
    labels, _ = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConsilienceWarning)
        warnings.simplefilter("ignore", LowAgreementWarning)  # of a method that is weak here anyway
        model = build(cls, min_cluster_size=2).fit(labels)
    assert np.array_equal(model.labels_, build(cls).fit_predict(labels))
    assert model.merged_.size == 0


def test_what_is_left_is_said():
    base = cs.Ensemble.from_clusterings([[0] * 10 + [1] * 10 + [2, 2, 3], [0] * 10 + [1] * 12 + [3]])
    model = cs.consensus.EvidenceAccumulation(4, min_cluster_size=3)
    with pytest.warns(
        ConsilienceWarning, match=r"min_cluster_size=3 leaves 2 of the 4 clusters: 1 and 2 are the sizes"
    ):
        model.fit(base)
    assert model.merged_.tolist() == [1, 2]
    assert same_partition(model.labels_[10:22], [1] * 12)
    with pytest.warns(
        ConsilienceWarning, match="1 is the size of one that was merged into the cluster it is"
    ):
        model.set_params(min_cluster_size=2).fit(base)


def test_refusals_of_min_size():
    labels, _ = planted()
    with pytest.raises(
        InputError, match=r"min_cluster_size=61 exceeds 60, the weight of all objects.*at most 20"
    ):
        cs.consensus.LWGP(3, min_cluster_size=61).fit(labels)
    for wrong in (-1, "5", float("nan")):
        with pytest.raises(InputError, match="min_cluster_size=.* is not valid"):
            cs.consensus.LWGP(3, min_cluster_size=wrong).fit(labels)
    with pytest.raises(InputError, match="min_cluster_size cannot be combined with mode='authors'"):
        cs.SCCABG(3, mode="authors", min_cluster_size=2).fit(labels)


# must_link
# -------------------------------------------------------------------------------------------------------


def test_groups_are_connected():
    assert linked_groups([(0, 3), (3, 4), [1, 5, 6]], 8, None).tolist() == [0, 1, 2, 0, 0, 1, 1, 3]
    assert linked_groups(np.array([[1, 2]]), 3, None).tolist() == [0, 1, 1]
    assert linked_groups([], 3, None).tolist() == [0, 1, 2]
    assert linked_groups([("a", "c")], 3, ["a", "b", "c"]).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("ab", "is no list of pairs"),
        (3, "is no list of pairs"),
        ([3], "must_link holds 3: expected pairs"),
        ([(1,)], "expected pairs"),
        ([(0, 9)], "names the object 9: expected a position from 0 to 4"),
        ([(0, -1)], "names the object -1"),
        ([("x", "y")], "names the object 'x'"),
    ],
)
def test_refusals_of_must_link(links, message):
    with pytest.raises(InputError, match=message):
        cs.consensus.EvidenceAccumulation(2).fit([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]], must_link=links)


def test_a_group_has_the_label_of_most_of_its_weight():
    labels = np.array([[0, 0, 1, -1], [0, 1, 2, 0], [1, 1, 2, -1], [1, 0, 0, 1]])
    ensemble = cs.Ensemble(labels, sample_weight=[1, 1, 1, 5])
    joined = join(ensemble, np.array([0, 0, 0, 1]))
    assert joined.inverse.tolist() == [0, 0, 0, 1]
    assert joined.sample_weight.tolist() == [3, 5]
    assert [joined.categories[i][code] for i, code in enumerate(joined.labels[0])] == [0, 1, 2, 0]


def test_a_tie_is_no_evidence_and_nothing_else_is_refused():
    base = cs.Ensemble.from_clusterings([[0, 1, 0, 1], [0, 0, 1, 1]])
    model = cs.consensus.EvidenceAccumulation(2).fit(base, must_link=[(0, 1)])
    assert model.labels_[0] == model.labels_[1]
    with pytest.raises(
        InputError, match=r"Objects 0 and 3 are linked, but no clustering says where they belong"
    ):
        cs.consensus.EvidenceAccumulation(2).fit(base, must_link=[(0, 3)])
    cs.consensus.EvidenceAccumulation(2).fit(base, must_link=[(0, 3)], sample_weight=[2, 1, 1, 1])


@every_method
def test_linked_objects_share_a_label(cls, seed):
    labels, truth = planted(seed, n=60, noise=0.1, missing=0.1)
    rng = np.random.default_rng(seed)
    links = [rng.choice(np.flatnonzero(truth == j), 3, replace=False) for j in (0, 1, 2, 2)]
    model = build(cls).fit(labels, must_link=links)
    assert model.labels_.shape == (60,)
    for group in links:
        assert np.unique(model.labels_[group]).size == 1
        assert np.unique(model.confidence_[group]).size == 1
    assert np.unique(model.labels_).size == 3
    plain = cs.metrics.ari(truth, build(cls).fit_predict(labels))
    assert cs.metrics.ari(truth, model.labels_) > min(0.6, plain - 0.2)


@every_method
def test_a_group_is_one_object_of_its_weight(cls, seed):
    """Compression does the same to objects with equal labels; a linked pair equals the pooled row."""
    labels, _ = planted(seed, n=40)
    labels[1] = labels[0]
    plain = build(cls).fit(labels)
    assert np.array_equal(build(cls).fit(labels, must_link=[(0, 1)]).labels_, plain.labels_)
    weights = np.ones(40)
    weights[5] = 3  # decides for the group
    by_hand = labels.copy()
    by_hand[9] = np.where(labels[5] >= 0, labels[5], labels[9])
    by_hand[5] = by_hand[9]
    linked = build(cls).fit(labels, sample_weight=weights, must_link=[(5, 9)])
    assert same_partition(linked.labels_, build(cls).fit(by_hand, sample_weight=weights).labels_)


@every_method
def test_no_links_change_nothing(cls):
    labels, _ = planted()
    assert np.array_equal(build(cls).fit(labels, must_link=[]).labels_, build(cls).fit_predict(labels))


def test_an_unseen_object_is_placed_by_its_partner():
    labels, _ = planted(n=30)
    labels[7] = -1
    model = cs.consensus.LWGP(3, random_state=0)
    with pytest.raises(InputError, match="Object 7 is missing from every clustering"):
        model.fit(labels)
    model.fit(labels, must_link=[(7, 20)])
    assert model.labels_[7] == model.labels_[20]


@pytest.mark.parametrize("cls", [cls for cls in methods().values() if cls._takes_soft])
def test_soft_clusterings(cls):
    rng = np.random.default_rng(0)
    blocks = [rng.dirichlet([0.2, 0.2, 0.2], 50) for _ in range(4)]
    soft = cs.SoftEnsemble(blocks, sample_names=[f"s{i}" for i in range(50)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        model = build(cls, 5, min_cluster_size=6).fit(soft, must_link=[("s0", "s1"), ("s1", "s2")])
    assert np.unique(model.labels_[:3]).size == 1
    assert np.bincount(model.labels_).min() >= 6
    joined = join(soft, linked_groups([(0, 1)], 50, None))
    first = joined.indicator()[[joined.inverse[0]]].toarray()
    np.testing.assert_allclose(first[0], np.concatenate([P[:2].mean(axis=0) for P in blocks]))


@pytest.mark.parametrize(
    "pipeline", [cs.ConsensusClustering(8, n_clusterings=10), cs.MDEC(8, n_clusterings=10)]
)
def test_the_pipeline_hands_both_on(pipeline):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 5 * np.eye(3, 4)[np.repeat([0, 1, 2], [14, 20, 26])]
    pipeline.set_params(random_state=0, min_cluster_size=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        pipeline.fit(X, must_link=[(0, 20, 21)])
    assert pipeline.labels_[0] == pipeline.labels_[20]
    assert np.bincount(pipeline.labels_).min() >= 10
    assert pipeline.n_clusters_ == pipeline.labels_.max() + 1
    assert pipeline.cluster_sizes_.sum() == 60
    with pytest.raises(InputError, match="must_link is given with a sample_weight of zero for 1 objects"):
        pipeline.fit(X, sample_weight=np.append(np.ones(59), 0), must_link=[(0, 1)])
