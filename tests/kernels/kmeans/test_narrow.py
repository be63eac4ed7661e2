"""Runs by tiles give what plain float64 Lloyd steps give, and runs with shared passes to the last bit."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from consilience._kernels.kmeans import narrow
from consilience._kernels.kmeans.lloyd import lloyd
from consilience._kernels.kmeans.narrow import Run, Tiles, by_tiles, few_enough, lloyd_either_way
from consilience._kernels.kmeans.rows import as_rows
from consilience._kernels.kmeans.tiles import (
    TILE,
    State,
    TiledCenters,
    TiledRows,
    fill_tiles,
    look_at_tiles,
    n_tiles,
    padded,
    screen_centers,
)
from consilience._kernels.runtime.threads import one_blas_thread

from ...examples import examples

N = 3 * TILE + 100


def cloud(d, seed=0, n=N):
    return np.random.default_rng(seed).normal(size=(n, d))


def blobs(d, seed=0):
    rng = np.random.default_rng(seed)
    return 6 * rng.normal(size=(9, d))[rng.integers(0, 9, N)] + rng.normal(size=(N, d))


DATA = {
    "one column": lambda: cloud(1),
    "four columns": lambda: cloud(4),
    "five columns, single precision": lambda: cloud(5).astype(np.float32) + 100,
    "many columns, clusters": lambda: blobs(17),
    "a grid, full of ties": lambda: np.random.default_rng(3).integers(0, 4, (N, 3)).astype(float),
    "seven places": lambda: cloud(6, n=7)[np.random.default_rng(4).integers(0, 7, N)],
}


def starts_of(rows, ks, seed=0):
    rng = np.random.default_rng(seed)
    return [rows.rows(rng.choice(rows.n_samples, k, replace=False)) for k in ks]


def plain_lloyd(X, centers, max_iter):
    """(labels, centers, steps) with every distance in float64; not where a cluster gets empty."""
    labels, steps = None, 0
    while True:
        new = ((centers**2).sum(axis=1) / 2 - X @ centers.T).argmin(axis=1)
        same = labels is not None and np.array_equal(new, labels)
        labels = new
        if steps == max_iter:
            return labels, centers, steps
        assume(len(np.unique(labels)) == len(centers))
        centers = np.array([X[labels == j].mean(axis=0) for j in range(len(centers))])
        steps += 1
        if same:
            return labels, centers, steps


def test_four_numbers_by_hand():
    """0, 1, 10, 11 from 0 and 1: the means are 0 and 22/3, then 1/2 and 21/2, and stay."""
    rows = as_rows(np.array([[0.0], [1.0], [10.0], [11.0]]), np.ones(4), 1)
    labels, n_iter, converged, centers = lloyd_either_way(
        rows, [np.array([[0.0], [1.0]]) - rows.middle], max_iter=9, tol=0.0
    )
    assert labels.tolist() == [[0, 0, 1, 1]]
    assert n_iter.tolist() == [3]
    assert converged.tolist() == [True]
    assert np.allclose(rows.uncentre(centers[0]), [[0.5], [10.5]])


@examples(60)
@given(
    d=st.integers(1, 9),
    k=st.integers(1, 12),
    n=st.integers(12, 2 * TILE + 3),
    seed=st.integers(0, 2**16),
    max_iter=st.integers(1, 12),
)
def test_labels_are_those_of_plain_steps(d, k, n, seed, max_iter):
    rows = as_rows(cloud(d, seed, n), np.ones(n), 1)
    X = rows.rows(np.arange(n))
    labels, _, _, centers = lloyd_either_way(rows, [X[:k]], max_iter=max_iter, tol=-1.0)
    found, at, _ = plain_lloyd(X, X[:k], max_iter)
    assert np.array_equal(labels[0], found)
    assert np.allclose(centers[0], at, atol=1e-12)


@pytest.mark.parametrize("always", [False, True], ids=["as it comes", "gaps from the start"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_every_bit_is_that_of_shared_passes(name, weighted, always, monkeypatch):
    monkeypatch.setattr(narrow, "FEWEST", 2)
    monkeypatch.setattr(narrow, "PRODUCTS", 1)
    monkeypatch.setattr(narrow, "SEVERAL", 32)
    if always:
        monkeypatch.setattr(narrow, "few_enough", lambda k, d: 2.0)
    weight = np.random.default_rng(5).uniform(0.5, 2, N) if weighted else np.ones(N)
    with one_blas_thread():
        rows = as_rows(DATA[name](), weight, 2)
        starts = starts_of(rows, [1, 2, 9, 30, 7])
        for max_iter, tol in ((300, 0.0), (4, 0.0), (300, 1e-2 * rows.mean_variance)):
            shared = lloyd(rows, starts, max_iter=max_iter, tol=tol)
            found = lloyd_either_way(rows, starts, max_iter=max_iter, tol=tol)
            for ours, theirs in zip(found[:3], shared[:3]):
                assert np.array_equal(ours, theirs)
            for ours, theirs in zip(found[3], shared[3]):
                assert np.array_equal(ours, theirs)


def test_runs_that_do_not_pay_share_passes_beside_the_others(monkeypatch):
    monkeypatch.setattr(narrow, "CENTERS", 8)
    rows = as_rows(cloud(4), np.ones(N), 1)
    starts = starts_of(rows, [3, 12, 8])
    assert [by_tiles(rows, len(c), 3) for c in starts] == [True, False, True]
    done = []
    found = lloyd_either_way(rows, starts, max_iter=300, tol=0.0, on_done=done.append)
    shared = lloyd(rows, starts, max_iter=300, tol=0.0)
    assert np.array_equal(found[0], shared[0])
    assert np.array_equal(found[1], shared[1])
    assert sum(done) == 3


def test_wide_turned_and_far_rows_share_passes():
    few = cloud(6) @ np.random.default_rng(1).normal(size=(6, 90))
    far = np.vstack([cloud(3)[:-1], np.full((1, 3), 1e30)])
    for X in (few, cloud(40), far):
        assert not by_tiles(as_rows(X, np.ones(N), 1), 5, 1)
    assert by_tiles(as_rows(cloud(16), np.ones(N), 1), 5, 1)
    assert not by_tiles(as_rows(cloud(16), np.ones(N), 1), 5, 2)


def test_gaps_are_kept_once_centers_settle_and_are_never_too_large():
    rows = as_rows(blobs(4), np.ones(N), 1)
    X = rows.rows(np.arange(N))
    run = Run(Tiles(rows), X[:9], np.zeros(N, dtype=np.int32))
    run.go(300, 0.0)
    assert run.bounded
    distances = np.sqrt(((X[:, None] - run.centers) ** 2).sum(axis=2)) / rows.scale
    nearest = np.partition(distances, 1, axis=1)
    left = run.gaps - run.used[run.labels]
    assert (left <= nearest[:, 1] - nearest[:, 0]).all()
    # What is left is also worth keeping.
    assert np.median(left) > 0.5 * np.median(nearest[:, 1] - nearest[:, 0])


def test_the_used_part_of_gaps_is_the_own_move_and_the_largest_other():
    rows = as_rows(cloud(2), np.ones(N), 1)
    run = Run(Tiles(rows), rows.rows(np.arange(3)), np.zeros(N, dtype=np.int32))
    run.moved(np.array([1.0, 5.0, 3.0]))
    assert run.step.tolist() == [6.0, 8.0, 8.0]
    run.moved(np.array([1.0, 0.0, 0.0]))
    assert run.used.tolist() == [7.0, 9.0, 9.0]


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("k", [1, 4, 5, 11])
def test_one_look_finds_the_nearest_centers_and_lists_what_changed(d, k):
    rows = as_rows(cloud(d), np.ones(N), 1)
    X, centers = rows.rows(np.arange(N)), cloud(d, 1, k)
    tiles = np.zeros((n_tiles(N), d, TILE), np.float32)
    fill_tiles(rows.X, rows.middle, rows.scale, tiles, 0, len(tiles))
    screen = padded(k, d)
    margin = screen_centers(centers, rows.scale, rows.rounding, *screen)
    half_squares = (centers**2).sum(axis=1) / 2
    was = np.random.default_rng(2).integers(0, k, N).astype(np.int32)
    labels, changes = was.copy(), np.empty(N, np.int64)
    data = TiledRows(tiles, rows.lengths, rows.X, rows.middle, rows.scale, rows.rounding)
    ends = TiledCenters(*screen, margin, centers, half_squares)
    state = State(labels, np.zeros(0, np.float32), np.zeros(k), np.full(k, np.inf), False)
    count, _ = look_at_tiles(data, ends, state, changes, 0, len(tiles))
    assert np.array_equal(labels, (half_squares - X @ centers.T).argmin(axis=1))
    row, old = changes[:count] >> 32, changes[:count] & 0xFFFFFFFF
    assert np.array_equal(row, np.flatnonzero(was != labels))
    assert np.array_equal(old, was[row])


@pytest.mark.parametrize("size", [1e3, 1e25])
def test_equal_centers_the_first_of_them_and_centers_far_beyond(size):
    rows = as_rows(cloud(3), np.ones(N), 1)
    far = np.full((2, 3), size) * [[1.0], [-1.0]]
    start = np.vstack([far[:1], rows.rows(np.arange(4)), rows.rows(np.arange(4)), far[1:]])
    labels = lloyd_either_way(rows, [start], max_iter=1, tol=0.0)[0]
    run = Run(Tiles(rows), start, np.zeros(N, dtype=np.int32))
    run.look()
    assert set(run.labels.tolist()) == {1, 2, 3, 4}
    assert labels.shape == (1, N)


def test_gaps_pay_for_more_rows_the_dearer_a_row_is():
    shares = [few_enough(k, d) for k, d in ((10, 4), (10, 16), (40, 16), (100, 32))]
    assert shares == sorted(shares)
    assert all(0 < share < 1 for share in shares)
