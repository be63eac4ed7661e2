"""Cutting graphs: planted parts by both partitioners, exact numbers, and what METIS is handed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._kernels.cut import graph as kernel
from consilience._kernels.cut.graph import metis_parts, partition_graph, spectral_vectors, whole_numbers
from consilience.errors import MissingDependencyError

from ...zoo import same_partition


def planted_graph(seed, sizes=(12, 12, 12)):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    S = rng.integers(1, 4, (truth.size, truth.size)) + 20 * (truth[:, None] == truth)
    return np.triu(S) + np.triu(S, 1).T, truth


@pytest.mark.parametrize("method", ["spectral", "metis"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_planted_parts(seed, method, kind):
    if method == "metis":
        pytest.importorskip("pymetis")
    S, truth = planted_graph(seed)
    found = partition_graph(kind(S * 1.0), 3, weights=np.ones(36), method=method, seeds=[1, 2, 3])
    assert same_partition(found, truth)


def test_vectors_are_those_of_the_dense_matrix(seed):
    S, _ = planted_graph(seed)
    S = S.astype(float)
    S[5] = S[:, 5] = 0
    d = S.sum(axis=1)
    root = np.where(d > 0, 1 / np.sqrt(np.maximum(d, 1)), 0)
    values, vectors = np.linalg.eigh(root[:, None] * S * root)
    found = spectral_vectors(sp.csr_array(S), 3)
    assert np.allclose(np.abs(found.T @ vectors[:, -3:][:, ::-1]), np.eye(3), atol=1e-6)
    assert not found[5].any()
    assert values[-1] == pytest.approx(1)


@pytest.mark.parametrize("n_parts", [1, 2, 5, 9, 12])
def test_metis_returns_exactly_the_parts_asked_for(seed, n_parts):
    """Also where one vertex outweighs all others, and where there is no edge at all."""
    pytest.importorskip("pymetis")
    S, _ = planted_graph(seed, (6, 6))
    weights = np.ones(12)
    weights[0] = 1000
    for graph in (S, np.zeros((12, 12)), np.eye(12)):
        found = partition_graph(graph * 1.0, n_parts, weights=weights, method="metis", seeds=[0])
        assert np.unique(found).tolist() == list(range(n_parts))


def test_metis_asks_for_parts_of_equal_weight():
    pytest.importorskip("pymetis")
    S, _ = planted_graph(0, (30, 10))
    balanced = metis_parts(S, 2, weights=np.ones(40), seeds=[0])
    assert np.bincount(balanced).min() >= 17  # of 20: on few vertices METIS is not strict
    own = partition_graph(S * 1.0, 2, weights=np.ones(40), seeds=[0])
    assert sorted(np.bincount(own).tolist()) == [10, 30]


def test_whole_numbers():
    assert whole_numbers(np.array([0.25, 0.5, 3.0])).tolist() == [1, 2, 12]
    assert whole_numbers(np.array([2.0, 0.0, 7.0])).tolist() == [2, 0, 7]
    assert whole_numbers(np.array([0.1, 0.3])).tolist() == [333333, 1000000]
    assert whole_numbers(np.full(4, 2.0**60)).sum() <= 2**53


def test_without_metis(monkeypatch):
    def absent(*arguments):
        raise MissingDependencyError("'consilience[graph]'")

    monkeypatch.setattr(kernel, "need", absent)
    with pytest.raises(MissingDependencyError, match="graph"):
        partition_graph(np.ones((4, 4)), 2, weights=np.ones(4), method="metis", seeds=[0])
