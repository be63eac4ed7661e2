"""Plain loops give what numpy gives, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.compile import plain


def arrays(seed):
    rng = np.random.default_rng(seed)
    for n in (0, 1, 2, 3, 15, 16, 17, 18, 100, 1000):
        yield rng.permutation(n).astype(np.int32)
        yield rng.integers(0, 4, n).astype(np.int32)  # ties
        yield np.arange(n, dtype=np.int32)
        yield np.arange(n, dtype=np.int32)[::-1].copy()
        yield np.concatenate([np.arange(n // 2), np.arange(n - n // 2)[::-1]]).astype(np.int32)


def test_sorted():
    for values in arrays(0):
        expected = np.sort(values)
        plain.sort_inplace(values)
        np.testing.assert_array_equal(values, expected)


def test_the_parts_that_wait_have_room(monkeypatch):
    """The larger one waits and is at most what the present one was; 64 places are enough for any length."""
    n = 1 << 16
    values = np.random.default_rng(0).integers(0, 3, n).astype(np.int32)
    expected = np.sort(values)
    plain.sort_inplace(values)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_kth_smallest(kind):
    rng = np.random.default_rng(0)
    for values in arrays(1):
        for k in rng.integers(0, max(values.size, 1), 5) if values.size else ():
            found = plain.kth_smallest_inplace(values.astype(kind), k)
            assert found == np.partition(values, k)[k]


def test_the_rest():
    values = np.random.default_rng(0).normal(size=1000)
    assert plain.total(values) == sum(values.tolist())
    np.testing.assert_array_equal(plain.counting(5), np.arange(5))
    out = np.empty(1000)
    plain.copy_to(values, out)
    np.testing.assert_array_equal(out, values)
