"""BestOf: never below its members, and what it takes for members."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

from ..zoo import planted


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_scores_are_those_of_the_members_and_the_best_wins(seed, missing):
    labels, _ = planted(seed, n=100, m=8, noise=0.5, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 100)
    ens = cs.Ensemble(labels, sample_weight=weights)
    members = [
        cs.consensus.LWEA(4),
        cs.consensus.EvidenceAccumulation(4, linkage="complete"),
        cs.consensus.MCLA(4, random_state=3),
    ]
    model = cs.consensus.BestOf(4, methods=members).fit(ens)
    expected = [cs.metrics.anmi(member.fit(ens).labels_, ens) for member in members]
    assert list(model.scores_) == ["lwea", "evidence-accumulation", "mcla"]
    assert np.allclose(list(model.scores_.values()), expected)
    assert cs.metrics.anmi(model.labels_, ens) == pytest.approx(max(expected))
    assert model.scores_[model.best_method_] == max(model.scores_.values())


def test_default_members_by_any_spelling(seed):
    labels, _ = planted(seed)
    model = cs.consensus.BestOf(3, random_state=0).fit(labels)
    assert list(model.scores_) == ["cspa", "mcla", "hbgf"]
    again = cs.consensus.BestOf(3, methods=["CSPA", "MCLA", "HBGF"], random_state=0).fit(labels)
    assert again.scores_ == model.scores_
    assert np.array_equal(again.labels_, model.labels_)


def test_equal_members_are_told_apart_and_the_first_wins(seed):
    labels, _ = planted(seed)
    model = cs.consensus.BestOf(
        3,
        methods=[cs.consensus.LWEA(), cs.consensus.LWEA(instability_tolerance=1.0), cs.consensus.LWEA()],
        criterion="ari",
    ).fit(labels)
    assert list(model.scores_) == ["lwea", "lwea 2", "lwea 3"]
    assert model.best_method_ != "lwea 3"


def test_objects_that_nothing_tells_apart():
    """One distinct object is too few for a method by itself; together they are one cluster."""
    model = cs.consensus.BestOf(1, methods=("mcla", "lwea")).fit(np.zeros((4, 3), int))
    assert model.labels_.tolist() == [0, 0, 0, 0]
    assert list(model.scores_) == ["mcla", "lwea"]


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ([], "a list of names"),
        ("cspa", "a list of names"),
        ([3], "a list of names"),
        (["no-such"], "no-such"),
        (["best-of"], "names 'best-of' itself"),
    ],
)
def test_refuses_what_is_no_method(methods, words):
    labels, _ = planted()
    with pytest.raises(InputError, match=words):
        cs.consensus.BestOf(3, methods=methods).fit(labels)
