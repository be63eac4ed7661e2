"""Every method refuses what will not fit, with a remedy; tested in processes of little memory."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

import consilience as cs
from consilience import generate
from consilience._data import pairs
from consilience._data.pairs import pattern_size
from consilience._kernels.kmeans import many_kmeans
from consilience._kernels.runtime.memory import WITHOUT_PAIRS
from consilience.consensus import methods
from consilience.errors import NotEnoughMemoryError

from ..zoo import random_sparse

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are read from /proc")


def random_labels(n: int, k: int, m: int) -> np.ndarray:
    return np.stack([np.random.default_rng(i).integers(0, k, n) for i in range(m)], axis=1)


def nested_labels(n: int, k: int, m: int) -> np.ndarray:
    """Clusterings that divide the same three groups, each in its own way."""
    return np.arange(n)[:, None] % 3 * (k // 3) + random_labels(n, k // 3, m)


def in_small_process(code: str, n_bytes: float) -> str:
    """What ``code`` prints where it may take ``n_bytes`` more than a first small fit has taken."""
    head = f"""
import os, sys, warnings
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"): os.environ[name] = "1"
import resource
import numpy as np, consilience as cs
from pathlib import Path
from consilience._kernels.runtime.memory import _fields
from tests.faults.test_memory_limits import nested_labels
warnings.simplefilter("ignore")
def limit(n_bytes):
    used = 1024 * _fields(Path("/proc/self/status"))["VmSize:"]
    resource.setrlimit(resource.RLIMIT_AS, (int(used + n_bytes),) * 2)
def attempt(function):
    try:
        function()
        print("fits")
    except cs.errors.NotEnoughMemoryError as error:
        print("refused:", error)
ROOM = {n_bytes}
"""
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_advice_names_methods_that_exist():
    for name in ("LWGP", "CoassociationKMeans", "SCCABG"):
        assert name in WITHOUT_PAIRS
        assert hasattr(cs.consensus, name)


@pytest.mark.parametrize("refused", [cs.consensus.EvidenceAccumulation, cs.SPCE, cs.consensus.LWEA, cs.RSEC])
@pytest.mark.parametrize("advised", [cs.consensus.LWGP, cs.consensus.CoassociationKMeans, cs.SCCABG])
def test_the_methods_advised_fit_where_pairs_do_not(refused, advised, monkeypatch):
    ensemble = cs.Ensemble(nested_labels(3000, 9, 6))
    room = 4.0 * ensemble.distinct().n_samples ** 2  # half a matrix of all pairs
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: room)
    with pytest.raises(NotEnoughMemoryError, match=rf"use .*{advised.__name__}.*never pair objects"):
        refused(3).fit(ensemble)
    assert advised(3).fit(ensemble).labels_.shape == (3000,)


@pytest.mark.parametrize("method", sorted(methods()))
def test_every_method_says_what_to_do_when_memory_runs_out(method, monkeypatch):
    def broken(*_, **__):
        raise MemoryError("Unable to allocate 198. GiB")

    estimator = methods()[method](n_clusters=2)
    monkeypatch.setattr(type(estimator), "_fit", broken)
    with pytest.raises(NotEnoughMemoryError, match=rf"{type(estimator).__name__} on \d+ .*198.*; use "):
        estimator.fit(random_labels(20, 3, 3))


def test_sccabg_refuses_a_matrix_between_base_clusters(monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 10**9)
    labels = random_labels(20_000, 10_000, 4)
    with pytest.raises(NotEnoughMemoryError, match=r"distinct base clusters needs .*; use LWGP"):
        cs.SCCABG(3).fit(labels)


def test_spce_refuses_at_once_with_many_objects(monkeypatch):
    cs.SPCE(3, threshold=0.2).fit(random_labels(100, 4, 8))  # compiles
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 16 * 10**9)
    ensemble = cs.Ensemble(random_labels(200_000, 30, 8))
    ensemble.distinct()
    started = time.perf_counter()
    with pytest.raises(NotEnoughMemoryError, match=r"SPCE on 200000 distinct objects needs .*; use LWGP, Co"):
        cs.SPCE(3).fit(ensemble)
    assert (
        time.perf_counter() - started < 5
    )  # 12 s were not enough; most of this is for the order of the rows


def test_counting_pairs_ends_with_the_first_too_many():
    labels = random_labels(3000, 20, 5)
    ensemble = cs.Ensemble(labels)
    whole = pattern_size(ensemble)
    assert pattern_size(ensemble, enough=whole) == whole
    assert pattern_size(ensemble, enough=whole / 3) == whole  # it was counted before
    # No clustering alone has as many pairs as this; the count ends between it and the whole.
    assert whole / 3 < pattern_size(cs.Ensemble(labels), enough=whole / 3) <= whole


def test_sparse_coassociation_counts_no_further_than_fits(monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 100_000)
    ensemble = cs.Ensemble(random_labels(500, 10, 5))
    with pytest.raises(NotEnoughMemoryError, match=r"pairs or more needs .*; use distinct\(\) first, or"):
        ensemble.coassociation_sparse()
    with pytest.raises(NotEnoughMemoryError, match=r"; use coassociation_blocks\(\)\.$"):
        ensemble.distinct().coassociation_sparse()


def test_contingency_agreement_and_reliability_are_refused(monkeypatch):
    ensemble = cs.Ensemble(random_labels(3000, 1500, 3))
    ensemble.distinct()
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 100_000)
    with pytest.raises(NotEnoughMemoryError, match=r"sparse contingency .*; select\(\) fewer"):
        ensemble.contingency_sparse()
    with pytest.raises(NotEnoughMemoryError, match=r"table of the \d+ x \d+ clusters .*; select\(\)"):
        ensemble.sample_agreement()
    with pytest.raises(NotEnoughMemoryError, match="leave out the clusterings with the most clusters"):
        cs.consensus.LWGP(2).fit(ensemble)


GENERATORS = {
    "kmeans": (
        lambda X: generate.kmeans(X, n_clusterings=2, n_clusters=3),
        "_kmeans.many_kmeans",
        "k-means on 40",
    ),
    "random_k": (lambda X: generate.random_k(X, n_clusterings=2), "_kmeans.many_kmeans", "k-means on 40"),
    "random_features": (
        lambda X: generate.random_features(X, n_clusterings=2, n_clusters=3),
        "_kmeans.many_kmeans",
        r"random features on 40.*; lower n_jobs",
    ),
    "bagging": (
        lambda X: generate.bagging(X, n_clusterings=2, n_clusters=3),
        "_kmeans.many_kmeans",
        "bagging on 40.*; lower n_jobs",
    ),
    "spectral": (
        lambda X: generate.spectral(X, n_clusters=3),
        "_spectral.euclidean_distances",
        "Spectral clustering of 40 .*use generate.kmeans",
    ),
    "metric_subspace": (
        lambda X: generate.metric_subspace(X, n_clusterings=2),
        "_metric_subspace.affinity_and_widths",
        "metric subspace on 40 .*; lower n_jobs",
    ),
    "landmarks": (
        lambda X: generate.landmarks(X, n_clusterings=2),
        "_landmarks.place_landmarks",
        "landmarks on 40 .*; lower n_jobs or n_landmarks",
    ),
    "assembly": (
        lambda X: generate.kmeans(X, n_clusterings=2, n_clusters=3),
        "_members.assembly.Ensemble",
        "An ensemble of 40 objects in 2 clusterings .*ask for fewer clusterings",
    ),
    "ConsensusClustering": (
        lambda X: cs.ConsensusClustering(2).fit(X),
        "_metric_subspace.check_all",
        r"ConsensusClustering on X of shape \(40, 3\) ran out .*LWGP",
    ),
    "MDEC": (
        lambda X: cs.MDEC(2).fit(X),
        "_metric_subspace.check_all",
        r"MDEC on X of shape \(40, 3\) ran out .*LWGP",
    ),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_says_what_to_do_when_memory_runs_out(name, monkeypatch):
    def broken(*_, **__):
        raise MemoryError("Unable to allocate 198. GiB")

    make, inside, message = GENERATORS[name]
    room = "consilience" if inside.startswith("_members") else "consilience.generate"
    monkeypatch.setattr(f"{room}.{inside}", broken)
    with pytest.raises(NotEnoughMemoryError, match=message) as caught:
        make(np.random.default_rng(0).standard_normal((40, 3)))
    assert "198. GiB" in str(caught.value)
    assert str(caught.value).count(";") == 1


def test_a_clusterer_that_runs_out_of_memory():
    class Hungry(KMeans):
        def fit_predict(self, *_, **__):
            raise MemoryError("Unable to allocate 198. GiB")

    with pytest.raises(
        NotEnoughMemoryError, match=r"estimators on 40.*Hungry: .*198.*a lower sample_fraction or n_jobs=1"
    ):
        generate.estimators(np.random.default_rng(0).standard_normal((40, 3)), clusterers=[Hungry(3)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        # Scores of all rows and centers at once, in data that fits a cache.
        (
            lambda: generate.kmeans(
                np.random.default_rng(0).random((6000, 2)), n_clusterings=2, n_clusters=4000
            ),
            "up to 4000 clusters .*fewer clus",
        ),
        # Centers of sparse rows are dense.
        (
            lambda: generate.random_k(random_sparse((300, 400_000), 1e-4), n_clusterings=3),
            "400000 features .*fewer features",
        ),
        (
            lambda: generate.bagging(random_sparse((300, 400_000), 1e-4), n_clusterings=3, n_clusters=9),
            "400000 features .*fewer feat",
        ),
        (
            lambda: generate.kmeans(
                np.random.default_rng(0).random((20_000, 2)), n_clusterings=2000, n_clusters=3
            ),
            "2000 runs .*fewer clus",
        ),
        (
            lambda: generate.metric_subspace(
                np.random.default_rng(0).random((3000, 2)), n_clusterings=2, n_clusters=2000
            ),
            "2000 clusters .*lower n_clusters",
        ),
        (
            lambda: generate.spectral(np.random.default_rng(0).random((3000, 2)), n_clusters=3),
            "3000 x 3000 .*use generate.kmeans",
        ),
        (
            lambda: cs.ConsensusClustering(3, generator="spectral").fit(
                np.random.default_rng(0).random((3000, 2))
            ),
            "3000 x 3000",
        ),
        (
            lambda: cs.MDEC(3, n_clusterings=2, metric="spearman").fit(random_sparse((300, 40_000), 1e-3)),
            "dense 300 x 20000 .*use metric=",
        ),
    ],
)
def test_generators_refuse_beforehand(make, message, monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 40 * 10**6)
    with pytest.raises(NotEnoughMemoryError, match=message) as caught:
        make()
    assert "ran out" not in str(caught.value)


def test_centers_are_kept_for_those_who_ask():
    X = np.random.default_rng(0).standard_normal((60, 3))
    for data in (X, np.tile(X, (200, 1)), sp.csr_array(X)):
        kept = many_kmeans(data, [2, 3], seeds=[0, 1])
        bare = many_kmeans(data, [2, 3], seeds=[0, 1], keep_centers=False)
        np.testing.assert_array_equal(kept.labels, bare.labels)
        np.testing.assert_array_equal(kept.inertia, bare.inertia)
        assert [c.shape for c in kept.centers] == [(2, 3), (3, 3)]
        assert bare.centers == []


@pytest.mark.parametrize("clusters", [30, 300])
def test_spce_refuses_without_pairing_objects(clusters, monkeypatch):
    cs.SPCE(3, threshold=0.2).fit(random_labels(100, 4, 8))  # compiles
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 16 * 10**9)
    counted = []
    monkeypatch.setattr(
        "consilience._kernels.pairs.coassociation.count_row_pattern", lambda *a: counted.append(a[3:5])
    )
    ensemble = cs.Ensemble(random_labels(200_000, clusters, 8))
    with pytest.raises(NotEnoughMemoryError, match="SPCE on 200000 distinct objects needs"):
        cs.SPCE(3).fit(ensemble)
    assert not counted  # told by tables of clusterings; no object was paired with any other


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_on_pairs_is_no_more_than_there_are(seed, missing):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 300)
    labels = np.stack(
        [np.where(rng.random(300) < seed / 5, rng.integers(0, k, 300), truth) for k in (2, 9, 30, 30, 60, 5)],
        axis=1,
    )
    labels[rng.random(labels.shape) < missing] = -1
    ensemble = cs.Ensemble(labels).drop_unseen()
    first, _ = pairs._members(ensemble)
    codes = pairs._pair_arguments(ensemble, None, None)[0]
    whole = pattern_size(ensemble)
    alone = max(
        np.bincount(column[column >= 0]).astype(float) @ np.bincount(column[column >= 0])
        for column in ensemble.labels.T
    )
    for enough in (0.5 * whole, 0.9 * whole, whole - 1.0, 2.0 * whole):
        assert alone <= pairs._least_pattern(ensemble, codes, first, enough) <= whole


@linux
def test_thousands_of_base_clusters_are_refused_beforehand():
    """With more base clusters than objects, matrices of pairs of base clusters take most."""
    u, k, m = 800, 100, 20
    needs = 52 * u * k * m + (24 + 64 + 24) * (k * m) ** 2
    code = f"""
model = cs.SCCABG(3, max_iter=2, n_jobs=1)
model.fit(nested_labels(200, 6, 5))
L = np.random.default_rng(0).integers(0, {k}, ({u}, {m}))
limit(ROOM)
attempt(lambda: model.fit(L))
"""
    assert in_small_process(code, 1.3 * needs + 150e6) == "fits\n"
    told = in_small_process(code, 0.5 * needs)
    assert told.startswith("refused:")
    assert "ran out" not in told  # beforehand


@linux
@pytest.mark.parametrize(
    ("model", "labels", "needs"),
    [
        # distinct objects, clusters, clusterings: what the docstring says it takes
        ("cs.SPCE(3, threshold=0.2, n_jobs=1)", (3000, 21, 6), 51.5 * 3000**2 * 0.2),
        ("cs.consensus.EvidenceAccumulation(3, n_jobs=1)", (4000, 30, 5), 8 * 4000**2),
        pytest.param("cs.consensus.LWEA(3, n_jobs=1)", (4000, 30, 5), 8 * 4000**2, marks=pytest.mark.slow),
        (
            "cs.consensus.CoassociationKMeans(3, n_init=1, n_jobs=1)",
            (4000, 100, 8),
            16 * 4000 * 800 + 56 * 800**2,
        ),
        pytest.param(
            "cs.SCCABG(3, max_iter=2, n_jobs=1)",
            (3000, 60, 8),
            48 * 3000 * 480 + 24 * 12 * 480**2,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "cs.RSEC(3, max_iter=3, n_init=1, n_jobs=1)", (1500, 30, 5), 80 * 1500**2, marks=pytest.mark.slow
        ),
    ],
)
def test_what_is_let_in_fits_and_what_is_not_is_refused(model, labels, needs):
    code = f"""
model = {model}
model.fit(nested_labels(200, 6, 5))
L = nested_labels{labels}
limit(ROOM)
attempt(lambda: model.fit(L))
"""
    # Memory pools of threads and of the allocator take address space of their own: 150 MB.
    assert in_small_process(code, 1.3 * needs + 150e6) == "fits\n"
    told = in_small_process(code, 0.5 * needs)
    assert told.startswith("refused:")
    assert "; use " in told
    assert "ran out" not in told  # beforehand
