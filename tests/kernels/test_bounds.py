"""No kernel leaves its arrays: hostile input with every index checked, and the checks in front of kernels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience._base.parameters import checked_csr
from consilience._kernels.kmeans import many_kmeans, nearest_centers
from consilience._kernels.kmeans.small import SmallRows, plus_plus
from consilience._kernels.labels.information import expected_mutual_information
from consilience._kernels.neighbors import search
from consilience.errors import InputError

SOURCE = Path(cs.__file__).parent
COMPILED = bool(os.environ.get("NUMBA_BOUNDSCHECK"))  # make test-kernels


@pytest.mark.timeout(1000)  # with every index checked, in make test-kernels
def test_no_kernel_leaves_its_arrays():
    """As Python, which checks every index by itself, or compiled with checks if these are on."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    if not COMPILED:
        env["NUMBA_DISABLE_JIT"] = "1"
    program = Path(__file__).with_name("fuzz.py")
    done = subprocess.run(
        [sys.executable, program, "40"], env=env, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    fuzz = json.loads(done.stdout.splitlines()[-1])
    assert not fuzz["wrong"], "\n".join(fuzz["wrong"][:3])
    assert max(fuzz["refused"].values()) < 30, f"some cases hardly reach their kernels: {fuzz['refused']}"
    assert len(fuzz["kernels"]) == decorated(), "a kernel is not registered"
    if not COMPILED:  # compiled, those that are written into others leave no trace
        assert set(fuzz["kernels"]) == set(fuzz["ran"]), "give these kernels a case in fuzz.py"


def decorated() -> int:
    """Compiled functions in the sources, which know one way to compile."""
    count = 0
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        count += len(re.findall(r"^@(?:kernel|fast_kernel|_step_of_pivot)(?:\(.*\))?$", text, re.M))
        if path.parent.name != "compile":
            count += len(re.findall(r"[=,] kernel\(", text))  # of a function that Python calls too
            assert not re.search(r"\bn?jit\(|import numba|from numba|@.*(?:vectorize|stencil)", text), path
    return count


# Doors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"ks": [0]},
        {"ks": [6]},
        {"sample_weight": np.ones(4)},
        {"inits": [np.ones((2, 4))]},
        {"inits": [np.ones((3, 3))]},
        {"inits": [np.ones((0, 3))], "ks": [0]},
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_kmeans_checks_what_its_loops_take_for_granted(kind, changed):
    X = kind(np.arange(15.0).reshape(5, 3))
    with pytest.raises(ValueError, match=r"expected|inits"):
        many_kmeans(X, **{"ks": [2], "seeds": [0], **changed})


@pytest.mark.parametrize("centers", [[], [np.ones((0, 3))], [np.ones((2, 2))]])
def test_nearest_centers_checks_shapes(centers):
    with pytest.raises(ValueError, match="Centers of shapes"):
        nearest_centers(np.ones((5, 3)), centers)


def test_starts_are_rows_even_where_weights_overflow(seed):
    X = np.random.default_rng(seed).normal(size=(20, 2))
    chosen = plus_plus(SmallRows(X, np.full(20, 1e308)), 6, np.random.default_rng(seed))
    assert np.all((chosen >= 0) & (chosen < 20))


@pytest.mark.parametrize("k", [0, 5])
def test_neighbors_are_other_rows(k):
    with pytest.raises(ValueError, match=f"k={k} neighbors among 5 rows"):
        search.nearest(search.Pairs(np.ones((5, 2))), k)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_without_a_finite_distance_have_no_neighbors(kind):
    X = np.ones((5, 2))
    X[2] = np.nan
    with pytest.raises(ValueError, match="finite distance"):
        search.nearest(search.Pairs(kind(X)), 2)


@pytest.mark.parametrize("rows", [[1.5, 1.5], [0, 3]])
def test_margins_are_counts(rows):
    with pytest.raises(ValueError, match="whole positive numbers"):
        expected_mutual_information(np.array(rows), np.array([1, 2]))


def broken(layout):
    """Matrices with an index outside of them, and pieces that do not fit together."""
    whole = sp.csr_array(np.arange(1.0, 13).reshape(4, 3))
    if layout == "lil":
        X = whole.tolil()
        X.rows[1][0] = 9
        yield X
        return
    for value in (-1, 3 if layout == "csr" else 4, 2**30):
        X = whole.asformat(layout).copy()
        (X.col if layout == "coo" else X.indices)[2] = value
        yield X
    if layout in ("csr", "csc", "bsr"):
        for place, value in ((0, 1), (1, 10**6), (-1, 10**6), (-1, -1)):
            X = whole.asformat(layout).copy()
            X.indptr[place] = value
            yield X


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo", "lil"])
def test_damaged_sparse_matrices_are_refused_at_the_door(layout):
    for X in broken(layout):
        with pytest.raises(InputError, match=r"X is a damaged sparse matrix of shape \(4, 3\)"):
            cs.generate.kmeans(X, n_clusterings=2, n_clusters=2, random_state=0)
        with pytest.raises(InputError, match="Block 0 of the list is a damaged sparse matrix"):
            cs.Ensemble.from_clusterings([X, X])


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("shape", [(4, 3), (4, 6), (0, 2)])
def test_sound_sparse_matrices_pass(layout, shape):
    A = np.arange(shape[0] * shape[1], dtype=float).reshape(shape) % 5
    X = sp.csr_array(A).asformat(layout)
    assert np.array_equal(checked_csr(X, "X").toarray(), A)
