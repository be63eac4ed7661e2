"""A protocol of one's own with methods that misbehave, written to a temporary folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

METHODS = '''
import os, time
import numpy as np
from sklearn.base import BaseEstimator


class First(BaseEstimator):
    """The first base clustering, as it is."""

    def __init__(self, n_clusters=2, wait=0.0):
        self.n_clusters, self.wait = n_clusters, wait

    def fit(self, ensemble):
        time.sleep(self.wait)
        self.labels_ = ensemble.labels[:, 0]
        return self


class Fails(First):
    def fit(self, ensemble):
        raise ValueError("<b>no</b> | luck")


class Sleeps(First):
    def fit(self, ensemble):
        if ensemble.n_samples > 10:  # not while warming up
            time.sleep(60)


class Hungry(First):
    def fit(self, ensemble):
        if ensemble.n_samples > 10:
            self.kept_ = np.ones((1 << 27,))  # 1 GB


class Dies(First):
    def fit(self, ensemble):
        if ensemble.n_samples > 10:
            os._exit(7)


class Leaves(First):
    def fit(self, ensemble):
        if ensemble.n_samples > 10:
            os._exit(0)


class Random(First):
    """Labels from its seed alone."""

    def __init__(self, n_clusters=2, random_state=None):
        self.n_clusters, self.random_state = n_clusters, random_state

    def fit(self, ensemble):
        rng = np.random.default_rng(self.random_state)
        self.labels_ = rng.integers(self.n_clusters, size=ensemble.n_samples)
        return self


def halves(X, n_clusterings=4, random_state=None):
    rng = np.random.default_rng(random_state)
    return rng.integers(2, size=(X.shape[0], n_clusterings))


def broken(X, n_clusterings=4):
    raise RuntimeError("no clusterings today")
'''


def protocol_of(**changes) -> dict:
    """A small valid protocol; keyword arguments replace entries."""
    raw = {
        "name": "mine",
        "measures": [{"name": "ACC", "key": "acc"}],
        "repetitions": 2,
        "ensembles": {"generator": "bench_methods:halves", "size": 3},
        "sets": [{"name": "iris", "data": "sklearn:iris"}],
        "methods": [{"name": "First", "method": "bench_methods:First"}],
    }
    return {**raw, **changes}


@pytest.fixture
def write_protocol(tmp_path: Path):
    """Write a protocol beside the module with its methods; returns the path."""
    (tmp_path / "bench_methods.py").write_text(METHODS)

    def write(**changes) -> str:
        path = tmp_path / "mine.json"
        path.write_text(json.dumps(protocol_of(**changes)))
        return str(path)

    return write
