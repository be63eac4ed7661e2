"""The number of clusters of Dask features and ensembles: only the sample is brought to this machine."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import InputError

from ..zoo import planted

pytestmark = pytest.mark.usefixtures("here")

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(900, 4)) + 9 * RNG.integers(0, 3, 900)[:, None]).astype(np.float32)
FEW = {"n_clusters": (2, 4), "n_clusterings": 8, "null": None, "random_state": 0}


def same(study, expected):
    assert study.n_clusters == expected.n_clusters
    assert study.notes == expected.notes
    assert study.n_samples == expected.n_samples
    assert study.columns.keys() == expected.columns.keys()
    for name, values in expected.columns.items():
        np.testing.assert_array_equal(study.columns[name], values, err_msg=name)


@pytest.mark.parametrize("most", [300, 5000])
def test_features_are_studied_as_on_one_machine(most):
    lazy = da.from_array(X, chunks=((0, 500, 100, 300), 2))
    study = cs.choose_k(lazy, max_samples=most, **FEW)
    expected = cs.choose_k(X, max_samples=most, **FEW)
    same(study, expected)
    if most == 300:
        np.testing.assert_array_equal(study.sample, expected.sample)
        assert "random sample of 300 of the 900 objects" in study.notes[0]


def test_no_more_than_the_sample_is_brought_here(monkeypatch):
    from consilience.dask import generation

    brought = []
    collect = generation.collect

    def counting(tasks, what):
        found = collect(tasks, what)
        brought.extend(len(pair[0]) for pair in found if isinstance(pair, tuple))
        return found

    monkeypatch.setattr(generation, "collect", counting)
    cs.choose_k(da.from_array(X, chunks=(200, 4)), max_samples=300, **FEW)
    assert sum(brought) == 300


def test_frames_and_weights():
    frames = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    table = pd.DataFrame(X, columns=list("abcd"))
    study = cs.choose_k(frames.from_pandas(table, npartitions=3), max_samples=300, **FEW)
    same(study, cs.choose_k(table, max_samples=300, **FEW))
    weights = RNG.integers(1, 5, 900).astype(float)
    lazy = da.from_array(weights, chunks=300)
    study = cs.choose_k(da.from_array(X, chunks=(300, 4)), sample_weight=lazy, max_samples=300, **FEW)
    same(study, cs.choose_k(X, sample_weight=weights, max_samples=300, **FEW))


def test_ensembles():
    labels, _ = planted(6, n=400, m=8, noise=0.1)
    lazy = cs.dask.DaskEnsemble(da.from_array(labels, chunks=(100, 8)))
    study = cs.choose_k(lazy, n_clusters=(2, 5), random_state=0)
    distinct = cs.Ensemble(labels).distinct()
    here = cs.Ensemble(distinct.labels, sample_weight=distinct.sample_weight)
    assert study.n_clusters == cs.choose_k(here, n_clusters=(2, 5)).n_clusters
    assert f"{distinct.n_samples} distinct objects with their weights, which stand for 400" in study.notes[0]
    with pytest.raises(InputError, match="X is given beside a Dask ensemble.*features alone"):
        cs.choose_k(da.from_array(X[:400]), ensemble=lazy, n_clusters=(2, 5))
