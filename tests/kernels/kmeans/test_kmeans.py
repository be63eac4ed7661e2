"""The many-run k-means kernel against scikit-learn, against itself, and on its edge cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from consilience._kernels import kmeans as kernel
from consilience._kernels.kmeans import assign, many_kmeans, nearest_centers
from consilience._kernels.kmeans import rows as kmeans_rows
from consilience._kernels.kmeans import small as kmeans_small
from consilience._kernels.runtime.threads import one_blas_thread


@pytest.fixture(autouse=True, params=["shared passes", "compiled runs"])
def way(request, monkeypatch):
    """Everything holds for both ways through dense data."""
    monkeypatch.setattr(kmeans_small, "SMALL", 0 if request.param == "shared passes" else 2**20)
    return request.param


def starts(X, k, m, seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(X[rng.choice(len(X), k, replace=False)], dtype=float) for _ in range(m)]


def reference(X, init, **options):
    with one_blas_thread():
        return KMeans(len(init), init=init, n_init=1, algorithm="lloyd", **options).fit(X)


def low_rank(n, d, rank, seed, noise=0.05):
    """Rows near a subspace, where the turned screen is used."""
    rng = np.random.default_rng(seed)
    core = make_blobs(n, rank, centers=6, cluster_std=3.0, random_state=seed)[0]
    return core @ rng.normal(size=(rank, d)) + noise * rng.normal(size=(n, d)) + 5.0


DATA = {
    "digits": lambda: load_digits().data,
    "few columns": lambda: make_blobs(2500, 3, centers=7, cluster_std=2.0, random_state=0)[0],
    "low rank": lambda: low_rank(1500, 200, 10, 0),
    "no structure": lambda: np.random.default_rng(0).normal(size=(1200, 150)),
    "wide": lambda: low_rank(60, 900, 8, 1),
    "one column": lambda: np.random.default_rng(1).normal(size=(500, 1)),
    "far from the origin": lambda: make_blobs(600, 5, random_state=2)[0] + 1e6,
}


@pytest.mark.parametrize("name", DATA)
def test_equal_starts_give_scikit_learns_answer(name):
    X = DATA[name]()
    inits = starts(X, 6, 3, 0)
    ours = many_kmeans(X, [6] * 3, inits=inits)
    for r, init in enumerate(inits):
        theirs = reference(X, init)
        assert np.array_equal(ours.labels[:, r], theirs.labels_)
        assert ours.n_iter[r] == theirs.n_iter_
        assert ours.inertia[r] == pytest.approx(theirs.inertia_, rel=1e-9)
        np.testing.assert_allclose(ours.centers[r], theirs.cluster_centers_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_number_types_agree(dtype):
    X = load_digits().data
    inits = starts(X, 10, 2, 3)
    exact = many_kmeans(X, [10, 10], inits=inits)
    other = many_kmeans(X.astype(dtype), [10, 10], inits=inits)
    assert np.array_equal(other.labels, exact.labels)
    np.testing.assert_allclose(other.inertia, exact.inertia, rtol=1e-12)


@pytest.mark.parametrize("density", [0.05, 0.4])
def test_sparse_gives_the_dense_answer(density):
    X = sp.random(700, 90, density=density, format="csr", random_state=0)
    inits = starts(X.toarray(), 8, 3, 0)
    dense = many_kmeans(X.toarray(), [8] * 3, inits=inits)
    for form in (X, X.tocsc(), sp.csr_array(X)):
        sparse = many_kmeans(form, [8] * 3, inits=inits)
        assert np.array_equal(sparse.labels, dense.labels)
        assert np.array_equal(sparse.n_iter, dense.n_iter)
        np.testing.assert_allclose(sparse.inertia, dense.inertia, rtol=1e-9)
        np.testing.assert_allclose(sparse.centers[0], dense.centers[0], atol=1e-10)


def test_sparse_matches_scikit_learn():
    X = sp.random(900, 120, density=0.1, format="csr", random_state=1)
    init = starts(X.toarray(), 5, 1, 0)[0]
    ours = many_kmeans(X, [5], inits=[init])
    theirs = reference(X, init)
    assert np.array_equal(ours.labels[:, 0], theirs.labels_)
    assert ours.inertia[0] == pytest.approx(theirs.inertia_, rel=1e-9)


def test_duplicate_entries_of_a_sparse_matrix_are_summed_and_left_alone():
    X = sp.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 9.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 3, 4])), (3, 2)
    )
    result = many_kmeans(X, [3], seeds=[0])
    assert sorted(map(tuple, result.centers[0])) == [(0.0, 3.0), (0.0, 9.0), (3.0, 0.0)]
    assert X.nnz == 4


def test_weights_equal_repeated_rows():
    X = make_blobs(200, 4, centers=5, cluster_std=3, random_state=0)[0]
    times = np.random.default_rng(0).integers(1, 4, len(X))
    inits = starts(X, 5, 3, 1)
    weighted = many_kmeans(X, [5] * 3, inits=inits, sample_weight=times, tol=0)
    repeated = many_kmeans(np.repeat(X, times, axis=0), [5] * 3, inits=inits, tol=0)
    assert np.array_equal(np.repeat(weighted.labels, times, axis=0), repeated.labels)
    np.testing.assert_allclose(weighted.inertia, repeated.inertia)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_threads_and_neighboring_runs_change_nothing(init, sparse):
    X = low_rank(3000, 120, 6, 2)
    if sparse:
        X = sp.csr_matrix(np.where(np.abs(X - 5) > 8, X, 0.0))
    ks = [3, 12, 5, 8]
    alone = [many_kmeans(X, [k], seeds=[s], init=init, n_jobs=1) for s, k in enumerate(ks)]
    for n_jobs in (1, 2, 5):
        together = many_kmeans(X, ks, seeds=range(4), init=init, n_jobs=n_jobs)
        for r in range(4):
            assert np.array_equal(together.labels[:, r], alone[r].labels[:, 0])
            assert together.inertia[r] == alone[r].inertia[0]
            assert together.n_iter[r] == alone[r].n_iter[0]


def test_small_parts_and_batches_change_nothing(monkeypatch):
    X = low_rank(2100, 100, 5, 3)
    ks = [4, 9, 2, 7, 7]
    whole = many_kmeans(X, ks, seeds=range(5))
    monkeypatch.setattr(assign, "PART", 10)
    monkeypatch.setattr(kernel, "BATCH", 12 * 100)
    assert len(kernel._batches(np.array(ks), 100)) == 4
    pieces = many_kmeans(X, ks, seeds=range(5))
    assert np.array_equal(whole.labels, pieces.labels)
    assert np.array_equal(whole.inertia, pieces.inertia)


def test_bounds_hold():
    """Eq. (2): L is below the exact score, and not below by more than twice the error."""
    for X in (low_rank(800, 160, 8, 4).astype(np.float32), np.random.default_rng(0).normal(size=(800, 60))):
        rows = kmeans_rows.as_rows(X, np.ones(len(X)), 1)
        centers = np.concatenate(
            [rows.rows(np.arange(5)), rows.rows(np.arange(400)).reshape(4, 100, -1).mean(1)]
        )
        stack = rows.stack(centers, np.array([len(centers)]))
        L = (rows.bounds(stack, slice(0, len(centers)), 0, 800) + stack.least[:, None]).astype(float)
        exact = stack.half_squares[:, None] - centers @ rows.rows(np.arange(800)).T
        far, blur = rows.doubt(0, 800)
        error = np.outer(stack.remainder, far) + stack.margin[:, None]
        assert np.all(exact >= (L - blur) * rows.scale**2)
        assert np.all(exact <= (L + 2 * error + blur) * rows.scale**2)


def test_low_rank_rows_are_turned_and_others_are_not():
    turned = kmeans_rows.as_rows(low_rank(800, 160, 8, 4), np.ones(800), 1)
    assert turned.directions.shape[1] <= 10
    plain = kmeans_rows.as_rows(np.random.default_rng(0).normal(size=(3000, 400)), np.ones(3000), 1)
    assert plain.directions is None


def test_empty_clusters_restart_at_the_farthest_rows():
    X = np.array([[0.0], [1.0], [2.0], [10.0], [30.0]])
    init = np.array([[1.0], [-500.0], [-600.0]])
    ours = many_kmeans(X, [3], inits=[init])
    theirs = reference(X, init)
    assert np.array_equal(ours.labels[:, 0], theirs.labels_)
    assert len(np.unique(ours.labels)) == 3
    assert ours.inertia[0] == pytest.approx(2.0)
    sparse = many_kmeans(sp.csr_matrix(X), [3], inits=[init])
    assert np.array_equal(sparse.labels, ours.labels)


def test_one_cluster_and_as_many_as_rows():
    X = make_blobs(30, 3, random_state=0)[0]
    result = many_kmeans(X, [1, 30, 30], seeds=[0, 1, 2])
    assert np.all(result.labels[:, 0] == 0)
    assert result.inertia[0] == pytest.approx(((X - X.mean(0)) ** 2).sum())
    assert len(np.unique(result.labels[:, 1])) == len(np.unique(result.labels[:, 2])) == 30
    np.testing.assert_allclose(result.inertia[1:], 0, atol=1e-20)


@pytest.mark.parametrize("sparse", [False, True])
def test_starts_are_distinct_among_duplicates(sparse):
    """7 different rows, a thousand times each in a ratio that makes most draws repeat one of them."""
    X = np.repeat(np.random.default_rng(0).normal(size=(7, 70)), [2000, 1, 1, 1, 1, 1, 1], axis=0)
    result = many_kmeans(sp.csr_matrix(X) if sparse else X, [7] * 5, seeds=range(5))
    np.testing.assert_allclose(result.inertia, 0, atol=1e-12)
    assert all(len(np.unique(column)) == 7 for column in result.labels.T)


def test_equal_rows_only():
    result = many_kmeans(np.ones((5, 3)), [2], seeds=[0])
    assert np.all(result.labels == result.labels[0])
    assert result.inertia[0] == 0


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
def test_scale_of_the_data_does_not_matter(scale):
    X = make_blobs(300, 60, centers=4, cluster_std=5, random_state=0)[0]
    plain = many_kmeans(X, [4, 4], seeds=[0, 1])
    scaled = many_kmeans(X * scale, [4, 4], seeds=[0, 1])
    assert np.array_equal(plain.labels, scaled.labels)


def test_input_is_left_alone_and_any_layout_will_do():
    X = load_digits().data[:400]
    frozen = X.copy()
    frozen.setflags(write=False)
    base = many_kmeans(frozen, [4, 4], seeds=[0, 1])
    assert np.array_equal(frozen, X)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1][::-1]):
        assert np.array_equal(many_kmeans(other, [4, 4], seeds=[0, 1]).labels, base.labels)
    locked = sp.csr_matrix(X)
    for part in (locked.data, locked.indices, locked.indptr):
        part.setflags(write=False)
    assert many_kmeans(locked, [4], seeds=[0]).labels.shape == (400, 1)


def test_stops_at_max_iter_and_says_so():
    X = np.random.default_rng(0).normal(size=(2000, 8))
    short = many_kmeans(X, [8, 8], seeds=[0, 1], max_iter=2, tol=0)
    assert short.n_iter.tolist() == [2, 2]
    assert not short.converged.any()
    nearest = ((X[:, None] - short.centers[0]) ** 2).sum(-1).argmin(1)
    assert np.array_equal(nearest, short.labels[:, 0])
    assert many_kmeans(X, [2], seeds=[0]).converged.all()


def test_reports_finished_runs():
    seen = []
    many_kmeans(load_digits().data, [5, 6, 7], seeds=range(3), on_done=seen.append)
    assert sum(seen) == 3


def test_starts_are_as_good_as_scikit_learns():
    X = load_digits().data[:600]
    ours = many_kmeans(X, [10] * 30, seeds=range(30)).inertia.mean()
    with one_blas_thread():  # OpenMP threads that wait for each other crawl on a busy machine
        theirs = np.mean([KMeans(10, n_init=1, random_state=s).fit(X).inertia_ for s in range(30)])
    assert ours <= theirs * 1.01


@pytest.mark.parametrize("sparse", [False, True])
def test_nearest_centers(sparse):
    X = low_rank(400, 90, 5, 7)
    rng = np.random.default_rng(0)
    sets = [X[rng.choice(400, k, replace=False)] for k in (1, 3, 17)]
    found = nearest_centers(sp.csr_matrix(X) if sparse else X, sets)
    for column, centers in zip(found.T, sets):
        assert np.array_equal(column, ((X[:, None] - centers) ** 2).sum(-1).argmin(1))


def test_threads_of_blas_are_given_back():
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info()]
    many_kmeans(load_digits().data, [3], seeds=[0])
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_both_ways_give_the_same_runs(monkeypatch):
    X = make_blobs(1500, 12, centers=8, cluster_std=4, random_state=0)[0]
    weight = np.random.default_rng(0).integers(1, 4, 1500)
    found = []
    for small in (0, 2**20):
        monkeypatch.setattr(kmeans_small, "SMALL", small)
        found.append(many_kmeans(X, [3, 8, 20], seeds=range(3), sample_weight=weight))
    assert np.array_equal(found[0].labels, found[1].labels)
    assert np.array_equal(found[0].n_iter, found[1].n_iter)
    np.testing.assert_allclose(found[0].inertia, found[1].inertia, rtol=1e-12)
