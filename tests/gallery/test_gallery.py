"""Every gallery script runs without a warning, shows a figure, and reads as sphinx-gallery expects."""

from __future__ import annotations

import ast
import os
import re
import runpy
import warnings
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

matplotlib = pytest.importorskip("matplotlib")
# With other versions of libraries random numbers fall otherwise, and scripts that were laid out with these
# may have to warn.
pytest.importorskip(
    "sphinx_gallery", reason="the extra 'docs', which the gallery is made with, is not installed"
)

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
SCRIPTS = sorted(GALLERY.glob("plot_*.py"))
#: What a script needs beside the library with its extra "plot".
NEEDS = {"plot_19_dask": ("dask.array", "consilience.dask"), "plot_20_report": ("jinja2",)}
#: A story with a figure each; fewer, and something was lost.
LEAST = 20

every_script = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)


@pytest.fixture
def plt(monkeypatch):
    """pyplot that draws nowhere, with no figure left over."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    monkeypatch.setattr(plt, "show", lambda: None)  # figures stay, to be counted
    yield plt
    plt.close("all")


def test_there_are_enough():
    assert len(SCRIPTS) >= LEAST


@pytest.mark.pages
@every_script
def test_script_runs_and_shows_a_figure(path, plt, monkeypatch, capsys):
    for module in NEEDS.get(path.stem, ()):
        pytest.importorskip(module)
    monkeypatch.setenv("CONSILIENCE_EXAMPLE_OBJECTS", "20000")
    # Idle OpenMP threads of scikit-learn wait by spinning, which costs a busy machine far more than they
    # give.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error")
        runpy.run_path(str(path), run_name="__main__")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures, "no figure"
    for figure in figures:
        figure.canvas.draw()
    assert capsys.readouterr().out, "claims of the text must be printed"


@every_script
def test_script_reads_as_a_page(path):
    text = path.read_text("utf-8")
    title, rule, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert set(rule) == {"="}
    assert len(rule) == len(title)
    assert "\n# %%\n# " in text, "no text cell"
    assert text.count("plt.show()") >= 1
    assert not re.search(r"/(work|tmp|home)/", text)


def test_the_large_script_is_large_unless_told_otherwise():
    text = (GALLERY / "plot_18_million_objects.py").read_text("utf-8")
    assert 'os.environ.get("CONSILIENCE_EXAMPLE_OBJECTS", 1_000_000)' in text
    assert "CONSILIENCE_EXAMPLE_OBJECTS" not in os.environ
