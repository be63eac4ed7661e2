"""The base of the methods: how it maps solutions back."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import consilience as cs
from consilience._base.progress import progress_shown
from consilience._evidence import table
from consilience.consensus._base import BaseConsensus, Solution
from consilience.errors import LowAgreementWarning

from ..zoo import clear, planted


class Lonely(BaseConsensus):
    """Two clusters, and everyone in the lighter one alone."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def _fit(self, ensemble, rng):
        alone = ensemble.sample_weight < ensemble.sample_weight.max()
        return Solution(alone.astype(int), exact=False, alone=alone)


def test_equal_objects_can_each_be_alone():
    model = Lonely().fit([[0], [1], [1], [0], [1], [2]])
    assert model.labels_.tolist() == [1, 0, 0, 2, 0, 3]
    assert model.confidence_.shape == (6,)
    assert np.unique(model.distinct_.labels).size == 3


def test_order_of_objects_along_a_chain(seed):
    """Two clusterings that link objects in one long chain: what tells them apart is far away."""
    n = 22
    chain = np.column_stack([np.arange(n) // 2, (np.arange(n) + 1) // 2 % 11]).astype(float)
    chain[9, 1] = np.nan
    order = np.random.default_rng(seed).permutation(n)
    wanted, found = (cs.Ensemble(rows).distinct().canonical()[0].labels for rows in (chain, chain[order]))
    assert np.array_equal(found, wanted)


# An answer that its inputs contradict
# ------------------------------------------------------------------------


class Blind(BaseConsensus):
    """Clusters that have nothing to do with the base clusterings."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def _fit(self, ensemble, rng):
        return Solution(np.arange(ensemble.n_samples) * 7919 % self.n_clusters)


@pytest.mark.parametrize("c", [2, 3, 5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_an_answer_that_its_inputs_contradict_is_said_and_the_remedy_helps(c, missing, seed):
    labels, _ = planted(seed, n=120, m=12, c=c, missing=missing)
    with pytest.warns(
        LowAgreementWarning,
        match=r"Blind contradicts its base clusterings: .* mean NMI of 0\.\d\d, and with plain average "
        r"linkage by 0\.\d\d"
        r"\. Use EvidenceAccumulation, or other settings of Blind",
    ) as caught:
        model = Blind(c).fit(labels)
    assert caught[0].filename == __file__
    assert model.contradicted_
    assert model.messages_ == [str(caught[0].message)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAgreementWarning)
        helped = cs.consensus.EvidenceAccumulation(c).fit(labels)
    assert helped.messages_ == []
    assert helped.consensus_nmi_ == pytest.approx(helped.baseline_nmi_, rel=1e-12)
    assert helped.baseline_nmi_ == pytest.approx(model.baseline_nmi_, rel=1e-12)


def test_a_warning_is_about_the_line_of_the_user_through_scikit_learn_too():
    labels, _ = planted(0, n=120, m=12, c=3)
    with pytest.warns(LowAgreementWarning) as caught:
        make_pipeline(Blind(3)).fit(labels)
    assert caught[0].filename == __file__


def test_agreement_is_the_mean_nmi(seed):
    labels, _ = planted(seed, missing=0.1)
    model = cs.consensus.LWEA(3).fit(labels)
    whole = table.Evidence(cs.Ensemble(labels), model.labels_).agreement("nmi").mean()
    assert model.consensus_nmi_ == pytest.approx(whole, rel=1e-12)


def test_a_sample_judges_many_objects_as_all_of_them(seed, monkeypatch):
    """Within 0.03 of what all objects say, and whatever their order and the unit of their weights."""
    labels, _ = planted(seed, n=3000, m=12, c=4, noise=0.4)
    weights = np.random.default_rng(seed).integers(1, 5, 3000)
    found = cs.consensus.LWEA(4).fit(labels, sample_weight=weights)
    order = np.random.default_rng(seed).permutation(3000)
    moved = cs.consensus.LWEA(4).fit(labels[order], sample_weight=8 * weights[order])
    assert moved.baseline_nmi_ == pytest.approx(found.baseline_nmi_, rel=1e-9)
    monkeypatch.setattr(table, "_SAMPLE", 10_000)
    whole = cs.consensus.LWEA(4).fit(labels, sample_weight=weights)
    assert whole.baseline_nmi_ == pytest.approx(found.baseline_nmi_, abs=0.03)
    assert whole.consensus_nmi_ == found.consensus_nmi_  # of all objects at once


@pytest.mark.parametrize("c", [1, 2, 7])
def test_where_there_is_nothing_to_contradict(c):
    base = np.arange(7)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAgreementWarning)
        for labels in (base, np.repeat(base, 3, axis=1)):
            assert not cs.consensus.EvidenceAccumulation(c).fit(labels).contradicted_
            assert not Blind(1).fit(labels).contradicted_


def test_two_clear_clusters_read_with_signs_are_contradicted():
    """The answer of a published reading that cannot tell two clusters apart."""
    labels, _ = clear(missing=0.01)
    with pytest.warns(LowAgreementWarning, match="NRSEC contradicts its base clusterings"):
        cs.NRSEC(2, entries="signed", random_state=0).fit(labels)


# Long work
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [cs.SCCABG, cs.consensus.CoassociationKMeans])
def test_long_work_is_announced_where_bars_are_shown(cls, capsys, monkeypatch):
    labels, _ = planted(0)
    for long, shown, expected in ((0.0, True, True), (0.0, False, False), (1e9, True, False)):
        monkeypatch.setattr("consilience._base.progress.LONG", long)
        with progress_shown(shown):
            cls(3).fit(labels)
        said = f"consilience: {cls.__name__} on " in capsys.readouterr().err
        assert said == expected


def test_expected_costs_at_11000_objects_and_5636_base_clusters():
    """Measured there: SCCABG more than 442 s and 8.5 GB (interrupted).

    CoassociationKMeans took 82 s on one thread and 1.7 GB.
    """
    labels = np.column_stack([np.arange(5636) % 5636, np.zeros(5636, int)])
    many = cs.Ensemble(labels).distinct()
    seconds, held = cs.SCCABG(10)._cost(many)
    assert 100 < seconds < 1000
    assert 1e9 < held < 1e11
    seconds, held = cs.consensus.CoassociationKMeans(10)._cost(many)
    assert 20 < seconds < 200
    assert 1e9 < held < 5e9


# Lopsided clusters ------------------------------------------------------------------------------------------


def split_into(*sizes) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes)[:, None].repeat(3, axis=1)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((165, 20, 10), r"One cluster holds 85% of the objects \(165 of 195\), the next 20"),
        ((110, 60, 1), "1 cluster is a single object beside a cluster of 110: outliers, or torn off"),
        ((110, 60, 1, 1), "2 clusters are single objects beside a cluster of 110"),
        ((150, 40, 10), None),
        ((90, 9), None),
        ((60, 10, 2), None),
        ((90, 80, 1), None),
    ],
)
def test_lopsided_clusters_are_told(sizes, said):
    model = cs.consensus.EvidenceAccumulation(len(sizes))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(cs.Ensemble(split_into(*sizes)))
    told = [
        str(one.message)
        for one in caught
        if "single object" in str(one.message) or "holds" in str(one.message)
    ]
    assert told == [one for one in model.messages_ if one in told]
    assert len(told) == (said is not None)
    if said:
        assert re.search(said, told[0])
        assert [one.filename for one in caught if str(one.message) in told] == [__file__]
