"""The plan of the kept tables: what it names is there, and one command runs it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from consilience.errors import InputError
from reproduction import kept
from reproduction.kept import Step, run_kept, steps
from reproduction.run import Outcome
from reproduction.store import read_store

TABLES = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.protocol)
def test_every_step_is_a_part_of_its_protocol(step):
    chosen = step.restricted()
    assert not step.sets or {item.name for item in chosen.sets} == {*step.sets}
    assert not step.methods or {method.name for method in chosen.methods} == {*step.methods}


def test_every_kept_table_is_in_the_plan():
    figures = pd.read_csv(TABLES / "figures.csv", usecols=["protocol"])
    assert {*figures.protocol} <= {step.protocol for step in steps()}


def test_the_steps_run_into_one_folder_and_those_without_data_are_noted(tmp_path, monkeypatch):
    plan = (
        Step("bundled", sets=("iris",), methods=("KM",), repetitions=2),
        Step("lwgp"),
        Step("bundled", sets=("wine",), methods=("KM",), repetitions=1, tuned=False),
    )
    monkeypatch.setattr(kept, "steps", lambda: plan)
    notes: list[str] = []
    done = [
        (step.sets, outcome.done) for step, outcome in run_kept(out=tmp_path, jobs=1, on_note=notes.append)
    ]
    assert done == [(("iris",), 2), (("wine",), 1)]
    assert any("lwgp: nothing can be run" in note for note in notes)
    assert len(list(read_store(tmp_path).of("cell"))) == 3


def test_a_step_may_have_a_limit_of_time_of_its_own(tmp_path, monkeypatch):
    given: list[float | None] = []
    monkeypatch.setattr(kept, "steps", lambda: (Step("bundled"), Step("bundled", time_limit=60)))
    monkeypatch.setattr(
        kept, "run", lambda protocol, *, time_limit, **options: given.append(time_limit) or Outcome()
    )
    assert len(list(run_kept(out=tmp_path, time_limit=1200))) == 2
    assert given == [1200, 60]


def test_protocols_outside_the_plan_are_named(tmp_path):
    with pytest.raises(InputError, match=r"hold nothing of nonesuch\."):
        next(run_kept(out=tmp_path, only=["nonesuch"]))
