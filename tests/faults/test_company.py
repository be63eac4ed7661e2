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
        assert model.confidence_.tobytes() == alone.confidence_.tobytes()  # bit by bit


#: One of each kind: pairs, graphs, k-means, votes, low rank, and the pipeline.
IN_PROCESSES = """
import json, multiprocessing, sys
import numpy as np

NAMES = ("EvidenceAccumulation", "SPCE", "LWGP", "HGPA", "KCC", "Voting", "MCLA", "RCE", "NMFC")


def fit(labels):
    import consilience as cs

    found = []
    for name in NAMES:
        model = getattr(cs.consensus, name)(3)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(labels)
        found.append([model.labels_.tolist(), model.confidence_.tobytes().hex()])
    features = np.asarray(labels, float) + np.arange(len(labels))[:, None] / 100
    model = cs.ConsensusClustering(3, n_clusterings=8, random_state=0).fit(cs.io.Features(features))
    return [*found, [model.labels_.tolist(), model.confidence_.tobytes().hex()]]


if __name__ == "__main__":
    labels = np.array(json.loads(sys.argv[2]))
    here = fit(labels)  # threads have run in this process before it forks
    if sys.argv[1] == "loky":
        from joblib import Parallel, delayed

        there = Parallel(2, backend="loky")(delayed(fit)(labels) for _ in range(2))
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            there = pool.map_async(fit, [labels] * 2).get(timeout=200)
    assert there == [here] * 2
    print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_get_what_one_gets():
    assert run(IN_PROCESSES, "fork", json.dumps(LABELS.tolist()), seconds=280) == "same\n"


@pytest.mark.parametrize("how", ["spawn", "loky"])
def test_processes_of_other_kinds_get_what_one_gets(how, tmp_path):
    program = tmp_path / "program.py"  # a spawned process imports it again
    program.write_text(IN_PROCESSES)
    instead = "import os, sys; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    assert run(instead, program, how, json.dumps(LABELS.tolist()), seconds=280) == "same\n"


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
