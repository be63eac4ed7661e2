"""Every piece of code on our side of docs/coming-from-consensusclusterplus.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import consilience as cs
from consilience._cli import cli

from ..commands import runner

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "coming-from-consensusclusterplus.md").read_text("utf-8")
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("|") and " | " in line]
#: What stands in the columns "here" and "note", and in prose.
SHOWN = sorted(
    set(
        re.findall(
            r"`((?:cs\.|study\.|model\.|X\b)[^`]*)`",
            "\n".join(" ".join(row[1:]) for row in ROWS) + PAGE[PAGE.rindex("\n## ") :],
        )
    )
)
#: Many studies: they run where pages are looked at.
pytestmark = pytest.mark.pages
COMMANDS = sorted(set(re.findall(r"`(consilience [^`]+)`", PAGE)))


@pytest.fixture(scope="module")
def scope():
    pytest.importorskip("pandas")
    from scipy.spatial.distance import pdist, squareform
    from scipy.stats import rankdata
    from sklearn.cluster import AgglomerativeClustering, KMeans

    truth = np.repeat([0, 1, 2], 12)
    X = np.random.default_rng(0).normal(size=(36, 6)) + 6 * np.eye(3)[truth].repeat(2, axis=1)
    return {
        "cs": cs,
        "X": X,
        "D": squareform(pdist(X)),
        "w": np.ones(36),
        "k": 3,
        "truth": truth,
        "labels": np.random.default_rng(1).integers(0, [2, 2, 3, 3, 6], (36, 5)),
        "codes": X,
        "sizes": np.arange(1.0, 37),
        "rankdata": rankdata,
        "AgglomerativeClustering": AgglomerativeClustering,
        "linkage": lambda k: AgglomerativeClustering(k, metric="precomputed", linkage="average"),
        "medoids": lambda X, k, random_state: KMeans(k, n_init=1, random_state=random_state).fit_predict(X),
        "study": cs.choose_k(X, n_clusters=(2, 4), n_clusterings=8, random_state=0, verbose=False),
        "model": cs.ConsensusClustering(3, n_clusterings=4, random_state=0).fit(X),
    }


@pytest.fixture
def few(monkeypatch):
    """What matters is that the calls run: few clusterings, few references."""
    from consilience import _choosing

    def quick(*args, **given):
        settings = {
            "n_clusters": [2, 3],
            "random_state": 0,
            "n_clusterings": 6,
            "n_references": 9,
            "alpha": 0.2,
        } | given
        settings["n_clusterings"] = min(settings["n_clusterings"], 6)
        settings["n_references"] = min(settings["n_references"], 9)
        return _choosing.choose_k(*args, **settings)

    monkeypatch.setattr(cs, "choose_k", quick, raising=False)


@pytest.mark.parametrize("code", SHOWN)
def test_what_is_shown_runs(code, scope, few):
    assert eval(code, {"__builtins__": {"range": range}} | scope) is not None


def test_the_example_runs(few, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(block, {})
    assert (tmp_path / "k.html").exists()
    assert "clusters (verdict" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_runs(command, scope, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", scope["X"], delimiter=",")
    words = command.split()[1:]
    assert runner().invoke(cli, [*words, "-n", "6"]).exit_code == 0
    assert Path("table.csv").exists()
    assert Path("k.html").exists()


def test_every_peer_has_its_table_and_pages_lead_here():
    for peer in ("ConsensusClusterPlus", "M3C", "cola", "diceR"):
        assert re.search(rf"^## {peer}\n.*?^\| there \| here \|", PAGE, re.M | re.S), peer
    assert len(SHOWN) > 40
    for page in (DOCS / "coming-from.md", DOCS.parent / "README.md"):
        assert "coming-from-consensusclusterplus.md" in page.read_text("utf-8"), page
