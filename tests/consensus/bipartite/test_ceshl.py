"""CESHL: weights by a generic solver, the gradient, equality with all objects, and the authors' results."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

import consilience as cs
from consilience.consensus._bipartite._hypergraph import cohesion, cost, learn, pieces, update_F, update_v
from consilience.metrics import scores

from ...zoo import planted, same_partition


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_cohesion_of_all_pairs(seed, missing):
    labels, _ = planted(seed, n=40, m=5, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    small = cs.Ensemble(labels, sample_weight=weights).distinct()
    ens = cs.Ensemble(labels[copies])
    A, Y = ens.coassociation(), ens.indicator().toarray()
    expected = [A[np.ix_(y > 0, y > 0)].mean() for y in Y.T]
    assert np.allclose(cohesion(small, small.contingency()), expected)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
def test_weights_of_base_clusters_solve_their_problem(seed, lam):
    labels, _ = planted(seed, n=50, m=6)
    K = cs.Ensemble(labels).contingency()
    v0 = np.random.default_rng(seed).uniform(0.2, 1.5, len(K))  # beyond 1, so that the bound binds
    v = update_v(K, v0, lam)
    root = 1 / np.sqrt(K.sum(axis=1))
    M = np.eye(len(K)) * (1 + lam) - root[:, None] * K * root
    value = lambda x: x @ M @ x - 2 * lam * v0 @ x  # noqa: E731
    other = minimize(value, np.full(len(K), 0.5), bounds=[(0, 1)] * len(K), method="L-BFGS-B", tol=1e-14)
    assert value(v) <= other.fun + 1e-9 * abs(other.fun)
    slope = 2 * (M @ v - lam * v0)
    assert (np.abs(slope[v < 1]) < 1e-8 * (1 + lam)).all()
    assert (slope[v == 1] <= 1e-8).all()


def test_gradient(seed):
    rng = np.random.default_rng(seed)
    H, Y = rng.uniform(0.2, 0.9, (5, 4)), rng.integers(0, 2, (5, 4)).astype(float)
    v, F, weights = rng.random(4), rng.normal(size=(5, 2)), rng.integers(1, 4, 5).astype(float)
    _, gradient = cost(H, Y, v, F, weights, 3.0)
    numeric = approx_fprime(H.ravel(), lambda x: cost(x.reshape(5, 4), Y, v, F, weights, 3.0)[0], 1e-7)
    assert np.allclose((weights[:, None] * gradient).ravel(), numeric, atol=1e-4)


def test_cost_is_that_of_all_objects_and_of_the_normalized_graph(seed):
    """Copies of an object cost as much as their weight.

    The second term is the trace of F' Dv^-1/2 S Dv^-1/2 F.
    """
    rng = np.random.default_rng(seed)
    H, Y = rng.uniform(0.2, 0.9, (6, 5)), rng.integers(0, 2, (6, 5)).astype(float)
    v, F, weights = rng.random(5), rng.normal(size=(6, 2)), rng.integers(1, 4, 6)
    rows = np.repeat(np.arange(6), weights)
    value, _ = cost(H, Y, v, F, weights.astype(float), 3.0)
    Hn, Fn = H[rows], F[rows]
    S = Hn @ np.diag(v / Hn.sum(axis=0)) @ Hn.T
    root = 1 / np.sqrt(S.sum(axis=1))
    plain = (((Hn - Y[rows]) * v) ** 2).sum() - 3 * np.trace(Fn.T @ (root[:, None] * S * root) @ Fn)
    assert value == pytest.approx(plain)


def test_vectors_are_those_of_all_objects(seed):
    labels, _ = planted(seed, n=40, m=5, noise=0.3)
    weights = np.random.default_rng(seed).integers(1, 4, 40)
    small = cs.Ensemble(labels, sample_weight=weights).distinct()
    H, v = small.indicator().toarray(), np.random.default_rng(seed).random(small.n_base_clusters)
    rows = small.inverse[np.repeat(np.arange(40), weights)]
    Hn = H[rows]
    S = Hn @ np.diag(v / Hn.sum(axis=0)) @ Hn.T
    vectors = np.linalg.eigh(np.diag(S.sum(axis=1)) - S)[1][:, :3]
    found = update_F(H, v, small.sample_weight, 3)[rows]
    assert np.allclose(found @ found.T, vectors @ vectors.T, atol=1e-6)


def test_pieces_hang_together_through_base_clusters_that_weigh_something():
    H = np.array([[1, 0, 0.5], [1, 0, 0], [0, 0.1, 0.5]])
    assert pieces(H, np.ones(3))[0] == 1
    assert pieces(H, np.array([1.0, 1.0, 0.0]))[1].tolist() == [0, 0, 1]


CASES = ["allaml_auth_1-20", "allaml_auth_21-40", "allaml_km", "glioma_auth_1-20"]


@pytest.mark.parametrize("case", CASES)
def test_results_of_the_authors(shared_dir, case):
    """Weights of base clusters, and labels at every point where the authors' program found n_clusters."""
    with np.load(shared_dir / "golden" / f"{case}.npz") as held:
        labels, c = held["labels_base"], int(held["n_clusters"])
        ens = cs.Ensemble(labels).distinct()
        K = ens.contingency()
        v0 = cohesion(ens, K)
        assert np.allclose(v0, held["CESHL__w_ini"], atol=1e-12)
        for j, setting in enumerate(json.loads(str(held["CESHL__params"]))):
            v = update_v(K, v0, setting["lambda"])
            assert np.allclose(v, held[f"CESHL__w_{j}"], atol=2e-8)
            if held["CESHL__n_clusters_found"][j] == c:
                _, _, found, _ = learn(ens.indicator().toarray(), v, ens.sample_weight, c, 100)
                assert same_partition(found[ens.inverse], held["CESHL__labels"][:, j])


def test_printed_row_as_tuned(shared_dir):
    """The best weight of each ensemble and measure, chosen by the truth: .6736 and .0936 in print."""
    with np.load(shared_dir / "data" / "pool_allaml.npz") as held:
        labels, truth = held["labels"], held["y"]
    best = []
    for first in range(0, 200, 20):
        models = (
            cs.consensus.CESHL(2, cohesion_weight=lam).fit(labels[:, first : first + 20])
            for lam in 10.0 ** np.arange(-3, 4)
        )
        found = [scores(truth, model.labels_) for model in models]
        best.append([max(one[name] for one in found) for name in ("accuracy", "nmi_max")])
    assert np.allclose(np.mean(best, axis=0), [0.6736, 0.0936], atol=0.005)
