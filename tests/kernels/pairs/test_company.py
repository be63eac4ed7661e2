"""The K largest co-associations of each object, against the whole matrix of pairs."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.pairs.company import strongest_company


def plain(labels, others, K, same):
    together, seen = np.zeros((2, len(labels), len(others)))
    for mine, theirs in zip(labels.T, others.T):
        both = (mine[:, None] >= 0) & (theirs >= 0)
        seen += both
        together += both & (mine[:, None] == theirs)
    A = np.divide(together, seen, out=np.zeros_like(together), where=seen > 0)
    if same:
        np.fill_diagonal(A, 0.0)
    least = np.sort(A, axis=1)[:, max(len(others) - K, 0)]
    return np.where((A > 0) & (least[:, None] <= A), A, 0.0)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("k", [2, 6, 300])  # the last are no bytes
@pytest.mark.parametrize("K", [1, 7, 1000])
def test_all_pairs_and_ties(seed, missing, k, K):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, (60, 9))
    if missing:
        labels[rng.random(labels.shape) < 0.3] = -1
    for others, same in ((labels, True), (labels[:25], False)):
        found = strongest_company(labels, others, K, same=same, any_missing=missing)
        assert np.array_equal(found.toarray(), plain(labels, others, K, same))
        assert np.all(found.data > 0)


def test_more_clusterings_than_a_byte_counts():
    labels = np.zeros((3, 400), int)
    labels[2, :100] = 1
    found = strongest_company(labels, labels, 2, same=True).toarray()
    assert np.array_equal(found, [[0, 1, 0.75], [1, 0, 0.75], [0.75, 0.75, 0]])


def test_the_answer_does_not_depend_on_threads():
    labels = np.random.default_rng(0).integers(0, 3, (700, 5))
    one, two = (strongest_company(labels, labels, 5, same=True, n_jobs=jobs) for jobs in (1, 2))
    assert (one != two).nnz == 0
