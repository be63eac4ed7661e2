"""MCLA: by hand, and every step against plain loops over all objects."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.consensus._metaclusters import mcla

from ...zoo import planted, same_partition
from ..printed import COMMON, row


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_votes_of_all_objects(seed, missing):
    labels, _ = planted(seed, n=60, m=6, noise=0.3, missing=missing)
    model = cs.consensus.MCLA(3, random_state=seed).fit(labels)
    ens = cs.Ensemble(labels)
    Y = ens.indicator().toarray()
    seen = np.repeat(ens.labels >= 0, ens.n_clusters_per_clustering, axis=1)
    groups = model.metaclusters_
    votes = np.stack(
        [Y[:, groups == j].sum(axis=1) / np.maximum(seen[:, groups == j].sum(axis=1), 1) for j in range(3)], 1
    )
    heavy = np.argsort([-Y[:, groups == j].sum() for j in range(3)], kind="stable")
    assert np.allclose(model.votes_, votes[:, heavy])
    assert same_partition(model.labels_, model.votes_.argmax(axis=1))


def test_groups_of_base_clusters_are_those_that_overlap():
    """Three clusterings of six objects that differ in one place."""
    base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1]])
    model = cs.consensus.MCLA(2, random_state=0).fit(base)
    assert same_partition(model.metaclusters_, [0, 1, 1, 0, 0, 1])
    assert same_partition(model.labels_, [0, 0, 0, 1, 1, 1])
    assert np.allclose(model.votes_[2], [2 / 3, 1 / 3]) or np.allclose(model.votes_[2], [1 / 3, 2 / 3])


def test_fewer_base_clusters_than_clusters():
    base = np.array([[i, j] for i in range(3) for j in range(3)])
    assert np.unique(cs.consensus.MCLA(7, random_state=0).fit_predict(base)).size == 7


def test_sparse_overlaps_give_the_same(seed, monkeypatch):
    labels, _ = planted(seed, n=300, m=8, noise=0.3, missing=0.1)
    dense = cs.consensus.MCLA(3, random_state=0).fit_predict(labels)
    monkeypatch.setattr(mcla, "_DENSE_UP_TO", 0)
    assert np.array_equal(cs.consensus.MCLA(3, random_state=0).fit_predict(labels), dense)


def test_metis(seed):
    pytest.importorskip("pymetis")
    labels, truth = planted(seed, n=90, m=10, noise=0.1)
    found = cs.consensus.MCLA(3, partitioner="metis", random_state=0).fit_predict(labels)
    assert cs.metrics.scores(truth, found)["ari"] > 0.5


def test_printed_row(shared_dir):
    """ACC and NMI of the print; its ARI hardly fits them."""
    mean, deviation = row(shared_dir, lambda c: cs.consensus.MCLA(c, random_state=0))
    assert mean[:2].tolist() == COMMON[0][:2]
    assert deviation[:2].tolist() == COMMON[1][:2]
    mean, _ = row(shared_dir, lambda c: cs.consensus.MCLA(c, random_state=0), "lung203")
    assert mean[0] == pytest.approx(0.845, abs=0.005)
