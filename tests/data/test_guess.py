"""Tables that can be meant as features and as labels are not taken for either in silence."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, make_blobs

import consilience as cs
from consilience._data.plausibility import looks_like_labels
from consilience.errors import ConsilienceWarning, GuessWarning, InputError

X, TRUTH = make_blobs(60, 3, centers=3, random_state=0)
LABELS = cs.generate.kmeans(X, n_clusterings=10, n_clusters=(2, 5), random_state=0).labels
IN_TWO = cs.generate.kmeans(X, n_clusterings=10, n_clusters=2, random_state=0).labels
QUICK = {"n_clusters": [2, 3], "n_clusterings": 8, "null": None, "random_state": 0}


@pytest.mark.parametrize("table", [LABELS, LABELS + 1, LABELS - 1, LABELS.astype(float), IN_TWO])
def test_tables_of_labels(table):
    assert looks_like_labels(table)


@pytest.mark.parametrize(
    "table",
    [
        X,
        np.round(X * 10),
        LABELS + 0.5,
        LABELS * 2,
        LABELS[:, :1],
        LABELS[:9],
        np.hstack([LABELS, X[:, :1]]),
        np.hstack([LABELS, np.zeros((60, 1))]),
        np.arange(120).reshape(60, 2),
        np.random.default_rng(0).integers(0, 2, (60, 10)),
        np.random.default_rng(0).poisson(3, (60, 10)),
        load_digits().data,
        load_iris().data,
        sp.csr_array(LABELS),
    ],
)
def test_tables_of_features(table):
    assert not looks_like_labels(table)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_choose_k_asks_which_of_the_two_a_table_is(form):
    with pytest.raises(InputError, match=r"For labels write choose_k\(ensemble=X\), for features"):
        cs.choose_k(form(LABELS), **QUICK)
    assert issubclass(GuessWarning, ConsilienceWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuessWarning)
        cs.choose_k(cs.io.Features(form(LABELS)), **QUICK)
        cs.choose_k(cs.Ensemble(LABELS), n_clusters=[2, 3])
        cs.choose_k(ensemble=form(LABELS), n_clusters=[2, 3])
        cs.choose_k(X, **QUICK)


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_consensus_clustering_says_what_it_took_labels_for(n_clusters):
    model = cs.ConsensusClustering(n_clusters, n_clusterings=5, random_state=0)
    with pytest.warns(
        GuessWarning,
        match=r"combine them with a consensus method, such as "
        r"cs.consensus.LWGP\(n_clusters\).fit\(X\)",
    ) as found:
        model.fit(LABELS)
    assert len([one for one in found if one.category is GuessWarning]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuessWarning)
        model.fit(cs.io.Features(LABELS))
        model.fit(X)


def test_features_and_clusterings_by_their_places():
    ensemble = cs.Ensemble(LABELS)
    first = cs.choose_k(ensemble, n_clusters=(2, 4)).to_dict()
    np.testing.assert_equal(cs.choose_k(ensemble=LABELS, n_clusters=[2, 3, 4]).to_dict(), first)
    with pytest.raises(cs.errors.InputError, match="There is nothing to study: give features"):
        cs.choose_k()
    with pytest.raises(cs.errors.InputError, match="X and ensemble are both clusterings"):
        cs.choose_k(ensemble, ensemble=ensemble)
    with pytest.raises(TypeError, match="positional"):
        cs.choose_k(X, 3)


def test_a_list_of_label_vectors_is_questioned():
    rng = np.random.default_rng(0)
    vectors = [rng.integers(-1, 3, 60) for _ in range(8)]
    said = r"list of 8 vectors of 60 small whole numbers.*cs\.Ensemble\.from_clusterings\(X\)"
    fit = cs.ConsensusClustering(2, n_clusterings=3, generator="kmeans").fit
    with pytest.warns(GuessWarning, match=said) as found:
        fit(vectors)
    assert [one.filename for one in found if one.category is GuessWarning] == [__file__]
    asked = r"For clusterings write choose_k\(cs\.Ensemble\.from_clusterings\(X\)\)"
    with pytest.raises(InputError, match=asked):
        studied(vectors)
    few = [rng.integers(0, 3, 150).tolist() for _ in range(3)]
    with pytest.warns(GuessWarning, match="list of 3 vectors of 150 small whole numbers"):
        fit(few)
    for features in (np.array(vectors), [list(vector) for vector in vectors], [v + 0.5 for v in vectors]):
        with warnings.catch_warnings():
            warnings.simplefilter("error", GuessWarning)
            fit(features)
            studied(features)


def studied(X):
    cs.choose_k(X, n_clusters=[2], n_clusterings=20, null=None, random_state=0)
