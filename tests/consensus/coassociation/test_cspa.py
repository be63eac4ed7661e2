"""CSPA: eigenvectors of the co-association graph against dense ones, and the graph that METIS is given."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.consensus._coassociation.cspa import object_graph, object_vectors

from ...zoo import planted
from ..printed import COMMON, row


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_vectors_are_those_of_all_objects(seed, missing):
    """The leading eigenvalues and projector of D^-1/2 A D^-1/2 on n objects."""
    labels, _ = planted(seed, n=60, m=5, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 60)
    ens = cs.Ensemble(labels, sample_weight=weights).distinct()
    copies = np.repeat(np.arange(60), weights)
    A = cs.Ensemble(labels[copies]).coassociation()
    root = 1 / np.sqrt(A.sum(axis=1))
    values, vectors = np.linalg.eigh(root[:, None] * A * root)
    found = object_vectors(ens, 3, None)
    assert np.allclose(found.values, values[::-1][:3])
    spread = (found.vectors / np.sqrt(ens.sample_weight)[:, None])[ens.inverse[copies]]
    assert np.allclose(spread @ spread.T, vectors[:, -3:] @ vectors[:, -3:].T, atol=1e-5)


def normalized_cut(labels, groups):
    A = cs.Ensemble(labels).coassociation()
    return sum(
        1 - A[np.ix_(groups == j, groups == j)].sum() / A[groups == j].sum() for j in np.unique(groups)
    )


def test_refinement_never_raises_the_cut(seed):
    labels, _ = planted(seed, n=120, m=6, noise=0.5)
    plain = cs.consensus.CSPA(4, refine=False, random_state=seed).fit_predict(labels)
    refined = cs.consensus.CSPA(4, random_state=seed).fit_predict(labels)
    assert normalized_cut(labels, refined) <= normalized_cut(labels, plain) + 1e-12


def test_missing_labels_are_not_refined(seed):
    labels, _ = planted(seed, n=80, m=6, noise=0.5, missing=0.2)
    model = cs.consensus.CSPA(4, random_state=seed).fit(labels)
    assert model.history_ == []


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_graph_for_metis_is_the_contraction_of_that_of_all_objects(seed, missing):
    labels, _ = planted(seed, n=40, m=5, missing=missing)
    copies = np.repeat(np.arange(40), np.random.default_rng(seed).integers(1, 4, 40))
    ens = cs.Ensemble(labels[copies])
    small = ens.distinct()
    groups = np.eye(small.n_samples)[small.inverse]
    expected = groups.T @ (ens.coassociation() * 5) @ groups
    found = object_graph(small, None).toarray()
    assert np.allclose(found, expected)
    if not missing:
        assert np.array_equal(found, np.rint(found))


def test_metis(seed):
    pytest.importorskip("pymetis")
    truth = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(seed)
    labels = np.stack([np.where(rng.random(60) < 0.1, rng.integers(0, 3, 60), truth) for _ in range(8)], 1)
    found = cs.consensus.CSPA(3, partitioner="metis", random_state=0).fit_predict(labels)
    assert cs.metrics.scores(truth, found)["ari"] > 0.9
    for c in (1, 2, 9, 12):
        labels, _ = planted(seed, n=40, missing=0.2)
        assert (
            np.unique(cs.consensus.CSPA(c, partitioner="metis", random_state=0).fit_predict(labels)).size == c
        )


@pytest.mark.parametrize("refine", [False, True])
def test_printed_row_of_the_spectral_cut(shared_dir, refine):
    mean, deviation = row(shared_dir, lambda c: cs.consensus.CSPA(c, refine=refine, random_state=0))
    assert mean.tolist() == COMMON[0]
    assert deviation.tolist() == COMMON[1]


def test_printed_row_by_metis(shared_dir):
    """Printed with METIS 4: .6583 / .0815."""
    pytest.importorskip("pymetis")
    mean, _ = row(shared_dir, lambda c: cs.consensus.CSPA(c, partitioner="metis", n_init=1, random_state=0))
    assert np.allclose(mean[:2], [0.6583, 0.0815], atol=0.01)
