"""Unique rows: exact for every width, type and number of threads."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._kernels.labels import distinct
from consilience._kernels.labels.distinct import canonical_colors, row_keys, uniforms_by_key, unique_rows


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 7, 8, 20])
def test_equal_rows_share_a_group_numbered_by_first_appearance(dtype, m):
    rng = np.random.default_rng(m)
    matrix = rng.integers(-1, 3, (5000, m)).astype(dtype)
    representatives, inverse = unique_rows(matrix)
    assert np.array_equal(matrix[representatives][inverse], matrix)
    assert representatives.size == len(np.unique(matrix, axis=0))
    assert (np.diff(representatives) > 0).all()
    assert np.array_equal(inverse[representatives], np.arange(representatives.size))


def test_threads_change_nothing():
    matrix = np.random.default_rng(0).integers(0, 4, (200_000, 6)).astype(np.int16)
    one, two = unique_rows(matrix, n_jobs=1), unique_rows(matrix, n_jobs=3)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_equal_hashes_do_not_make_equal_rows():
    """With every hash the same, only the comparison of rows is left."""
    words = np.random.default_rng(0).integers(0, 3, (400, 3)).astype(np.uint64)
    first = np.empty(400, np.int64)
    distinct._group(words, np.zeros(400, np.uint64), np.arange(400), first)
    assert np.array_equal(words[first], words)
    assert np.unique(first).size == len(np.unique(words, axis=0))


def test_edges():
    empty = unique_rows(np.empty((0, 3), np.int16))
    assert [part.size for part in empty] == [0, 0]
    assert [part.tolist() for part in unique_rows(np.empty((2, 0), np.int16))] == [[0], [0, 0]]
    strided = np.arange(24, dtype=np.int16).reshape(4, 6)[:, ::2]
    assert unique_rows(strided)[0].size == 4


def test_colors_tell_objects_apart_by_their_company_only():
    # Objects 0 and 1 are mirror images; 2 is alone in both clusterings.
    codes = np.array([[0, 2], [0, 3], [1, 4]], np.int32)
    colors, clusterings = canonical_colors(codes, np.array([0, 2, 5]), np.ones(3))
    assert colors[0] == colors[1] != colors[2]
    assert clusterings[0] != clusterings[1]


def test_numbers_follow_the_row_not_its_place(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((500, 6)) < 0.5, 0.0, rng.random((500, 6)))
    order = rng.permutation(500)
    keys = row_keys(X)
    assert np.array_equal(row_keys(X[order]), keys[order])
    assert np.array_equal(row_keys(sp.csr_array(X)), keys)
    drawn = uniforms_by_key(keys, 3, np.random.default_rng(5))
    assert np.array_equal(uniforms_by_key(keys[order], 3, np.random.default_rng(5)), drawn[order])
    assert np.array_equal(uniforms_by_key(keys, 2, np.random.default_rng(5)), drawn[:, :2])
    assert not np.array_equal(uniforms_by_key(keys, 3, np.random.default_rng(6)), drawn)
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.05
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.2
