"""Generation and consensus that take a while show progress and remaining time; short ones print nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest

import consilience as cs
from consilience._base import progress as room
from consilience._base.progress import loops_shown, progress, progress_shown
from consilience._kernels.runtime.threads import map_blocks, map_tasks


@pytest.fixture
def at_once(monkeypatch):
    """Bars that appear without delay."""
    monkeypatch.setattr(room, "_DELAY", 0.0)
    with progress_shown(True):
        yield


def table(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 4)) + 6 * rng.integers(0, 3, n)[:, None]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_long_loop_over_blocks_is_shown_with_time_left(n_jobs, monkeypatch, capsys):
    monkeypatch.setattr(room, "_DELAY", 0.1)
    with progress_shown(True), loops_shown("LWGP"):
        found = map_tasks(lambda i: (time.sleep(0.05), i)[1], list(range(20)), n_jobs=n_jobs)
    assert found == list(range(20))
    said = capsys.readouterr().err
    assert "LWGP: " in said
    assert "/20 [00:0" in said
    assert "<00:0" in said  # time left


def test_short_loops_and_loops_nobody_looks_at_are_silent(capsys):
    with progress_shown(True):
        map_tasks(lambda i: i, list(range(50)), n_jobs=1)
        with loops_shown("LWGP"):
            map_blocks(lambda a, b: a, 50, size=1, n_jobs=2)
    with progress_shown(False), loops_shown("LWGP"):
        map_tasks(lambda i: i, list(range(50)), n_jobs=1)
    assert capsys.readouterr().err == ""


def test_loops_inside_a_loop_are_not_shown(at_once, capsys):
    def outer(i: int) -> list[int]:
        return map_tasks(lambda j: j, list(range(77)), n_jobs=1)

    with loops_shown("outer"):
        map_tasks(outer, [1, 2, 3], n_jobs=1)
        map_tasks(lambda j: j, list(range(88)), n_jobs=1)  # watched again afterwards
    said = capsys.readouterr().err
    assert "/3 " in said
    assert "/88 " in said
    assert "/77 " not in said


def test_a_failing_loop_leaves_no_bar_behind(at_once):
    def fail(i: int) -> None:
        if i == 2:
            raise ValueError("two")

    with loops_shown("x"), pytest.raises(ValueError, match="two"):
        map_tasks(fail, list(range(4)), n_jobs=1)
    assert room._watch.what is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cs.consensus.methods())
def test_every_consensus_method_shows_how_far_it_is(name, at_once, capsys):
    labels = np.stack([np.random.default_rng(i).integers(0, 3, 40) for i in range(6)], axis=1)
    cs.consensus.method(name)(3).fit(labels)
    said = capsys.readouterr().err
    assert "it/s" not in said
    assert any(f"{unit}/s" in said or f"s/{unit}" in said for unit in ("block", "step", "round", "iteration"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cs.generate.generators())
def test_every_generator_shows_how_far_it_is(name, at_once, capsys):
    cs.generate.generator(name)(
        table(), {"preprocess": "diverse"}, n_clusters=3, n_clusterings=9, random_state=0
    )
    said = capsys.readouterr().err
    assert "/9 [" in said
    assert "run/s" in said


def test_what_is_shown_changes_no_answer(at_once):
    shown = cs.ConsensusClustering(3, random_state=0, n_jobs=2).fit(table())
    with progress_shown(False):
        hidden = cs.ConsensusClustering(3, random_state=0, n_jobs=1).fit(table())
    np.testing.assert_array_equal(shown.labels_, hidden.labels_)
    np.testing.assert_array_equal(shown.confidence_, hidden.confidence_)


def test_a_loop_longer_than_the_machine_counts_begins(at_once, capsys):
    """``max_iter=10**30`` means "until it has settled"."""
    assert next(iter(progress(range(10**30), what="settling", unit="round"))) == 0
    ensemble = cs.Ensemble.from_clusterings([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2]])
    assert cs.RSEC(3, max_iter=10**30, random_state=0).fit(ensemble).converged_
