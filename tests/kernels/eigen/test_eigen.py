"""Dense eigenvectors: the requested pairs by any driver, and matrices that the quickest gives up on."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.linalg

import consilience as cs
from consilience._kernels.eigen import dense, eigenpairs, every_eigenpair
from consilience._kernels.runtime.threads import one_blas_thread
from consilience.errors import NumericalError


@pytest.fixture(autouse=True)
def quiet():
    """As every caller has it: threads of BLAS crawl where the machine has other work."""
    with one_blas_thread():
        yield


def symmetric(n, seed=0):
    M = np.random.default_rng(seed).standard_normal((n, n))
    return M + M.T


def check_pairs(M, values, vectors, expected):
    assert np.allclose(values, expected, atol=1e-10 * len(M))
    assert np.allclose(M @ vectors, vectors * values, atol=1e-10 * len(M))
    assert np.allclose(vectors.T @ vectors, np.eye(values.size), atol=1e-10)


@pytest.fixture(params=[0, 1, 2], ids=["evr", "evd", "ev"])
def failures(request, monkeypatch):
    """The first so many drivers work, so that what they overwrite is overwritten, and then report failure."""
    real, calls = scipy.linalg.eigh, []

    def eigh(*args, **options):
        found = real(*args, **options)
        calls.append(options.get("driver", "evr"))
        if len(calls) <= request.param:
            raise np.linalg.LinAlgError("Internal Error.")
        return found

    monkeypatch.setattr(scipy.linalg, "eigh", eigh)
    yield request.param
    assert calls == ["evr", "evd", "ev"][: request.param + 1]


@pytest.mark.parametrize("n", [2, 7, 300])
@pytest.mark.parametrize("which", ["smallest", "largest"])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("part", ["all", "one", "some"])
def test_pairs_from_the_outermost_inwards_by_every_driver(failures, n, which, overwrite, part):
    M = symmetric(n)
    count = {"all": None, "one": 1, "some": (n + 1) // 2}[part]
    expected = np.linalg.eigvalsh(M)[:: 1 if which == "smallest" else -1][:count]
    given = M.copy()
    check_pairs(M, *eigenpairs(given, count, which=which, overwrite=overwrite), expected)
    assert overwrite or np.array_equal(given, M)


@pytest.mark.parametrize("which", ["smallest", "largest"])
def test_a_single_number_is_its_own_eigenvalue(which):
    """LAPACK's divide and conquer, as old versions of SciPy call it, raises another kind of error for it."""
    for values, vectors in (eigenpairs(np.array([[-3.0]]), which=which), every_eigenpair(np.array([[-3.0]]))):
        assert values.tolist() == [-3.0]
        assert vectors.tolist() == [[1.0]]


def test_only_the_upper_triangle_is_read(failures):
    M = symmetric(270, seed=1)
    upper = np.triu(M) + np.tril(np.full_like(M, 7.0), -1)
    check_pairs(M, *eigenpairs(upper, 4, overwrite=True), np.linalg.eigvalsh(M)[:4])


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_order_in_memory(failures, order):
    M = symmetric(40, seed=2)
    given = np.array(M, order=order)
    check_pairs(M, *eigenpairs(given, 3, which="largest", overwrite=True), np.linalg.eigvalsh(M)[:-4:-1])


def test_the_error_when_every_driver_fails(monkeypatch):
    def eigh(*args, **options):
        raise np.linalg.LinAlgError("Internal Error.")

    monkeypatch.setattr(scipy.linalg, "eigh", eigh)
    with pytest.raises(NumericalError, match=re.escape("6 x 6 matrix with entries up to 2 (evr: Internal")):
        eigenpairs(np.diag([1.0, 2.0, 1.0, 1.0, 0.0, 0.0]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_entries_that_are_no_numbers_are_named(value):
    M = symmetric(5)
    M[1, 3] = value
    with pytest.raises(NumericalError, match=f"5 x 5 matrix has 2 .* the first {value} in row 1, column 3"):
        eigenpairs(M, 2)


# What made the quickest driver fail -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [0, 6, 12])
def test_spectral_members_of_rows_that_coincide(seed):
    """Half of the values are zero: rows coincide, and eigenvalues with them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3)) * (rng.random((60, 3)) < 0.5)
    assert cs.generate.spectral(X, n_clusters=27, random_state=0).n_samples == 60


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rsec_of_unanimous_clusterings():
    rng = np.random.default_rng(0)
    for _ in range(4):
        rng.permutation(55)
    labels = np.repeat(np.arange(55), rng.integers(1, 4, 55))
    model = cs.RSEC(36, n_init=2, random_state=0).fit(np.column_stack([labels] * 4))
    assert np.unique(model.labels_).size == 36


def test_a_driver_that_returns_fewer_pairs_than_asked_for_is_replaced(monkeypatch):
    """evr on subsets of bunched eigenvalues can come back short without a word."""
    real = scipy.linalg.eigh

    def short(A, **options):
        values, vectors = real(A, **options)
        return (values, vectors) if options.get("driver") else (values[:0], vectors[:, :0])

    monkeypatch.setattr(scipy.linalg, "eigh", short)
    M = np.diag([1.0, 1.0, 1.0, 0.5, 0.2])
    values, vectors = eigenpairs(M, 2, which="largest")
    assert values.tolist() == [1.0, 1.0]
    np.testing.assert_allclose(M @ vectors, vectors, atol=1e-12)


def test_every_pair_in_steps_is_what_the_driver_finds(monkeypatch):
    """A co-association matrix with many eigenvalues 0, in thin blocks; the same bits on two threads."""
    monkeypatch.setattr(dense, "_COLUMNS", 16)
    labels = np.random.default_rng(0).integers(0, 5, (70, 6))
    M = cs.Ensemble(labels).coassociation()
    before = M.copy()
    values, vectors = every_eigenpair(M)
    check_pairs(M, values, vectors, scipy.linalg.eigvalsh(M))
    assert np.array_equal(M, before)
    for found, one in zip(every_eigenpair(M, n_jobs=2), (values, vectors)):
        assert np.array_equal(found, one)
    upper = every_eigenpair(np.triu(M))  # all that is read
    assert np.array_equal(upper[1], vectors)


def test_every_pair_without_the_step_of_newer_scipy(monkeypatch):
    monkeypatch.setattr(dense, "_COLUMNS", 16)
    M = symmetric(40)
    expected = scipy.linalg.eigvalsh(M)
    monkeypatch.setattr(dense.lapack, "dstevd", lambda d, e: (d, np.eye(40), 1))  # it failed
    check_pairs(M, *every_eigenpair(M), expected)
    monkeypatch.delattr(dense.lapack, "dstevd")
    check_pairs(M, *every_eigenpair(M), expected)
