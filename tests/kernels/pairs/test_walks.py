"""Walks along sparse graphs: part by part, against powers of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._kernels.pairs import walks
from consilience._kernels.pairs.trajectories import stochastic_rows, trajectory_similarity


def several_components(seed, sizes=(70, 1, 1, 5, 40)):
    """A symmetric graph in pieces whose vertices are all mixed up, some of them alone."""
    rng = np.random.default_rng(seed)
    pieces = [np.triu((rng.random((v, v)) < 0.2) * rng.random((v, v)), 1) for v in sizes]
    S = sp.block_diag(pieces, format="csr").toarray()
    order = rng.permutation(len(S))
    return (S + S.T)[np.ix_(order, order)]


@pytest.fixture(params=[8, 1024])
def tied(request, monkeypatch, seed):
    """(P sparse, P dense), with parts of few vertices and of all."""
    monkeypatch.setattr(walks, "_TOGETHER", request.param)
    S = several_components(seed)
    weights = np.random.default_rng(seed).integers(1, 5, len(S))
    P = stochastic_rows(sp.csr_array(S * weights))
    return P, P.toarray()


def powers(P, steps):
    return [np.linalg.matrix_power(P, t) for t in range(1, steps + 1)]


def test_parts_hold_every_vertex_once_and_all_entries(tied):
    P, dense = tied
    found = walks.parts(P)
    rows = np.concatenate([part.rows for part in found])
    assert np.array_equal(np.sort(rows), np.arange(len(dense)))
    assert sum(part.forward.nnz for part in found) == P.nnz
    for part in found:
        assert np.array_equal(part.forward.toarray(), dense[np.ix_(part.rows, part.rows)])
        assert np.array_equal(part.backward.toarray(), part.forward.toarray().T)


@pytest.mark.parametrize("steps", [1, 2, 9])
def test_norms_sums_and_products(tied, seed, steps):
    P, dense = tied
    V = np.random.default_rng(seed).random((len(dense), 130)) * (np.arange(len(dense)) % 2)[:, None]
    Q = sum(X @ X.T for X in powers(dense, steps))
    norms, G, found = walks.walk_norms(P, steps), walks.walk_sums(P, steps, V), walks.walk_products(P, steps)
    assert np.allclose(norms, Q.diagonal(), rtol=1e-12, atol=0)
    assert np.allclose(dense @ G, Q @ V, rtol=1e-12, atol=1e-14)
    assert np.allclose(found, Q, rtol=1e-12, atol=1e-15)
    assert np.array_equal(found == 0, Q == 0)


def test_the_same_bits_on_any_number_of_threads(tied):
    P, _ = tied
    for function in (walks.walk_norms, walks.walk_products):
        assert np.array_equal(function(P, 5, n_jobs=1), function(P, 5, n_jobs=2))


def test_similarity_of_few_links_is_walked_along(seed):
    P = stochastic_rows(sp.csr_array(several_components(seed, sizes=(300, 200)) > 0.19))
    assert 5 * P.nnz <= P.shape[0] ** 2
    assert np.allclose(trajectory_similarity(P, 5), trajectory_similarity(P.toarray(), 5), atol=1e-12)
