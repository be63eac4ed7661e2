"""Threads change only the time of an answer: the same bits, and BLAS on one thread wherever we compute."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

import consilience as cs
from consilience._kernels.runtime import sharing
from consilience._kernels.runtime import threads as parallel
from consilience.consensus import methods

from .zoo import planted

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::consilience.errors.ConsilienceWarning"
)

CONSENSUS = list(methods().values())
MULTITASK = [cs.SPMTC, cs.multitask.LSSMTC, cs.multitask.ASI]
X = make_blobs(180, 12, centers=4, cluster_std=2.0, random_state=3)[0]
GENERATORS = {
    "kmeans": lambda j: cs.generate.kmeans(X, n_clusterings=4, n_clusters=4, random_state=0, n_jobs=j),
    "kmeans of many rows": lambda j: cs.generate.kmeans(
        np.tile(X, (60, 1)), n_clusterings=2, n_clusters=4, max_iter=5, random_state=0, n_jobs=j
    ),
    "random_k": lambda j: cs.generate.random_k(X, n_clusterings=4, random_state=0, n_jobs=j),
    "random_features": lambda j: cs.generate.random_features(
        X, n_clusterings=4, n_clusters=4, random_state=0, n_jobs=j
    ),
    "stratified": lambda j: cs.generate.stratified(
        X, n_clusterings=4, n_clusters=4, random_state=0, n_jobs=j
    ),
    "bagging": lambda j: cs.generate.bagging(
        X, n_clusterings=4, n_clusters=4, unseen="nearest", random_state=0, n_jobs=j
    ),
    "metric_subspace": lambda j: cs.generate.metric_subspace(X, n_clusterings=4, random_state=0, n_jobs=j),
    "landmarks": lambda j: cs.generate.landmarks(
        X, n_clusterings=4, n_landmarks=60, preprocess="diverse", random_state=0, n_jobs=j
    ),
    "spectral": lambda j: cs.generate.spectral(X, n_clusters=4, random_state=0, n_jobs=j),
    "estimators": lambda j: cs.generate.estimators(
        X, clusterers=[KMeans(4, n_init=1), DBSCAN(eps=6)], n_clusterings=4, random_state=0, n_jobs=j
    ),
}


def ensembles():
    rng = np.random.default_rng(0)
    cells = np.arange(48)
    return {
        "pairs": np.stack([rng.permutation(40) // 2 for _ in range(4)], axis=1),
        "ordinary": planted(0, n=335, m=10, c=5, noise=0.3)[0],
        "ties": np.stack([cells % 4, cells // 4 % 4, cells // 16], axis=1),
        "missing": planted(1, n=90, m=6, missing=0.2)[0],
    }


def build(cls, n_jobs, n_clusters=4, **more):
    model = cls(n_clusters, n_jobs=n_jobs, **more)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def tasks():
    first, second = planted(0, n=60, m=9)[0], planted(1, n=50, m=9)[0]
    return [abs(first) + 0.5, abs(second) + 0.5]


@pytest.fixture
def eager(monkeypatch):
    """Helpers come for the shortest work too, and whether or not they were of help before."""
    monkeypatch.setattr(sharing, "ALONE", 0.0)
    monkeypatch.setattr(sharing.Place, "pays", lambda self, rate: True)


# The same bits ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ensembles())
@pytest.mark.parametrize("cls", CONSENSUS)
def test_methods_answer_alike_for_any_number_of_threads(eager, cls, name):
    labels = ensembles()[name]
    first = build(cls, 1).fit(labels)
    for n_jobs in (2, None):
        other = build(cls, n_jobs).fit(labels)
        assert np.array_equal(first.labels_, other.labels_)
        assert np.array_equal(first.confidence_, other.confidence_)


def test_the_authors_mode_of_spce_answers_alike(eager):
    labels = ensembles()["ordinary"]
    first, other = (build(cs.SPCE, j, mode="authors").fit(labels) for j in (1, 2))
    assert np.array_equal(first.labels_, other.labels_)
    assert np.array_equal(first.confidence_, other.confidence_)


@pytest.mark.parametrize("cls", MULTITASK)
def test_multitask_methods_answer_alike(eager, cls):
    first, *others = (build(cls, j, 3).fit(tasks()) for j in (1, 2, None))
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(first.labels_, other.labels_))


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_answer_alike(eager, name):
    first, *others = (GENERATORS[name](j) for j in (1, 2, None))
    for other in others:
        assert np.array_equal(first.labels, other.labels)
        assert first.recipes == other.recipes


def digest() -> str:
    """Digest of the answers of every method and generator, on two threads."""
    sharing.ALONE = 0.0
    kept = hashlib.sha256()
    for labels in ensembles().values():
        for cls in CONSENSUS:
            model = build(cls, 2).fit(labels)
            kept.update(model.labels_.tobytes() + model.confidence_.tobytes())
    for generator in GENERATORS.values():
        kept.update(np.ascontiguousarray(generator(2).labels).tobytes())
    return kept.hexdigest()


@pytest.mark.slow
def test_answers_do_not_depend_on_the_number_of_threads_blas_was_given():
    root = Path(__file__).resolve().parent.parent
    code = (
        "import warnings; warnings.simplefilter('ignore'); "
        "from tests.test_threads import digest; print(digest())"
    )
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**kept, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
            cwd=root, capture_output=True, text=True, check=True,
        ).stdout
        for threads in ("1", "2")
    ]  # fmt: skip
    assert found[0] == found[1]


# One thread of BLAS and of OpenMP in every task
# ---------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch, eager):
    """(number of BLAS and OpenMP threads in each task, whether restored) for a user who has set three."""
    seen: set[int] = set()
    plain = parallel._Run.__init__

    def counted(task, function):
        controller = parallel._limits._controller
        seen.update(each["num_threads"] for each in controller.info())
        return function(task)

    def init(self, function, tasks, place):
        plain(self, lambda task: counted(task, function), tasks, place)

    def numbers():
        return {each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"}

    monkeypatch.setattr(parallel._Run, "__init__", init)
    with threadpoolctl.threadpool_limits(3):
        if numbers() != {3}:
            pytest.skip("this BLAS takes no number of threads")
        with parallel.one_blas_thread():
            pass  # finds the libraries
        yield seen
        assert numbers() == {3}


@pytest.mark.parametrize("cls", CONSENSUS)
def test_methods_hold_blas_to_one_thread(watched, cls, monkeypatch):
    plain = cls._fit

    def fit(self, ensemble, rng):
        watched.update(each["num_threads"] for each in threadpoolctl.threadpool_info())
        return plain(self, ensemble, rng)

    monkeypatch.setattr(cls, "_fit", fit)
    for n_jobs in (2, None):
        build(cls, n_jobs).fit(ensembles()["ordinary"])
    assert watched == {1}


@pytest.mark.parametrize("cls", MULTITASK)
def test_multitask_methods_hold_blas_to_one_thread(watched, cls, monkeypatch):
    plain = cls._fit

    def fit(self, given, rng):
        watched.update(each["num_threads"] for each in threadpoolctl.threadpool_info())
        return plain(self, given, rng)

    monkeypatch.setattr(cls, "_fit", fit)
    build(cls, None, 3).fit(tasks())
    assert watched == {1}


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_hold_blas_to_one_thread(watched, name, monkeypatch):
    """The labels are gathered outside of it, where nothing is computed."""
    from consilience._data import ensemble
    from consilience._kernels.labels import codes

    for module in (codes, ensemble):
        monkeypatch.setattr(
            module,
            "map_blocks",
            lambda f, n, *, size, n_jobs=None: [f(a, b) for a, b in parallel.blocks(n, size)],
        )
    GENERATORS[name](2)
    assert watched == {1}
