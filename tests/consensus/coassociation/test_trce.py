"""TRCE: updates against the m dense matrices, and the authors' graphs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import consilience as cs
from consilience.consensus._coassociation._connective import (
    divergences,
    first_lam,
    learn,
    update_B,
    update_C,
    update_S,
    update_v,
)
from consilience.metrics import scores

from ...zoo import planted, same_partition


def connective(ens):
    """The m matrices P_i (u, u), rows of weight 1; rows of zeros where i did not see the object."""
    out = []
    for column in ens.labels.T:
        together = (column[:, None] == column) & (column[:, None] >= 0)
        sizes = together @ ens.sample_weight
        out.append(together / np.where(sizes > 0, sizes, 1)[:, None])
    return np.stack(out)


def weighted(seed, missing=0.0):
    labels, _ = planted(seed, n=40, m=5, noise=0.3, missing=missing)
    return cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).integers(1, 4, 40)).distinct()


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_divergences_and_means_of_dense_matrices(seed, missing):
    ens = weighted(seed, missing)
    rng = np.random.default_rng(seed)
    P = connective(ens)
    B = rng.uniform(0.1, 1, P[0].shape)
    B /= (B @ ens.sample_weight)[:, None]
    seen = ens.labels >= 0
    scale = 5 / seen.sum(axis=1)
    terms = np.where(P > 0, P * np.log(np.where(P > 0, P, 1) / B), 0) @ ens.sample_weight  # (m, u)
    assert np.allclose(divergences(ens, B), np.where(seen, terms.T, 0) * scale[:, None])
    v, alpha = rng.random(ens.n_samples), rng.uniform(0.1, 1, 5)
    expected = (v**2 * scale)[:, None] * np.einsum("i,ipq->pq", 1 / alpha, P)
    assert np.allclose(update_C(ens, v, alpha), expected)


def test_rows_of_B_have_weight_one_and_the_form_of_the_minimizer(seed):
    ens = weighted(seed)
    rng = np.random.default_rng(seed)
    C, pull = update_C(ens, np.ones(ens.n_samples), np.full(5, 0.2)), rng.random((ens.n_samples,) * 2) * 50
    B = update_B(C, pull, ens.sample_weight)
    assert np.allclose(B @ ens.sample_weight, 1)
    th = np.where(C > 0, C / np.where(B > 0, B, 1) - pull, np.nan)  # one number in every row
    assert np.allclose(np.nanmin(th, axis=1), np.nanmax(th, axis=1))
    assert (B >= 0).all()


def test_rows_of_S_are_the_nearest_of_weight_one(seed):
    rng = np.random.default_rng(seed)
    V, weights = rng.normal(size=(8, 8)), rng.integers(1, 4, 8).astype(float)
    raw = np.maximum(
        V, V.T
    )  # symmetric, so that the mean with the transpose can be undone only for equal rows
    S = update_S(np.tile(raw[0], (8, 1)), weights)
    row = np.diag(S)  # S_pp is the p-th entry of the row that all share
    assert weights @ row == pytest.approx(1)
    for _ in range(200):
        other = rng.dirichlet(np.ones(8)) / weights
        assert weights @ (row - raw[0]) ** 2 <= weights @ (other - raw[0]) ** 2 + 1e-12


def test_objects_nobody_contradicts_count_in_full():
    assert update_v(np.array([0.0, 1.0, 4.0]), 2.0).tolist() == [1.0, 1.0, 0.25]
    assert first_lam(np.zeros(3), np.ones(3)) == 0.0
    assert first_lam(np.arange(20.0), np.ones(20)) == 2.0  # the second of twenty
    assert first_lam(np.arange(3.0), np.ones(3)) > 0


def of_the_last(d, alpha):
    """The published program sums the last clustering's divergence m times."""
    return d.shape[1] * d[:, -1] / alpha[-1]


@pytest.mark.parametrize("case", ["allaml_auth_1-20", "glioma_auth_1-20"])
def test_graphs_of_the_authors(shared_dir, case):
    """Pieces, rounds and rho at every point, from distinct objects."""
    with np.load(shared_dir / "golden" / f"{case}.npz") as held:
        ens, c = cs.Ensemble(held["labels_base"]).distinct(), int(held["n_clusters"])
        for j, setting in enumerate(json.loads(str(held["TRCE__params"]))):
            found = learn(ens, c, setting["gamma"], 10, total=of_the_last)
            assert same_partition(found.pieces[ens.inverse], held["TRCE__labels"][:, j])
            assert [step["rho"] for step in found.history] == held[f"TRCE__hist_{j}"][:, 1].tolist()


def test_printed_row_as_tuned(shared_dir):
    """The best weight of each ensemble and measure, chosen by the truth, as in print; pieces are clusters."""
    with np.load(shared_dir / "data" / "pool_allaml.npz") as held:
        labels, truth = held["labels"], held["y"]
    best = []
    for first in range(0, 200, 20):
        ens = cs.Ensemble(labels[:, first : first + 20]).distinct()
        pieces = [learn(ens, 2, gamma, 10).pieces[ens.inverse] for gamma in 10.0 ** np.arange(-5, 6)]
        figures = [[scores(truth, found)[name] for name in ("accuracy", "nmi_max")] for found in pieces]
        best.append(np.max(figures, axis=0))
    assert np.mean(best, axis=0).round(4).tolist() == [0.6917, 0.1150]
    assert np.std(best, axis=0, ddof=1).round(4).tolist() == [0.0333, 0.0278]


def test_says_how_many_pieces_there_were():
    labels, _ = planted(0, n=60, noise=0.3)
    with pytest.warns(UserWarning, match=r"its graph has \d+ pieces instead of 3"):
        model = cs.consensus.TRCE(3, graph_weight=1e5).fit(labels)
    assert model.n_pieces_ != 3
    assert np.unique(model.labels_).size == 3
