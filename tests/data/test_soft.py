"""Soft clusterings: what comes in, what is derived from it, and the methods that take it as it is."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience._data.named import incidence_of
from consilience._evidence.table import Evidence
from consilience.consensus import methods
from consilience.errors import InputError

from ..zoo import planted, same_partition

NATIVE = {name: cls for name, cls in methods().items() if cls._takes_soft}
every_native = pytest.mark.parametrize("cls", NATIVE.values(), ids=NATIVE)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def soften(seed=0, n=60, m=6, share=0.7, missing=0.1, unknown=0.0, **more):
    """(blocks, truth): planted clusterings; labels hold a share of every object, the rest is random."""
    labels, truth = planted(seed, n=n, m=m, missing=missing, **more)
    rng, ensemble, blocks = np.random.default_rng(seed), cs.Ensemble(labels), []
    for i in range(m):
        Y = ensemble.select([i]).indicator().toarray()
        P = share * Y + (1 - share) * rng.dirichlet(np.ones(Y.shape[1]), n) * Y.sum(axis=1, keepdims=True)
        if unknown:
            P *= np.where(rng.random(n) < unknown, rng.uniform(0.3, 1, n), 1.0)[:, None]
        blocks.append(P)
    return blocks, truth


def build(cls, n_clusters=3, **params):
    if "random_state" in cls().get_params():
        params.setdefault("random_state", 0)
    return cls(n_clusters, **params)


def dense_coassociation(blocks):
    """Eq. (1), pair by pair."""
    n = len(blocks[0])
    A = np.eye(n)
    for p in range(n):
        for q in range(n):
            if p != q:
                together = sum(P[p] @ P[q] for P in blocks)
                seen = sum(P[p].sum() * P[q].sum() for P in blocks)
                A[p, q] = together / seen if seen else 0.0
    return A


# The container
# -----------------------------------------------------------------------------------------------


def test_the_same_from_any_container():
    blocks, _ = soften()
    expected = cs.SoftEnsemble(blocks)
    names = [f"m{i}" for i in range(6)]
    for form in (
        [sp.csr_array(P) for P in blocks],
        [sp.coo_matrix(P) for P in blocks],
        [P.tolist() for P in blocks],
        [pd.DataFrame(P) for P in blocks],
        dict(zip(names, blocks)),
        list(zip(names, blocks)),
        expected,
    ):
        assert (cs.SoftEnsemble(form).indicator() != expected.indicator()).nnz == 0
    assert cs.SoftEnsemble(dict(zip(names, blocks))).clustering_names == names
    frame = pd.DataFrame(blocks[0], index=[f"doc {i}" for i in range(60)])
    assert cs.SoftEnsemble([frame, blocks[1]]).sample_names == list(frame.index)


def test_label_vectors_beside_blocks():
    soft = cs.SoftEnsemble([["a", "b", None], [[0.5, 0.5], [1, 0], [0, 1]]])
    assert soft.indicator().toarray().tolist() == [[1, 0, 0.5, 0.5], [0, 1, 1, 0], [0, 0, 0, 1]]


def test_what_rows_mean():
    soft = cs.SoftEnsemble([np.array([[0.6, 0.4, 0], [0.3, 0, 0], [0, 0, 0], [0.7, 0.303, 0]])])
    assert soft.masses.ravel() == pytest.approx([1, 0.3, 0, 1])
    assert soft.n_clusters_per_clustering.tolist() == [2]  # nobody is in the third
    assert soft.columns[0].tolist() == [0, 1]
    assert soft.unseen.tolist() == [2]
    assert soft.drop_unseen().n_samples == 3
    assert soft.has_missing
    assert "42.5% of memberships unknown" in repr(soft)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "blocks is empty"),
        (np.eye(3), "one table of shape .3, 3.: expected a list"),
        (sp.csr_array(np.eye(3)), "one table of shape .3, 3.: expected a list"),
        ([np.eye(3), np.eye(2)], "block 1 has 2 rows and block 0 has 3"),
        (
            {"a": np.eye(3), "b": 2 * np.eye(3)},
            "block 'b' adds up to 2 in row 0 .3 such rows.*divide by their sums",
        ),
        ([[[0.5, -0.5]]], "block 0 holds -0.5: memberships are not negative"),
        ([[[0.5, np.nan]]], "not finite in row 0"),
        ([[["a", "b"]]], "holds <U1, not numbers"),
        ([np.zeros((3, 2))], "block 0 has no membership at all"),
        ([np.zeros((0, 2))], "no objects"),
        ([np.zeros((3, 2, 2))], "block 0 has shape .3, 2, 2."),
    ],
)
def test_refusals(blocks, message):
    with pytest.raises(InputError, match=message):
        cs.SoftEnsemble(blocks)


def test_names_and_weights_are_checked():
    with pytest.raises(InputError, match="clustering_names has 1 entries for 2 clusterings"):
        cs.SoftEnsemble([np.eye(2), np.eye(2)], clustering_names=["a"])
    with pytest.raises(InputError, match="sample_weight has shape"):
        cs.SoftEnsemble([np.eye(2)], sample_weight=[1])
    with pytest.raises(InputError, match="occurs more than once"):
        cs.SoftEnsemble([np.eye(2)], sample_names=["a", "a"])


def test_sparse_stays_sparse():
    n, k = 200_000, 5000
    rng = np.random.default_rng(0)
    Y = sp.csr_array((np.ones(n), (np.arange(n), rng.integers(0, k, n))), shape=(n, k)) * 0.9
    soft = cs.SoftEnsemble([Y, Y])
    assert soft.indicator().nnz == 2 * n
    assert soft.distinct().n_samples == k


# Derived
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_coassociation_is_the_formula(seed, unknown):
    blocks, _ = soften(seed, n=25, m=4, unknown=unknown)
    soft = cs.SoftEnsemble(blocks)
    expected = dense_coassociation(blocks)
    np.testing.assert_allclose(soft.coassociation(), expected, atol=1e-12)
    for a, b, rows in soft.coassociation_blocks(rows=7):
        np.testing.assert_allclose(rows, expected[a:b], atol=1e-12)


def test_with_whole_rows_it_is_the_mean_over_those_that_saw_both():
    blocks, _ = soften(n=20, m=4, missing=0.3)
    A = cs.SoftEnsemble(blocks).coassociation()
    for p, q in [(0, 5), (3, 17), (8, 9)]:
        both = [P[p] @ P[q] for P in blocks if P[p].any() and P[q].any()]
        assert A[p, q] == pytest.approx(np.mean(both) if both else 0.0)


@pytest.mark.parametrize("unknown", [0.0, 0.4])
def test_draws_have_the_expected_coassociation(seed, unknown):
    """Within five standard errors of every pair; without what is unknown also the mean of few draws."""
    blocks, _ = soften(seed, n=25, m=4, missing=0.0, unknown=unknown)
    soft = cs.SoftEnsemble(blocks)
    A, off = soft.coassociation(), ~np.eye(25, dtype=bool)
    drawn = soft.draw(3000, random_state=seed).coassociation()
    assert np.abs(drawn - A)[off].max() < 5 * 0.5 / np.sqrt(4 * 3000 * (0.3**2 if unknown else 1))
    if not unknown:
        means = np.mean([soft.draw(1, random_state=t).coassociation() for t in range(400)], axis=0)
        assert np.abs(means - A)[off].max() < 5 * 0.5 / np.sqrt(4 * 400)


def test_draws_keep_names_weights_and_columns():
    P = np.array([[0, 1.0, 0, 0], [0, 0.5, 0, 0.5], [0, 0, 0, 0]])
    soft = cs.SoftEnsemble({"a": P}, sample_names=["x", "y", "z"], sample_weight=[1, 2, 3])
    drawn = soft.draw(50, random_state=0)
    assert drawn.clustering_names[:2] == ["a, draw 1", "a, draw 2"]
    assert drawn.sample_names == ["x", "y", "z"]
    assert drawn.sample_weight.tolist() == [1, 2, 3]
    values = np.array([drawn.original_labels(t) for t in range(50)])
    assert set(values[:, 0]) == {1}
    assert set(values[:, 1]) == {1, 3}
    assert set(values[:, 2]) == {None}
    assert drawn == soft.draw(50, random_state=0)


def test_harden():
    soft = cs.SoftEnsemble([[[0.6, 0.4], [0.2, 0.5], [0, 0]]])
    assert soft.harden().labels.ravel().tolist() == [0, 1, -1]
    assert soft.harden(threshold=0.55).labels.ravel().tolist() == [0, -1, -1]


def test_compress_joins_equal_rows_and_nothing_else(seed):
    blocks, _ = soften(seed, n=30)
    rows = np.random.default_rng(seed).integers(0, 30, 100)
    soft = cs.SoftEnsemble([P[rows] for P in blocks], sample_weight=np.arange(1.0, 101))
    packed = soft.distinct()
    assert packed.n_samples == np.unique(rows).size
    assert (packed.expand(packed.indicator()) != soft.indicator()).nnz == 0
    np.testing.assert_allclose(packed.sample_weight.sum(), 5050)


def test_on_zeros_and_ones_it_is_the_hard_ensemble(seed):
    labels, _ = planted(seed, missing=0.2)
    hard, w = cs.Ensemble(labels), np.random.default_rng(seed).uniform(0.5, 2, 60)
    soft = cs.SoftEnsemble(hard)
    assert soft.is_crisp
    assert np.array_equal(soft.harden().labels, hard.labels)
    np.testing.assert_allclose(soft.coassociation(), hard.coassociation(), atol=1e-12)
    np.testing.assert_allclose(soft.contingency(), hard.contingency(), atol=1e-12)
    np.testing.assert_allclose(soft.contingency_sparse().toarray(), hard.contingency(), atol=1e-12)
    a, b = incidence_of(soft), incidence_of(hard)
    np.testing.assert_allclose(a.reliability(w, 0.4), b.reliability(w, 0.4), atol=1e-12)
    groups = np.random.default_rng(seed).integers(-1, 4, 60)
    for name in ("confidence", "support", "sample_stability", "stability", "between"):
        values = [getattr(Evidence(e, groups, 4, weights=w), name) for e in (soft, hard)]
        np.testing.assert_allclose(*values, atol=1e-12)


def test_stability_of_soft_is_that_of_many_draws(seed):
    """Pairs of different objects.

    An object is with itself in every draw, and to the share of an equal one here.
    """
    blocks, _ = soften(seed, n=25, m=4, unknown=0.3)
    soft, groups = cs.SoftEnsemble(blocks), np.arange(25) % 3
    drawn = soft.draw(2000, random_state=seed)
    for name in ("stability", "sample_stability", "between"):
        a, b = (getattr(Evidence(e, groups, 3), name) for e in (soft, drawn))
        np.testing.assert_allclose(a, b, atol=0.03)


def test_pickles():
    soft = cs.SoftEnsemble(soften()[0])
    soft.distinct()
    assert (pickle.loads(pickle.dumps(soft)).indicator() != soft.indicator()).nnz == 0


# Methods
# ---------------------------------------------------------------------------------------------------------


def test_what_takes_soft_clusterings():
    assert set(NATIVE) == {"evidence-accumulation", "coassociation-k-means", "lwgp", "sccabg", "soft-vote"}


@pytest.mark.parametrize("name", sorted(set(methods()) - set(NATIVE)))
def test_others_say_so_and_name_draw(name):
    soft = cs.SoftEnsemble(soften()[0])
    cls = methods()[name]
    with pytest.raises(
        InputError, match=rf"{cls.__name__} takes hard clusterings.*soft.draw\(10\).*SoftVote"
    ):
        build(cls).fit(soft)


def test_everything_else_that_takes_labels_says_so_too():
    soft = cs.SoftEnsemble(soften()[0])
    for take in (cs.Ensemble, lambda s: cs.metrics.anmi(s, [0] * 60)):
        with pytest.raises(InputError, match="labels is a SoftEnsemble"):
            take(soft)


@every_native
def test_zeros_and_ones_give_the_hard_answer(cls, seed, monkeypatch):
    labels, _ = planted(seed, n=80, missing=0.1)
    w = np.random.default_rng(seed).integers(1, 4, 80)
    hard = build(cls).fit(labels, sample_weight=w)
    soft = cs.SoftEnsemble(cs.Ensemble(labels))
    assert np.array_equal(build(cls).fit(soft, sample_weight=w).labels_, hard.labels_)
    if cls is cs.consensus.EvidenceAccumulation:
        # through memberships the matrix is the same (tested above), but many pairs tie, and their order is
        # another
        return
    # The same through the products with memberships, not by way of labels.
    monkeypatch.setattr(cs.SoftEnsemble, "is_crisp", False)
    through = build(cls).fit(soft, sample_weight=w)
    assert isinstance(through.distinct_, cs.SoftEnsemble)
    assert same_partition(through.labels_, hard.labels_)
    np.testing.assert_allclose(through.confidence_, hard.confidence_, atol=1e-9)


@pytest.mark.parametrize("name", sorted(set(methods()) - set(NATIVE)))
def test_zeros_and_ones_are_labels_to_every_method(name):
    labels, _ = planted()
    cls = methods()[name]
    soft = cs.SoftEnsemble(cs.Ensemble(labels))
    assert np.array_equal(build(cls).fit_predict(soft), build(cls).fit_predict(labels))


@every_native
def test_recovers_planted_clusters(cls, seed):
    blocks, truth = soften(seed, n=120, m=12, share=0.6, unknown=0.2)
    assert cs.metrics.ari(truth, build(cls).fit_predict(cs.SoftEnsemble(blocks))) > 0.8


@every_native
def test_no_order_and_no_name_matters(cls, seed):
    blocks, _ = soften(seed, unknown=0.2)
    rng = np.random.default_rng(seed)
    rows, order = rng.permutation(60), rng.permutation(6)
    other = [blocks[i][rows][:, rng.permutation(blocks[i].shape[1])] for i in order]
    a, b = build(cls).fit(cs.SoftEnsemble(blocks)), build(cls).fit(cs.SoftEnsemble(other))
    assert same_partition(a.labels_[rows], b.labels_)
    np.testing.assert_allclose(a.confidence_[rows], b.confidence_, atol=1e-9)


@every_native
def test_weights_equal_repeated_objects(cls, seed):
    blocks, _ = soften(seed, n=40)
    weights = np.random.default_rng(seed).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    weighted = build(cls).fit(cs.SoftEnsemble(blocks, sample_weight=weights))
    given = build(cls).fit(cs.SoftEnsemble(blocks), sample_weight=weights)
    repeated = build(cls).fit(cs.SoftEnsemble([P[rows] for P in blocks]))
    assert np.array_equal(weighted.labels_, given.labels_)
    assert same_partition(weighted.labels_[rows], repeated.labels_)
    np.testing.assert_allclose(weighted.confidence_[rows], repeated.confidence_, atol=1e-9)


@every_native
def test_exactly_the_clusters_asked_for(cls):
    soft = cs.SoftEnsemble(soften(noise=0.4)[0])
    for c in (1, 2, 7):
        sizes = np.bincount(build(cls, c).fit_predict(soft))
        assert sizes.size == c
        assert (np.diff(sizes) <= 0).all()


@every_native
def test_same_for_any_number_of_threads(cls):
    soft = cs.SoftEnsemble(soften(noise=0.3)[0])
    first = build(cls, n_jobs=1).fit(soft)
    second = build(cls, n_jobs=2).fit(soft)
    assert np.array_equal(first.labels_, second.labels_)
    assert np.array_equal(first.confidence_, second.confidence_)


@every_native
def test_after_the_fit(cls):
    blocks, truth = soften(n=80, m=8)
    soft = cs.SoftEnsemble([P[:60] for P in blocks], sample_names=[f"o{i}" for i in range(60)])
    model = build(cls).fit(soft)
    assert np.array_equal(model.predict(soft), model.labels_)
    assert model.membership_.shape == (60, 3)
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1)
    new = cs.SoftEnsemble([P[60:] for P in blocks])
    assert (model.predict(new) == model.predict([P[60:] for P in blocks])).all()
    both = np.append(model.labels_, model.predict(new))
    assert cs.metrics.ari(truth, both) > 0.6
    assert (model.predict_proba(new).argmax(axis=1) == model.predict(new)).all()
    assert ((model.predict_confidence(new) >= 0) & (model.predict_confidence(new) <= 1)).all()
    np.testing.assert_allclose(model.predict_confidence(soft), model.confidence_, atol=1e-9)
    assert list(model.to_frame().index) == soft.sample_names
    assert model.score(soft) == pytest.approx(model.consensus_nmi_, rel=1e-9)
    assert 0 <= model.score(new) <= 1
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(new), model.predict(new))


@every_native
def test_save_and_load(cls, tmp_path):
    blocks, _ = soften(n=80)
    model = build(cls).fit(cs.SoftEnsemble([P[:60] for P in blocks]))
    model.save(tmp_path / "model.consilience")
    again = cs.load(tmp_path / "model.consilience")
    assert np.array_equal(again.labels_, model.labels_)
    new = [P[60:] for P in blocks]
    assert np.array_equal(again.predict_proba(new), model.predict_proba(new))


def test_predicting_from_other_clusterings_is_refused():
    blocks, _ = soften()
    model = build(cs.consensus.LWGP).fit(cs.SoftEnsemble(blocks))
    with pytest.raises(InputError, match="5 clusterings, but LWGP was fitted to 6"):
        model.predict(cs.SoftEnsemble(blocks[:5]))
    with pytest.raises(InputError, match="clustering 0 has .* columns, but LWGP was fitted to"):
        model.predict(cs.SoftEnsemble([np.eye(9), *[P[:9] for P in blocks[1:]]]))


def test_displays_ask_for_draws():
    model = build(cs.consensus.LWGP).fit(cs.SoftEnsemble(soften()[0]))
    with pytest.raises(InputError, match=r"fitted to a SoftEnsemble.*soft.draw\(10\)"):
        cs.plot.ConfidenceDisplay.from_estimator(model)


@every_native
def test_refuses_objects_nobody_saw(cls):
    blocks, _ = soften(n=30)
    for P in blocks:
        P[[3, 17]] = 0
    with pytest.raises(InputError, match=r"Objects 3 and 17 are missing from every clustering.*drop_unseen"):
        build(cls).fit(cs.SoftEnsemble(blocks))
    build(cls).fit(cs.SoftEnsemble(blocks).drop_unseen())


def test_missing_shares_in_sccabg_are_no_evidence():
    """Halving the memberships of one clustering leaves the answer and what the shares say unchanged."""
    blocks, truth = soften(n=60, m=8, share=0.9, missing=0.0, noise=0.05)
    half = [blocks[0] * 0.5, *blocks[1:]]
    found = [build(cs.SCCABG).fit_predict(cs.SoftEnsemble(b)) for b in (blocks, half)]
    assert all(cs.metrics.ari(truth, labels) > 0.9 for labels in found)
    with pytest.raises(InputError, match=r"filled_labels\(\) fills in missing labels"):
        build(cs.SCCABG).fit(cs.SoftEnsemble(half)).filled_labels()


def test_no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for cls in NATIVE.values():
            build(cls).fit(cs.SoftEnsemble(soften(unknown=0.3)[0]))
