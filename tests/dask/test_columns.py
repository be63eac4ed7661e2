"""Columns of a data frame are matched by name in every block, as they are on one machine, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError

from ..zoo import planted

dd = pytest.importorskip("dask.dataframe", reason="needs a Dask data frame: pip install 'dask[dataframe]'")

pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning"),
]

RNG = np.random.default_rng(0)
LABELS, TRUTH = planted(6, n=300, m=6, noise=0.3)
# Each clustering numbers its clusters in its own way: by position labels would mean something else.
LABELS = pd.DataFrame((LABELS + np.arange(6)) % 4, columns=[f"m{i}" for i in range(6)])
FEATURES = pd.DataFrame(
    np.c_[TRUTH + 0.1 * RNG.normal(size=300), 50 + RNG.normal(size=300), 9 * TRUTH], columns=["a", "b", "c"]
)


def in_parts(*parts, meta=None):
    """A frame whose partitions are these, whatever Dask takes them for."""
    return dd.from_map(lambda i: parts[i], range(len(parts)), meta=parts[0][:0] if meta is None else meta)


def permuted(frame):
    """The same rows, columns in another order in the first and in the last third."""
    turned = frame[frame.columns[::-1]]
    return in_parts(turned[:100], frame[100:200], turned[200:], meta=frame[:0])


@pytest.mark.parametrize("max_distinct", [None, 40], ids=["one place", "in blocks"])
def test_labels_are_those_of_one_machine(max_distinct):
    lazy = cs.dask.DaskEnsemble(permuted(LABELS), max_distinct=max_distinct)
    straight = cs.dask.DaskEnsemble(in_parts(LABELS[:100], LABELS[100:]), max_distinct=max_distinct)
    model, expected = (cs.consensus.LWGP(4, random_state=0).fit(one) for one in (lazy, straight))
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_.compute())
    np.testing.assert_array_equal(model.confidence_.compute(), expected.confidence_.compute())
    if max_distinct is None:
        np.testing.assert_array_equal(
            model.labels_.compute(), cs.consensus.LWGP(4, random_state=0).fit(LABELS).labels_
        )


def test_so_are_those_of_clusterings_named_otherwise():
    names = list("uvwxyz")
    lazy = cs.dask.DaskEnsemble(permuted(LABELS), clustering_names=names)
    model = cs.consensus.LWGP(4, random_state=0).fit(lazy)
    assert model.distinct_.clustering_names == names
    np.testing.assert_array_equal(
        model.labels_.compute(), cs.consensus.LWGP(4, random_state=0).fit(LABELS).labels_
    )


def test_predict_matches_them():
    model = cs.consensus.LWGP(4, random_state=0).fit(LABELS)
    counted = cs.dask.DaskEnsemble(permuted(LABELS))
    assert counted.n_samples == 300
    for rows in (permuted(LABELS), counted):
        np.testing.assert_array_equal(model.predict(rows).compute(), model.labels_)
        np.testing.assert_array_equal(model.predict_proba(rows).compute(), model.predict_proba(LABELS))


def test_so_do_features():
    params = {"generator": "kmeans", "n_clusterings": 4, "random_state": 0}
    model = cs.ConsensusClustering(4, **params).fit(permuted(FEATURES))
    expected = cs.ConsensusClustering(4, **params).fit(FEATURES)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(permuted(FEATURES)).compute(), expected.labels_)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda part: part.rename(columns={"m1": "n"}), "'m1' missing; 'n' not expected"),
        (lambda part: part.drop(columns="m1"), "'m1' missing"),
        (lambda part: part.assign(n=1), "'n' not expected"),
        (lambda part: part[[*part.columns[1:], "m1"]], "'m0' missing"),
    ],
    ids=["renamed", "missing", "more", "twice"],
)
def test_others_are_refused_by_name(change, said):
    lazy = in_parts(LABELS[:100], LABELS[100:200], change(LABELS[200:]))
    with pytest.raises(InputError, match=rf"^Block 2 of the data frame.*{said}"):
        cs.consensus.LWGP(4).fit(lazy)


def test_features_too():
    lazy = in_parts(FEATURES[:100], FEATURES[100:].rename(columns={"b": "z"}))
    with pytest.raises(InputError, match="^Block 1 of the data frame.*'b' missing; 'z' not expected"):
        cs.ConsensusClustering(4).fit(lazy)


def test_weights_stay_beside_their_rows():
    weights = pd.Series(RNG.integers(1, 5, 300).astype(float), name="w")
    lazy = in_parts(weights[:100], weights[100:200], weights[200:])
    model = cs.consensus.LWGP(4, random_state=0).fit(permuted(LABELS), sample_weight=lazy)
    expected = cs.consensus.LWGP(4, random_state=0).fit(LABELS, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    params = {"generator": "kmeans", "n_clusterings": 4, "random_state": 0}
    model = cs.ConsensusClustering(4, **params).fit(permuted(FEATURES), sample_weight=lazy)
    expected = cs.ConsensusClustering(4, **params).fit(FEATURES, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


@pytest.mark.filterwarnings("default::consilience.errors.ConsilienceWarning")
@pytest.mark.parametrize("max_distinct", [None, 40], ids=["one place", "in blocks"])
def test_labels_that_differ_in_type_alone_are_told(max_distinct):
    lazy = in_parts(LABELS[:100].astype({"m1": str}), LABELS[100:])
    with pytest.warns(
        ConsilienceWarning, match=r"Clustering 'm1' has labels that differ in type alone.*0 and '0'"
    ):
        assert cs.dask.DaskEnsemble(lazy, max_distinct=max_distinct).found.size
