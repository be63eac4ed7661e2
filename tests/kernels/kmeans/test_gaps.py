"""Rows that are passed over have the label that a look at them would give."""

import numpy as np
import pytest

from consilience._kernels.kmeans import gaps
from consilience._kernels.kmeans.assign import assign
from consilience._kernels.kmeans.gaps import Gaps
from consilience._kernels.kmeans.rows import as_rows
from consilience._kernels.kmeans.screen import NO_MORE, WIDTH, two_smallest
from consilience._kernels.runtime.threads import one_blas_thread

N = 3000


def cloud(d, seed=0):
    return np.random.default_rng(seed).normal(size=(N, d))


DATA = {
    "few columns": lambda: cloud(4),
    "single precision": lambda: cloud(7).astype(np.float32),
    "turned": lambda: cloud(6) @ np.random.default_rng(1).normal(size=(6, 90)) + 0.1 * cloud(90, 2),
    "a grid, full of ties": lambda: np.random.default_rng(3).integers(0, 4, (N, 3)).astype(float),
    "one row far away": lambda: np.vstack([cloud(3)[:-1], np.full((1, 3), 1e5)]),
}


def walk(rows, ks, steps, seed):
    """Sets of centers of several runs that move less and less, jump once, and stand still at the end."""
    rng = np.random.default_rng(seed)
    centers = [rows.rows(rng.choice(N, k, replace=False)) for k in ks]
    spread = np.sqrt(rows.mean_variance)
    for t in range(steps):
        yield centers
        if t < steps - 2:
            size = spread * (2.0 if t == 6 else 0.3 / (1 + t) ** 2)
            centers = [c + size * rng.normal(size=c.shape) * (rng.random((len(c), 1)) < 0.7) for c in centers]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", DATA)
def test_labels_are_those_of_a_full_look(name, seed, monkeypatch):
    monkeypatch.setattr(gaps, "FEWEST", 700)
    ks = np.array([1, 2, 9, 30])
    with one_blas_thread():
        rows = as_rows(DATA[name](), np.ones(N), 2)
        labels = np.zeros((len(ks), N), dtype=np.int32)
        memory, active = Gaps(rows, ks, labels), np.arange(len(ks))
        before = None
        for step, centers in enumerate(walk(rows, ks, 12, seed)):
            if before is not None:
                for r in active:
                    memory.moved(r, before[r], centers[r])
            stack = rows.stack(np.vstack(centers), ks)
            was = labels.copy()
            changes = memory.look(stack, active, listed=step > 0)
            assert np.array_equal(labels, assign(rows, stack))
            if step:
                listed = was.copy()
                assert np.array_equal(was[changes.run, changes.row], changes.old)
                listed[changes.run, changes.row] = labels[changes.run, changes.row]
                assert np.array_equal(listed, labels)
            before = centers


def test_most_rows_are_passed_over_once_centers_settle():
    rows = as_rows(cloud(4), np.ones(N), 1)
    centers = rows.rows(np.arange(8))
    labels = np.zeros((1, N), dtype=np.int32)
    memory = Gaps(rows, np.array([8]), labels)
    for shift in (0.0, 1e-3):
        memory.moved(0, centers, centers + shift)
        centers = centers + shift
        written = memory.gaps.copy()
        memory.look(rows.stack(centers, np.array([8])), np.array([0]), listed=True)
    assert (memory.gaps != written).mean() < 0.05


def test_runs_that_are_not_looked_at_stay_as_they_are():
    rows = as_rows(cloud(3), np.ones(N), 1)
    centers = [rows.rows(np.arange(4)), rows.rows(np.arange(4, 9))]
    labels = np.zeros((2, N), dtype=np.int32)
    memory = Gaps(rows, np.array([4, 5]), labels)
    memory.look(rows.stack(centers[1], np.array([5])), np.array([1]), listed=False)
    assert not labels[0].any()
    assert labels[1].max() == 4


def test_one_center_is_never_looked_at_twice():
    """The bound that stands for a second center is a number in single precision, and so is the gap."""
    rows = as_rows(cloud(3), np.ones(N), 1)
    centers = rows.rows(np.arange(1))
    memory = Gaps(rows, np.array([1]), np.zeros((1, N), dtype=np.int32))
    memory.look(rows.stack(centers, np.array([1])), np.array([0]), listed=False)
    assert np.isfinite(memory.gaps).all()
    assert (memory.gaps > 1e18).all()


@pytest.mark.parametrize("k", [1, 2, 3, 8, 9])
def test_two_smallest_of_each_column(k):
    rng = np.random.default_rng(k)
    L, least = rng.normal(size=(k, 37)).astype(np.float32), rng.random(k).astype(np.float32)
    smallest, where = np.empty(2 * WIDTH, np.float32), np.empty(37, np.int32)
    two_smallest(L, least, 0, k, smallest, where)
    ordered = np.sort(L + least[:, None], axis=0)
    assert np.array_equal(smallest[:37], ordered[0])
    assert np.array_equal(where, (L + least[:, None]).argmin(axis=0))
    assert np.array_equal(smallest[WIDTH : WIDTH + 37], ordered[1] if k > 1 else np.full(37, NO_MORE))
