"""Phases of the work have names: on bars, above Dask's own bars, on dashboards and on the command line."""

from __future__ import annotations

import io

import dask.array as da
import numpy as np
import pytest
from dask.base import key_split
from dask.diagnostics import ProgressBar

import consilience as cs
import dask
from consilience._base import progress
from consilience.dask import engine

from ..zoo import planted

pytestmark = pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")

LABELS, TRUTH = planted(6, n=400, m=6, noise=0.3)
X = np.random.default_rng(0).normal(size=(400, 3)) + 6 * TRUTH[:, None]
#: The last is not waited for on a client.
PHASES = ["drawing a sample", "labeling rows", "merging distinct rows", "placing objects"]


def fit():
    features = da.from_array(X, chunks=(50, -1))
    return cs.ConsensusClustering(3, generator="kmeans", n_clusterings=3, random_state=0).fit(features)


def without_repetition(names):
    return [name for i, name in enumerate(names) if name not in names[:i]]


@pytest.mark.parametrize("kind", ["no client", "threads"])
def test_listeners_hear_of_each_phase(kind, request):
    said = []
    if kind == "no client":
        with dask.config.set(scheduler="synchronous"), engine.phases_told(said.append):
            fit()
    else:
        with request.getfixturevalue("connect")(kind), engine.phases_told(said.append):
            fit()
    assert without_repetition([one.rpartition(" (")[0] for one in said]) == PHASES[: 4 - (kind == "threads")]
    assert "drawing a sample (8 tasks)" in said


def test_names_stand_above_the_bars_of_dask(here):
    out = io.StringIO()
    with ProgressBar(out=out, dt=0.01):
        model = fit()
    lines = out.getvalue().replace("\r", "\n").split("\n")
    assert without_repetition([one[:-1] for one in lines if one.endswith(":")]) == PHASES
    assert "[####" in out.getvalue()
    assert cs.metrics.ari(model.labels_.compute(), TRUTH) > 0.9


@pytest.mark.parametrize("kind", ["no client", "threads"])
def test_bars_of_phases_count_all_tasks(kind, request, monkeypatch):
    bars = []

    class Bar:
        disable = False

        def __init__(self, total, what):
            self.total, self.what, self.done = total, what, 0
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def update(self, count):
            self.done += count

    monkeypatch.setattr(engine, "progress", lambda *, total, what, unit: Bar(total, what))
    if kind == "no client":
        with dask.config.set(scheduler="synchronous"):
            fit()
        assert all(bar.done == bar.total for bar in bars)
    else:
        monkeypatch.setattr(engine, "_LOOK", 0.001)
        with request.getfixturevalue("connect")(kind):
            fit()
        assert all(0 <= bar.done <= bar.total for bar in bars)
    assert without_repetition([bar.what for bar in bars]) == PHASES[: 4 - (kind == "threads")]


def test_nothing_is_shown_where_there_is_no_terminal(here, capsys):
    fit()
    assert capsys.readouterr().err == ""
    with progress.progress_shown(True):
        fit()


def test_dashboards_name_tasks_by_what_they_do(here):
    labels = (
        cs.consensus.LWGP(3, random_state=0)
        .fit(da.from_array(LABELS, chunks=(100, -1)))
        .predict(da.from_array(LABELS, chunks=(100, -1)))
    )
    assert "place-objects" in {key_split(key) for key in dict(labels.dask)}
