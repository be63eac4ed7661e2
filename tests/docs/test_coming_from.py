"""Every name on our side of docs/coming-from.md exists, and every call shown there runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import consilience as cs

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text("utf-8")
OURS = sorted(set(re.findall(r"`(cs\.[^`]+)`", PAGE)))


def scope() -> dict:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 4)) + 8 * truth[:, None]
    labels = np.column_stack(
        [np.where(rng.random(80) < 0.15, rng.integers(0, 2, 80), truth) for _ in range(24)]
    )
    return {"cs": cs, "k": 2, "X": X, "labels": labels, "truth": truth}


@pytest.mark.parametrize("code", OURS)
def test_what_is_shown_exists_and_runs(code):
    names = scope()
    if 'partitioner="metis"' in code:
        pytest.importorskip("pymetis")
    found = eval(code, {"__builtins__": {"range": range}}, names)
    if isinstance(ast.parse(code, mode="eval").body, ast.Call) and hasattr(found, "fit_predict"):
        features = isinstance(found, (cs.ConsensusClustering, cs.MDEC))
        answer = found.fit_predict(names["X"] if features else names["labels"])
        assert set(answer.tolist()) == {0, 1}


def test_every_peer_has_its_table_and_the_readme_leads_here():
    for peer in (
        "py-cluster-ensemble",
        "ClusterEnsembles",
        "OpenEnsembles",
        "diceR",
        "clue",
        "ConsensusClusterPlus",
        "The authors' MATLAB programs",
    ):
        assert re.search(rf"^## {peer}\b.*?^\| there \| here \|", PAGE, re.M | re.S), peer
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert "docs/coming-from.md" in readme
