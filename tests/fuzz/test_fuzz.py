"""A little of the fuzz in every test run, by a fixed seed; ``make fuzz`` runs as long as one likes."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from . import ensembles, features, runner
from .properties import Broken, Case, Exempt, Refused, Suite, load, require, run, save
from .suites import SUITES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="children and limits as POSIX has them")

#: Slices of about 15 seconds on one core, of which a quarter is run every time: (suites, cases).
SLICES = {
    "consensus": (["consensus"], 160),
    "more consensus": (["consensus", "multi-task"], 160),
    "features": (["generators", "features to consensus", "ensemble views", "metrics"], 350),
    "doors": (["containers", "parameters", "round trips", "files", "saved models", "tables"], 800),
}


@pytest.mark.parametrize("part", [4, pytest.param(1, marks=pytest.mark.slow)], ids=["quarter", "whole"])
@pytest.mark.parametrize("name", SLICES)
def test_promises_hold(name, part, tmp_path):
    names, cases = SLICES[name][0], SLICES[name][1] // part
    start = 100_000 * list(SLICES).index(name)  # no case twice
    report = runner.fuzz(
        [n for n in names if n in SUITES], seed=2024, start=start, cases=cases, folder=tmp_path
    )
    shown = [
        f"{f.suite} {f.number}: {f.property}: {f.words[:300]} (saved in {f.file})" for f in report.failures
    ]
    assert not shown, "\n".join(shown)
    assert sum(report.cases.values()) == cases
    assert sum(report.refused.values()) < 0.5 * cases  # what is refused shows little


# The fuzzer itself -----------------------------------------------------------------------------------------


def suite_of(check, share=1.0) -> Suite:
    suite = Suite("own", lambda rng: {"n": int(rng.integers(100))}, 1.0)
    suite.promises("promise", share)(check)
    return suite


def outcome_of(check):
    suite = suite_of(check)
    return run(suite.case(0, 0), suite)


def test_what_counts_as_a_failure():
    import warnings

    from consilience.errors import InputError

    def breaks(case):
        require(False, "words")

    def foreign(case):
        raise ZeroDivisionError("oh")

    def ours(case):
        raise InputError("ours, where none was expected")

    def exempt(case):
        raise Exempt("a reason")

    def refused(case):
        raise Refused

    def warns(case):
        warnings.warn("x", RuntimeWarning, stacklevel=1)

    assert outcome_of(lambda case: None).failures == []
    assert outcome_of(breaks).failures == [("promise", "words")]
    assert outcome_of(foreign).failures[0][0] == "only errors of the library"
    assert outcome_of(ours).failures[0][0] == "promise"
    assert outcome_of(exempt).exempt == [("promise", "a reason")]
    assert outcome_of(refused).refused
    assert outcome_of(warns).failures[0][0] == "no warning leaks"
    with pytest.raises(Broken):
        require(False, "words")


@pytest.mark.parametrize("name", SUITES)
def test_a_case_is_its_seed_and_number_and_comes_back_from_its_file(name, tmp_path):
    suite = SUITES[name]
    for number in range(12):
        case = suite.case(5, number)
        save(tmp_path / "a.json", case, [])
        save(tmp_path / "b.json", suite.case(5, number), [])
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
        again = load(tmp_path / "a.json")
        save(tmp_path / "c.json", again, [])
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "c.json").read_bytes()
        assert isinstance(again, Case)


def test_a_crash_is_a_failure_and_the_next_case_still_runs(tmp_path, monkeypatch):
    """A child that is stopped by a signal, one that falls silent, and one that goes on."""
    script = (
        "import os, signal, sys, time\n"
        "say = lambda line: os.write(1, (line + '\\n').encode())\n"
        "if '--child' in sys.argv:\n"
        "    import json\n"
        "    _, seed, start, step, stop, _ = json.loads(sys.argv[-1])\n"
        "    for number in range(start, stop):\n"
        "        say(f'> metrics\\t{number}'); say('? promise')\n"
        "        if number == 1: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "        while number == 3: pass\n"
        "        say('= ' + json.dumps({'checks': ['promise'], 'exempt': [], 'failures': [], 'refused': "
        "False}))\n"
    )
    true_child = runner.Child

    class Stand_in(true_child):
        def __init__(self, arguments):
            program = tmp_path / "child.py"
            program.write_text(script)
            original = runner.subprocess.Popen
            with monkeypatch.context() as patch:
                patch.setattr(
                    runner.subprocess,
                    "Popen",
                    lambda command, **options: original(
                        [sys.executable, str(program), *arguments], **options
                    ),
                )
                super().__init__(arguments)

    monkeypatch.setattr(runner, "Child", Stand_in)
    monkeypatch.setattr(runner, "CASE_SECONDS", 1.0)
    report = runner.fuzz(["metrics"], seed=0, cases=6, folder=tmp_path / "saved")
    assert report.cases["metrics"] == 6
    assert [(f.number, f.property) for f in report.failures] == [(1, runner.NO_CRASH), (3, runner.NO_CRASH)]
    assert "exit -11" in report.failures[0].words
    assert "no answer" in report.failures[1].words
    assert load(tmp_path / "saved" / "metrics-0-1.json").number == 1
    assert "no crash" in report.table()
    assert report.as_json()["properties"][runner.NO_CRASH] == {"checks": 6, "exempt": 0, "failures": 2}


def test_replay_runs_the_saved_input(tmp_path):
    case = SUITES["metrics"].case(0, 3)
    save(tmp_path / "good.json", case, [])
    assert runner.main(["--replay", str(tmp_path / "good.json")]) == 0


def test_objects_that_look_alike_are_told():
    ring = np.stack([np.arange(6) // 2, (np.arange(6) + 1) % 6 // 2], axis=1)
    assert ensembles.look_alike(ring, None)
    assert not ensembles.look_alike(np.array([[0, 0], [0, 1], [0, 1], [1, 2], [1, 2], [1, 2]]), None)
    chain = np.array([[0, 0], [0, 1], [1, 1]])
    assert ensembles.look_alike(chain, None)  # read from either end
    assert not ensembles.look_alike(chain, np.array([1.0, 1.0, 2.0]))


def test_hostile_data_follow_their_own_rules(seed):
    rng = np.random.default_rng(seed)
    for _ in range(300):
        labels = ensembles.labels(rng)
        assert labels.ndim == 2
        assert (labels >= 0).any(axis=1).all()
        assert (labels >= 0).any(axis=0).all()
        _, weights = ensembles.weights(rng, len(labels))
        assert weights is None or ((weights > 0) & np.isfinite(weights)).all()
        _, X = features.matrix(rng)
        assert np.isfinite(X.data if hasattr(X, "indptr") else X).all()
