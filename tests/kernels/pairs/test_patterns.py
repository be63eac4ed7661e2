"""Pairs ever together and their clusterings, against comparing every two objects."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.pairs import patterns
from consilience._kernels.pairs.components import components
from consilience._kernels.pairs.patterns import find_pairs, tie_members


def some_codes(seed, m, missing):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (m, 70)) + 6 * np.arange(m)[:, None]
    codes[rng.random(codes.shape) < missing] = -1
    codes[:, rng.random(70) < 0.1] = -1
    return codes.astype(np.int32)


def bits(flags):
    return np.packbits(flags, bitorder="little")


@pytest.mark.parametrize(("m", "missing"), [(3, 0.0), (8, 0.3), (70, 0.0), (70, 0.5)])
def test_pairs_and_patterns_are_those_of_all_comparisons(seed, m, missing, monkeypatch):
    monkeypatch.setattr(patterns, "_AT_A_TIME", 100)
    codes = some_codes(seed, m, missing)
    seen = codes >= 0
    found = find_pairs(codes, 6 * m, seen=True)
    for p in range(70):
        together = (codes[:, [p]] == codes) & seen
        partners = [q for q in range(p + 1, 70) if together[:, q].any()]
        row = slice(found.indptr[p], found.indptr[p + 1])
        assert found.indices[row].tolist() == partners
        for q, g in zip(partners, found.pattern[row]):
            assert np.array_equal(found.met[g], bits(together[:, q]))
            assert np.array_equal(found.seen[g], bits(seen[:, p] & seen[:, q]))
    both = np.hstack([found.met, found.seen])
    assert len(np.unique(both, axis=0)) == len(both)
    _, first = np.unique(found.pattern, return_index=True)
    assert (np.diff(first) > 0).all()  # numbered as they come, on any number of threads


def test_threads_do_not_change_the_numbers(seed):
    codes = some_codes(seed, 20, 0.1)
    for one, two in zip(*(find_pairs(codes, 120, seen=False, n_jobs=j) for j in (1, 2))):
        assert np.array_equal(one, two)


def test_ties_of_members_have_the_components_of_all_pairs(seed):
    codes = some_codes(seed, 2, 0.4)
    found = find_pairs(codes, 12, seen=False)
    rows = np.repeat(np.arange(70), np.diff(found.indptr))
    together = np.zeros((70, 70))
    together[rows, found.indices] = 1.0
    assert components(tie_members(codes, 12))[0] == components(together)[0]
    assert np.array_equal(components(tie_members(codes, 12))[1], components(together)[1])
