"""Fits beside others: several threads, processes that were forked or spawned, clusterers that fail."""

from __future__ import annotations

import json
import os
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

import consilience as cs
from consilience.consensus import methods
from consilience.errors import InputError

from ..zoo import planted
from .children import run

LABELS, _ = planted(3, n=50, m=6, noise=0.3)


def build(name: str):
    cls = methods()[name]
    params = {"n_clusters": 3, **cls._test_params[0]}
    if "random_state" in cls().get_params():
        params["random_state"] = 0
    return cls(**params)


@pytest.mark.parametrize("name", methods())
def test_threads_that_fit_at_once_get_what_one_gets(name):
    alone = build(name).fit(LABELS)
    found: list = [None] * 4

    def fit(i: int) -> None:
        found[i] = build(name).set_params(n_jobs=(1, 2)[i % 2]).fit(LABELS)

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in found:
        assert np.array_equal(model.labels_, alone.labels_)
        np.testing.assert_allclose(model.confidence_, alone.confidence_, rtol=1e-9)


IN_PROCESSES = """
import json, multiprocessing, sys
import numpy as np


def fit(labels):
    import consilience as cs

    return cs.SPCE(3, threshold=0.5).fit(labels).labels_.tolist()


if __name__ == "__main__":
    labels = np.array(json.loads(sys.argv[2]))
    here = fit(labels)  # threads have run in this process before it forks
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        there = pool.map_async(fit, [labels] * 2).get(timeout=100)
    assert there == [here] * 2
    print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_get_what_one_gets():
    assert run(IN_PROCESSES, "fork", json.dumps(LABELS.tolist())) == "same\n"


class Fails(ClusterMixin, BaseEstimator):
    """A clusterer that breaks in the middle."""

    def __init__(self, error=None):
        self.error = error

    def fit_predict(self, X, y=None):
        raise self.error


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError("worker lost"), KeyboardInterrupt(), SystemExit(3)])
def test_a_clusterer_that_fails_is_not_swallowed(error, n_jobs):
    X = np.random.default_rng(0).random((20, 2))
    clusterers = [KMeans(2, n_init=1), Fails(error)]
    wanted = type(error) if not isinstance(error, Exception) else InputError
    with pytest.raises(
        wanted, match="Fails failed .* RuntimeError: worker lost" if wanted is InputError else None
    ):
        cs.generate.estimators(X, clusterers=clusterers, n_clusterings=6, n_jobs=n_jobs, random_state=0)
