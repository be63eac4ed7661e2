"""Clusterers of distances: samples of them are samples of rows and columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cluster import AgglomerativeClustering, KMeans

import consilience as cs
from consilience.errors import InputError


def table(seed, n=40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)) + 6 * (np.arange(n) % 3)[:, None]


def linkage(k, metric="precomputed"):
    return AgglomerativeClustering(k, metric=metric, linkage="average")


@pytest.mark.parametrize("fraction", [1.0, 0.7])
def test_distances_give_what_the_features_give(fraction, seed):
    X = table(seed)
    kept = {"n_clusterings": 6, "sample_fraction": fraction, "random_state": seed}
    of_pairs = cs.generate.estimators(squareform(pdist(X)), clusterers=[linkage(2), linkage(4)], **kept)
    of_features = cs.generate.estimators(
        X, clusterers=[linkage(2, "euclidean"), linkage(4, "euclidean")], **kept
    )
    np.testing.assert_array_equal(of_pairs.labels, of_features.labels)
    assert (of_pairs.labels[:, 0] < 0).mean() == pytest.approx(1 - fraction)


def test_similarities_are_sampled_alike():
    from sklearn.cluster import SpectralClustering

    A = np.exp(-cdist(table(0), table(0)) / 10)
    model = SpectralClustering(3, affinity="precomputed")
    ens = cs.generate.estimators(A, clusterers=model, n_clusterings=3, sample_fraction=0.6, random_state=0)
    assert ens.n_clusters_per_clustering.tolist() == [3, 3, 3]


def test_what_does_not_go_with_pairs_is_refused():
    X, D = table(0), squareform(pdist(table(0)))
    refused = [
        ((X, linkage(2)), {}, r"X has shape \(40, 5\), but precomputed distances .* are a square matrix"),
        ((D, linkage(2)), {"preprocess": "pearson"}, "preprocess='pearson' prepares features"),
        (
            (D, linkage(2)),
            {"feature_fraction": 0.5},
            "feature_fraction=0.5 draws features, and X is a matrix of pairs",
        ),
        ((D, linkage(2)), {"keep_base_models": True}, "keep_base_models=True needs features"),
        (
            (D, [linkage(2), KMeans(2)]),
            {},
            "AgglomerativeClustering takes precomputed pairs and KMeans takes features",
        ),
    ]
    for given, more, message in refused:
        with pytest.raises(InputError, match=message):
            cs.generate.estimators(given[0], clusterers=given[1], **more)
    with pytest.raises(InputError, match="clusters a matrix of pairs, for which no references can be drawn"):
        cs.choose_k(D, generator=linkage(2))


def test_how_many_clusters_from_distances():
    ks = range(2, 6)
    ens = cs.generate.estimators(
        squareform(pdist(table(0))),
        clusterers=[linkage(k) for k in ks],
        n_clusterings=40,
        sample_fraction=0.8,
        random_state=0,
    )
    study = cs.choose_k(ens, n_clusters=ks)
    assert (study.n_clusters, study.verdict) == (3, "not tested")
