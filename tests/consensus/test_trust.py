"""Exactly the methods and settings that declare it learn trust in the clusterings."""

from __future__ import annotations

import numpy as np
import pytest

from ..zoo import planted
from .test_common import CASES, build

#: Settings by which a method that otherwise learns trust learns none.
WITHOUT = {"sccabg-2"}
TRUSTING = [
    case for case in CASES if "clustering_weights_" in case.values[0].__doc__ and case.id not in WITHOUT
]
OTHERS = [case for case in CASES if case not in TRUSTING]
of_trusting = pytest.mark.parametrize(("cls", "params"), TRUSTING)


def test_which_settings_learn_none_are_named():
    assert {case.id for case in CASES} >= WITHOUT
    assert len(TRUSTING) >= 10


@of_trusting
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_noise_is_trusted_least(cls, params, seed, missing, weighted):
    labels, _ = planted(seed, n=120, m=7, noise=0.1, missing=missing)
    rng = np.random.default_rng(seed)
    noise = np.where(labels[:, 0] < 0, -1, rng.integers(0, 3, 120))
    weights = rng.integers(1, 4, 120) if weighted else None
    model = build(cls, params).fit(np.insert(labels, 3, noise, axis=1), sample_weight=weights)
    assert model.clustering_weights_.shape == (8,)
    assert (model.clustering_weights_ >= 0).all()
    assert model.clustering_weights_.sum() == pytest.approx(1, abs=1e-12)
    assert model.clustering_weights_.argmin() == 3


@of_trusting
def test_trust_follows_its_clustering(cls, params, seed):
    labels, _ = planted(seed, n=60, m=6, missing=0.1)
    order = np.random.default_rng(seed).permutation(6)
    model, moved = build(cls, params).fit(labels), build(cls, params).fit(labels[:, order])
    np.testing.assert_allclose(moved.clustering_weights_, model.clustering_weights_[order], rtol=1e-9)


@pytest.mark.parametrize(("cls", "params"), OTHERS)
def test_others_learn_no_trust(cls, params):
    labels, _ = planted()
    assert not hasattr(build(cls, params).fit(labels), "clustering_weights_")
