"""Memory is refused beforehand, by every method, with something that the caller can do; in processes of little memory."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

import consilience as cs
from consilience.consensus import methods
from consilience.errors import NotEnoughMemoryError
from consilience.kernels.memory import WITHOUT_PAIRS

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
from consilience.kernels.memory import _fields
from tests.test_memory_limits import nested_labels
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
        assert hasattr(cs, name)


@pytest.mark.parametrize("method", sorted(methods()))
def test_every_method_says_what_to_do_when_memory_runs_out(method, monkeypatch):
    def broken(*_, **__):
        raise MemoryError("Unable to allocate 198. GiB")

    estimator = methods()[method](n_clusters=2)
    monkeypatch.setattr(type(estimator), "_fit", broken)
    with pytest.raises(NotEnoughMemoryError, match=rf"{type(estimator).__name__} on \d+ .*198.*; use "):
        estimator.fit(random_labels(20, 3, 3))


def test_sccabg_refuses_a_matrix_between_base_clusters(monkeypatch):
    monkeypatch.setattr("consilience.kernels.memory.available_memory", lambda: 10**9)
    labels = random_labels(20_000, 10_000, 4)
    with pytest.raises(NotEnoughMemoryError, match=r"distinct base clusters needs .*; use LWGP"):
        cs.SCCABG(3).fit(labels)


def test_spce_refuses_at_once_with_many_objects(monkeypatch):
    cs.SPCE(3, threshold=0.2).fit(random_labels(100, 4, 8))  # compiles
    monkeypatch.setattr("consilience.kernels.memory.available_memory", lambda: 16 * 10**9)
    ensemble = cs.Ensemble(random_labels(200_000, 30, 8))
    ensemble.compress()
    started = time.perf_counter()
    with pytest.raises(NotEnoughMemoryError, match=r"SPCE on 200000 distinct objects needs .*; use LWGP, Co"):
        cs.SPCE(3).fit(ensemble)
    assert (
        time.perf_counter() - started < 5
    )  # 12 s were not enough; most of this is for the order of the rows


def test_counting_pairs_ends_with_the_first_too_many():
    labels = random_labels(3000, 20, 5)
    ensemble = cs.Ensemble(labels)
    whole = ensemble.pattern_size()
    assert ensemble.pattern_size(enough=whole) == whole
    assert ensemble.pattern_size(enough=whole / 3) == whole  # it was counted before
    # No clustering alone has as many pairs as this; the count ends between it and the whole.
    assert whole / 3 < cs.Ensemble(labels).pattern_size(enough=whole / 3) <= whole


def test_sparse_coassociation_counts_no_further_than_fits(monkeypatch):
    monkeypatch.setattr("consilience.kernels.memory.available_memory", lambda: 100_000)
    ensemble = cs.Ensemble(random_labels(500, 10, 5))
    with pytest.raises(NotEnoughMemoryError, match=r"pairs or more needs .*; use compress\(\) first, or"):
        ensemble.coassociation_sparse()
    with pytest.raises(NotEnoughMemoryError, match=r"; use coassociation_blocks\(\)\.$"):
        ensemble.compress().coassociation_sparse()


def test_contingency_agreement_and_reliability_are_refused(monkeypatch):
    ensemble = cs.Ensemble(random_labels(3000, 1500, 3))
    ensemble.compress()
    monkeypatch.setattr("consilience.kernels.memory.available_memory", lambda: 100_000)
    with pytest.raises(NotEnoughMemoryError, match=r"sparse contingency .*; select\(\) fewer"):
        ensemble.contingency_sparse()
    with pytest.raises(NotEnoughMemoryError, match=r"table of the \d+ x \d+ clusters .*; select\(\)"):
        ensemble.agreement()
    with pytest.raises(NotEnoughMemoryError, match="leave out the clusterings with the most clusters"):
        cs.LWGP(2).fit(ensemble)


@linux
@pytest.mark.parametrize(
    ("model", "labels", "needs"),
    [
        # distinct objects, clusters, clusterings: what the docstring says it takes
        ("cs.SPCE(3, threshold=0.2, n_jobs=1)", (3000, 21, 6), 45 * 3000**2 * 0.2),
        ("cs.EvidenceAccumulation(3, n_jobs=1)", (4000, 30, 5), 8 * 4000**2),
        ("cs.LWEA(3, n_jobs=1)", (4000, 30, 5), 8 * 4000**2),
        ("cs.CoassociationKMeans(3, n_init=1, n_jobs=1)", (4000, 100, 8), 16 * 4000 * 800 + 56 * 800**2),
        ("cs.SCCABG(3, max_iter=2, n_jobs=1)", (3000, 60, 8), 48 * 3000 * 480 + 24 * 12 * 480**2),
        ("cs.RSEC(3, max_iter=3, n_init=1, n_jobs=1)", (1500, 30, 5), 80 * 1500**2),
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
