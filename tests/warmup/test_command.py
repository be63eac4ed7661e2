"""consilience warm-up: everything is used, and what was compiled is said."""

from __future__ import annotations

import json

import consilience as cs
from consilience._warmup import warm_up
from consilience.generate import generators


def test_everything_registered_is_warmed_up():
    names = set(warm_up.tasks())
    assert names >= {entry.name for entry in cs._register.ESTIMATORS}
    assert names >= {f"generate.{maker.make.__name__}" for maker in generators().values()}


def test_it_says_what_is_ready_and_how_much_was_compiled(run):
    result = run("warm-up", "LWGP", "measures", "--n-jobs", "1")
    assert result.exit_code == 0, result.output
    assert "2/2 measures: " in result.stderr
    assert "kernels compiled in" in result.stdout
    again = json.loads(run("warm-up", "LWGP", "--n-jobs", "1", "--json").stdout)
    assert again["compiled"] == 0
    assert [step["name"] for step in again["steps"]] == ["LWGP"]


def test_what_is_unknown_is_refused_by_name(run):
    result = run("warm-up", "magic")
    assert result.exit_code == 2
    assert "Nothing to compile is called 'magic'; choose from ConsensusClustering" in result.stderr


def test_processes_share_the_work():
    found = {warmed.name for warmed in warm_up.warm_up(["LWGP", "measures"], n_jobs=2)}
    assert found == {"LWGP", "measures"}
