"""``stability_``: what halves of the members say about another seed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import consilience as cs
from consilience._pipeline import stability
from consilience._pipeline.stability import stability_of
from consilience._reporting._answer import cautions
from consilience._reporting._provenance import facts
from consilience._results.view import UNSTABLE, Fitted
from consilience.errors import InstabilityWarning
from consilience.metrics import ari


def noise(n=120):
    return np.random.default_rng(0).normal(size=(n, 40))


def test_clear_clusters_are_stable_and_noise_is_not():
    X, _ = make_blobs(150, 6, centers=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InstabilityWarning)
        clear = cs.ConsensusClustering(3, random_state=0).fit(X)
    assert clear.stability_ > 0.99
    assert Fitted.from_estimator(clear).instability == ""
    with pytest.warns(
        InstabilityWarning, match=r"depends on chance.* would be about 0\.\d\d.*not have 5 separate clusters"
    ):
        unclear = cs.ConsensusClustering(5, n_clusterings=12, random_state=0).fit(noise())
    assert unclear.stability_ < UNSTABLE
    fitted = Fitted.from_estimator(unclear)
    assert fitted.instability in cautions(fitted)
    assert unclear.messages_[-1] == fitted.instability
    assert clear.messages_ == []
    for model in (clear, unclear):
        assert f"stability: {model.stability_:.2f}" in model.summary()
    assert dict(facts(fitted, None, None, None))["Stability"].startswith(f"{unclear.stability_:.2f}, ")


@pytest.mark.parametrize("few", [60, 59], ids=["few objects", "many objects"])
def test_it_is_the_calibrated_agreement_of_halves(monkeypatch, few):
    monkeypatch.setattr(stability, "FEW_OBJECTS", few)
    calibration = stability.CALIBRATION if few == 60 else stability.CALIBRATION_OF_MANY
    labels = np.random.default_rng(0).integers(0, 3, (60, 8))
    monkeypatch.setattr(stability, "SPLITS", 1)
    monkeypatch.setattr(stability, "FEWEST", 8)
    found = stability_of(cs.Ensemble(labels), cs.consensus.EvidenceAccumulation(3))
    chosen = np.isin(np.arange(8), np.random.default_rng(0).permutation(8)[:4])
    answers = [
        cs.consensus.EvidenceAccumulation(3).fit_predict(labels[:, half]) for half in (chosen, ~chosen)
    ]
    assert found == pytest.approx(1 - calibration * (1 - ari(*answers)))


def test_members_of_one_embedding_stay_in_one_half():
    X, _ = make_blobs(60, 6, centers=3, random_state=0)
    ens = cs.generate.metric_subspace(X, n_clusterings=10, cuts_per_metric=4, random_state=0)
    groups = stability._sharing(ens.recipes, 10)
    assert [len(set(groups[first : first + 4])) for first in (0, 4, 8)] == [1, 1, 1]
    assert len(set(groups)) == 3
    assert np.isnan(stability_of(ens, cs.consensus.LCE(3)))  # three embeddings are too few
    assert len(set(stability._sharing(None, 10))) == 10


def test_of_a_named_method_it_is_computed_when_asked_for():
    model = cs.ConsensusClustering(5, method="lwea", n_clusterings=20, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InstabilityWarning)
        model.fit(noise())
        assert Fitted.from_estimator(model).seed_agreement is None
        first = model.stability_
    assert first == model.stability_ == stability_of(model.ensemble_, cs.consensus.LWEA(5))
    assert model.set_params(n_clusters=2).fit(noise()).stability_ != first


def test_few_members_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", InstabilityWarning)
        assert np.isnan(cs.ConsensusClustering(5, n_clusterings=9, random_state=0).fit(noise()).stability_)


def test_of_many_objects_some_are_looked_at(monkeypatch):
    X, _ = make_blobs(300, 4, centers=3, random_state=0)
    ens = cs.generate.random_k(X, n_clusterings=12, random_state=0)
    seen = []
    monkeypatch.setattr(stability, "MOST_OBJECTS", 50)
    monkeypatch.setattr(stability, "_answer", lambda half, _: seen.append(half.shape) or np.zeros(50, int))
    stability_of(ens, cs.consensus.LWEA(3))
    assert set(seen) == {(50, 6)}


def test_objects_that_a_half_did_not_see_are_left_out():
    X, _ = make_blobs(80, 4, centers=3, random_state=0)
    model = cs.ConsensusClustering(3, generator="bagging", n_clusterings=12, random_state=0)
    assert 0 < model.fit(X).stability_ <= 1


def test_halves_that_tell_too_few_objects_apart(monkeypatch):
    monkeypatch.setattr(stability, "FEWEST", 4)
    labels = np.zeros((12, 6), int)
    labels[np.arange(6), np.arange(6)] = (
        1  # all together tell seven kinds of objects apart, three of them four
    )
    assert -1 <= stability_of(cs.Ensemble(labels), cs.consensus.LCE(6)) <= 1


def test_halves_that_saw_no_object_alike(monkeypatch):
    monkeypatch.setattr(stability, "FEWEST", 4)
    labels = np.full((12, 4), -1)
    labels[:3, 0] = labels[3:6, 1] = labels[6:9, 2] = labels[9:, 3] = 0
    assert np.isnan(stability_of(cs.Ensemble(labels), cs.consensus.EvidenceAccumulation(2)))


def test_it_outlasts_a_file(tmp_path):
    model = cs.ConsensusClustering(5, method="lwea", n_clusterings=20, random_state=0).fit(noise())
    model.save(tmp_path / "model.consilience")
    assert cs.load(tmp_path / "model.consilience").stability_ == model.stability_
