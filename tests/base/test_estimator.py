"""What all methods share: the closed part stays closed, and how the loop ended is kept."""

from __future__ import annotations

import sys

import pytest
from sklearn.exceptions import ConvergenceWarning

from consilience import consensus, multitask
from consilience._base.estimator import BaseMethod, Solution, keep
from consilience.consensus import BaseConsensus
from consilience.multitask import BaseMultitask


def below(cls):
    return {cls}.union(*map(below, cls.__subclasses__()))


@pytest.mark.parametrize("name", ["fit", "fit_predict", "_store"])
@pytest.mark.parametrize(("base", "room"), [(BaseConsensus, consensus), (BaseMultitask, multitask)])
def test_no_method_opens_the_closed_part(base, room, name):
    assert set(room.methods().values()) <= below(base)
    assert {cls for cls in below(base) if name in vars(cls)} == {base}
    if sys.version_info >= (3, 11):  # before, only type checkers see it
        assert getattr(base, name).__final__


class Stub(BaseMethod):
    """Keeps what it is told."""

    def __init__(self, max_iter=7):
        self.max_iter = max_iter

    def fit(self, solution, **learned):
        keep(self, solution, learned)
        return self


def test_what_is_learned_replaces_what_was():
    model = Stub().fit(Solution(history=[3, 2, 1], extra={"rank": 2}), labels=[0, 1])
    assert (model.labels_, model.rank_, model.n_iter_, model.converged_) == ([0, 1], 2, 3, True)
    model.fit(Solution(n_iter=9), labels=[1, 1])
    assert (model.labels_, model.n_iter_, model.history_) == ([1, 1], 9, [])
    assert not hasattr(model, "rank_")


@pytest.mark.parametrize(
    ("shortfall", "words"),
    [("", "raise max_iter=7"), ("it still moves", "it still moves")],
)
def test_a_loop_that_ran_out_is_told_where_fit_was_called(shortfall, words):
    with pytest.warns(
        ConvergenceWarning, match=f"Stub did not converge in 2 iterations: {words}\\."
    ) as caught:
        model = Stub().fit(Solution(history=[1, 2], converged=False, shortfall=shortfall))
    assert [one.filename for one in caught] == [__file__]
    assert not model.converged_
