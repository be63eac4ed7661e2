"""Few labels are read without kernels: the answers are those of the kernels, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._data.ensemble import Ensemble
from consilience._kernels.labels import codes, contingency, distinct, overlaps
from consilience._kernels.labels.few import FEW_LABELS
from consilience._kernels.pairs import coassociation


def both(monkeypatch, function):
    """What it returns without kernels, and with them."""
    quick = function()
    for room in (codes, contingency, distinct, overlaps):
        monkeypatch.setattr(room, "FEW_LABELS", 0)
    monkeypatch.setattr(coassociation, "_FEW", 0)
    return quick, function()


def same(one, other):
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            same(a, b)
    else:
        assert one == other


@pytest.fixture(params=range(6))
def case(request):
    """Labels (n, m) with or without missing ones, and weights of the objects."""
    rng = np.random.default_rng(request.param)
    n, m = [(1, 1), (7, 1), (40, 5), (300, 10), (150, 3), (500, 64)][request.param]
    labels = rng.integers(0, [3, 2, 4, 6, 40, 9][request.param], (n, m))
    if request.param % 2:
        labels[rng.random(labels.shape) < 0.2] = -1
        labels[0] = 0
    assert labels.size <= FEW_LABELS
    return rng, labels, rng.uniform(0.1, 3, n)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, bool])
def test_codes(case, monkeypatch, kind):
    _, labels, _ = case
    if kind in (np.uint8, np.uint64, bool):
        labels = np.abs(labels)
    same(*both(monkeypatch, lambda: codes.code_integers(labels.astype(kind))))


@pytest.mark.parametrize("shift", [-5, 2**62, -(2**63) + 1])
def test_codes_of_labels_far_from_zero(case, monkeypatch, shift):
    _, labels, _ = case
    same(*both(monkeypatch, lambda: codes.code_integers(np.abs(labels) + shift)))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_distinct_rows(case, monkeypatch, kind):
    rng, labels, _ = case
    repeated = labels[rng.integers(0, max(1, len(labels) // 2), len(labels))].astype(kind)
    (representatives, inverse), kernels = both(monkeypatch, lambda: distinct.unique_rows(repeated))
    same((representatives, inverse), kernels)
    assert (repeated[representatives][inverse] == repeated).all()


def test_canonical_colors(case, monkeypatch):
    _, labels, weights = case
    ensemble = Ensemble(labels)
    offsets = np.asarray(ensemble.offsets)
    ids = np.where(ensemble.labels < 0, -1, ensemble.labels + offsets[:-1])
    same(*both(monkeypatch, lambda: distinct.canonical_colors(ids, offsets, weights)))
    same(*both(monkeypatch, lambda: distinct.canonical_colors(ids, offsets, np.ones(len(ids)))))


def test_tables_and_sums(case, monkeypatch):
    rng, labels, weights = case
    ensemble = Ensemble(labels)
    labels, offsets, n = ensemble.labels, np.asarray(ensemble.offsets), len(weights)
    k = int(offsets[-1])
    groups, rows = rng.integers(-1, 3, n + 2), rng.integers(0, n, n + 2)
    over_clusters, over_objects = rng.normal(size=(k, 7)), rng.normal(size=(n, 7))
    same(
        *both(
            monkeypatch,
            lambda: (
                contingency.cross_table(labels, offsets, groups[:n], 3, weights),
                contingency.cross_table(labels, offsets, groups[:n], 3),
                overlaps.overlap_matrix(labels, offsets, weights),
                overlaps.gather(labels, offsets, over_clusters),
                overlaps.gather_own(labels, offsets, over_clusters, groups, rows=rows),
                overlaps.gather_own(labels, offsets, over_clusters, groups[:n]),
                overlaps.scatter(labels, offsets, over_objects),
            ),
        )
    )


@pytest.mark.parametrize("span", [(0, 1.0), (0.3, 0.8)])
def test_rows_of_coassociation(case, monkeypatch, span):
    rng, labels, _ = case
    ensemble = Ensemble(labels)
    offsets = np.asarray(ensemble.offsets)
    ids = np.ascontiguousarray(np.where(ensemble.labels < 0, -1, ensemble.labels + offsets[:-1]).T)
    start, stop = (int(share * len(labels)) for share in span)
    a, b = rng.uniform(0.1, 1, len(ids)), rng.uniform(0.1, 1, int(offsets[-1]))
    a[0] *= len(ids) == 1  # a clustering without weight among others

    def rows():
        out = np.full((stop - start, len(labels)), np.nan)
        coassociation.dense_rows(ids, a, b, bool((ids < 0).any()), start, stop, out)
        return out

    same(*both(monkeypatch, rows))
