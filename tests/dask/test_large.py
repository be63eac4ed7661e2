"""Too many distinct rows for one place: buckets, sums of blocks, the heaviest objects, the rest placed."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

import consilience as cs
from consilience.dask import fitting
from consilience.errors import InputError, LowAgreementWarning, NotEnoughMemoryError

from ..zoo import planted

pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.filterwarnings("ignore:.*consilience.dask"),
]


def many(n=2000, chunks=150, **more):
    labels, truth = planted(4, n=n, m=10, noise=0.25, **more)
    return labels, truth, da.from_array(labels, chunks=(chunks, 10))


def test_buckets_hold_every_distinct_row_once():
    labels, _, lazy = many(missing=0.05)
    compressed = cs.Ensemble(labels).distinct()
    found = cs.dask.DaskEnsemble(lazy, max_distinct=100).found
    assert found.whole is None
    assert found.size == compressed.n_samples
    assert found.weight == 2000
    parts = [bucket.compute() for bucket in found.buckets]
    first = np.concatenate([part.first for part in parts])
    order = np.argsort(first)
    np.testing.assert_array_equal(first[order], compressed.rows)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts])[order], compressed.labels)
    counts = np.concatenate([part.weights(None) for part in parts])
    np.testing.assert_array_equal(counts[order], compressed.sample_weight)
    with pytest.raises(InputError, match=r"distinct rows, more than the 100"):
        cs.dask.DaskEnsemble(lazy, max_distinct=100).distinct()


def test_an_ensemble_of_another_looks_anew():
    _, _, lazy = many(n=400)
    ens = cs.dask.DaskEnsemble(lazy)
    assert ens.distinct().sample_weight.sum() == 400
    assert cs.dask.DaskEnsemble(ens, max_distinct=50).found.whole is None
    twice = cs.dask.DaskEnsemble(ens, sample_weight=da.full(400, 2, chunks=150))
    assert twice.distinct().sample_weight.sum() == 800
    assert (
        cs.dask.DaskEnsemble(ens, clustering_names=list("abcdefghij")).distinct().clustering_names[0] == "a"
    )


@pytest.mark.parametrize("cls", [cs.consensus.LWGP, cs.consensus.CoassociationKMeans])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sums_of_blocks_find_what_one_machine_finds(cls, missing):
    labels, _, lazy = many(missing=missing)
    expected = cls(3, random_state=0).fit(labels)
    model = cls(3, random_state=0).fit(cs.dask.DaskEnsemble(lazy, max_distinct=1000))
    found = model.labels_.compute()
    assert cs.metrics.ari(expected.labels_, found) > 0.98
    assert model.coverage_ == 1.0
    np.testing.assert_array_equal(model.predict(labels), found)
    np.testing.assert_array_equal(model.predict_proba(labels).argmax(axis=1), found)
    sizes = np.bincount(found)
    assert (np.diff(sizes) <= 0).all()
    assert model.cluster_sizes_.tolist() == sizes.tolist()
    np.testing.assert_allclose(model.confidence_.compute(), confidence(labels, found))
    if cls is cs.consensus.LWGP:
        np.testing.assert_allclose(model.cluster_reliability_, expected.cluster_reliability_)
        np.testing.assert_allclose(model.clustering_weights_, expected.clustering_weights_)
    again = cls(3, random_state=0).fit(cs.dask.DaskEnsemble(lazy.rechunk((700, 10)), max_distinct=1000))
    np.testing.assert_array_equal(again.labels_.compute(), found)
    with pytest.raises(InputError, match="min_cluster_size"):
        cls(3, min_cluster_size=5).fit(cs.dask.DaskEnsemble(lazy, max_distinct=1000))


def confidence(labels, found):
    from consilience._evidence.table import Evidence

    return Evidence(cs.Ensemble(labels), found).confidence


def test_pair_methods_take_the_heaviest_and_place_the_rest():
    labels, _, _ = many()
    labels[1::2] = labels[::2]  # every row twice, and the first of them thrice
    labels[-200:] = labels[0]
    lazy = da.from_array(labels, chunks=(150, 10))
    with pytest.warns(
        LowAgreementWarning,
        match=r"300 heaviest of [\d,]+ distinct objects, [\d.]+% of the weight \(coverage_\)",
    ):
        model = cs.consensus.EvidenceAccumulation(3).fit(cs.dask.DaskEnsemble(lazy, max_distinct=300))
    assert 0.3 < model.coverage_ < 1
    found = model.labels_.compute()
    assert model.cluster_sizes_.compute().tolist() == np.bincount(found).tolist()
    assert model.summary().startswith(
        f"EvidenceAccumulation: 3 clusters, {len(labels):,} objects from 10 base"
    )
    assert cs.metrics.ari(cs.consensus.EvidenceAccumulation(3).fit(labels).labels_, found) > 0.5
    np.testing.assert_array_equal(model.predict(labels), found)
    other = cs.dask.DaskEnsemble(lazy.rechunk((999, 10)), max_distinct=300)
    with pytest.warns(LowAgreementWarning):
        np.testing.assert_array_equal(
            cs.consensus.EvidenceAccumulation(3).fit(other).labels_.compute(), found
        )


def test_a_method_without_room_for_all_pairs_takes_half_until_they_fit(monkeypatch):
    labels, _, lazy = many(n=600)
    fit = cs.consensus.EvidenceAccumulation._fit

    def with_room_for_200(self, ensemble, rng):
        if ensemble.n_samples > 200:
            raise NotEnoughMemoryError("too many pairs")
        return fit(self, ensemble, rng)

    monkeypatch.setattr(cs.consensus.EvidenceAccumulation, "_fit", with_room_for_200)
    with pytest.warns(LowAgreementWarning, match="heaviest"):
        model = cs.consensus.EvidenceAccumulation(3).fit(cs.dask.DaskEnsemble(lazy))
    assert 0 < model.coverage_ < 1
    assert model.to_local().n_samples_ <= 200
    np.testing.assert_array_equal(model.predict(labels), model.labels_.compute())
    assert fitting.Signatures is not type(model.distinct_)
