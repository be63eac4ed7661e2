"""RCE: closed forms against a generic minimizer, descent within a step, and the authors' matrices."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import consilience as cs
from consilience.consensus._lowrank._robust import cleaned, learn, update_A, update_C, update_D

from ...zoo import planted, same_partition
from ..printed import row


def divergence(a, b):
    return a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))


@pytest.mark.parametrize("l1", [1e-4, 0.1, 1.0, 10.0, 1e4])
def test_cleaned_values_minimize_their_cost(l1):
    for a in (0.05, 0.3, 0.9):
        b1, b0 = cleaned(np.array(a), l1)
        for found, truth in ((b1, 1), (b0, 0)):
            cost = lambda b, a=a, truth=truth: divergence(a, b) + l1 * abs(truth - b)  # noqa: E731
            wanted = minimize_scalar(
                cost, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-12}
            )
            assert cost(float(found)) <= wanted.fun + 1e-9 * (1 + abs(wanted.fun))


def test_cleaned_values_at_the_ends():
    b1, b0 = cleaned(np.array([0.0, 1.0]), 1.0)
    assert np.allclose(b1, [0, 1])
    assert np.allclose(b0, [0, 1])


def counts(labels):
    ens = cs.Ensemble(labels).distinct()
    seen = ens.cooccurrence_counts()
    return np.rint(ens.coassociation() * seen), seen, ens.sample_weight


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_step_never_raises_the_objective(seed, missing):
    """KL with the cleaned values held fixed, and the linearized rank."""
    labels, _ = planted(seed, n=30, m=6, noise=0.3, missing=missing)
    t, seen, weights = counts(labels)
    A = learn(t, seen, weights, 1.0, 1.0, 2)
    C, D = update_C(A, t, seen, 1.0), update_D(A, weights, 1.0)
    metric = np.diag(weights) @ D  # symmetric

    def objective(A):
        entropy = np.zeros_like(A)
        inside = (A > 0) & (A < 1)
        a = A[inside]
        entropy[inside] = a * np.log(a) + (1 - a) * np.log(1 - a)
        pairs = np.outer(weights, weights)
        return (pairs * (seen * entropy + C * A)).sum() + np.einsum("pq,pr,rq,q->", A, metric, A, weights)

    moved = update_A(A, C, D, seen)
    assert objective(moved) <= objective(A) + 1e-9 * abs(objective(A))
    assert (moved >= 0).all()
    assert (moved <= 1).all()


CASES = ["allaml_auth_1-20", "glioma_auth_1-20", "allaml_km"]


@pytest.mark.parametrize("case", CASES)
def test_matrices_of_the_authors(shared_dir, case):
    """Sums of A and of its squares, for all objects and for distinct ones, whose bound differs a little."""
    with np.load(shared_dir / "golden" / f"{case}.npz") as held:
        labels, c = held["labels_base"], int(held["n_clusters"])
        settings, sums = (json.loads(str(held[f"RCE__{name}"])) for name in ("params", "extra"))
        found = held["RCE__labels"]
    t, seen, weights = counts(labels)
    for j, (setting, wanted) in enumerate(zip(settings, sums)):
        l1, l2 = setting["lambda1"], setting["lambda2"]
        all_together = np.rint(cs.Ensemble(labels).coassociation() * labels.shape[1])
        A = learn(all_together, np.full(all_together.shape, 20.0), np.ones(len(labels)), l1, l2, 20)
        near = 1e-8 if l2 < 10 else 1e-5
        assert A.sum() == pytest.approx(wanted["sumA"], rel=near)
        assert (A * A).sum() == pytest.approx(wanted["fro2A"], rel=near)
        A = learn(t, seen, weights, l1, l2, 20)
        near = 2e-5 if l2 < 10 else 3e-3
        assert weights @ A @ weights == pytest.approx(wanted["sumA"], rel=near)
        assert weights @ (A * A) @ weights == pytest.approx(wanted["fro2A"], rel=near)
        model = cs.consensus.RCE(c, error_weight=l1, low_rank_weight=l2, random_state=0).fit(labels)
        assert same_partition(model.labels_, found[:, j])


def test_printed_row(shared_dir):
    """ACC and NMI; the printed ARI is .1070."""
    mean, deviation = row(shared_dir, lambda c: cs.consensus.RCE(c, random_state=0))
    assert mean.tolist() == [0.6708, 0.0899, 0.1061]
    assert deviation[:2].tolist() == [0.0161, 0.0125]
