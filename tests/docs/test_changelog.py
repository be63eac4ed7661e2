"""Every fragment in ``changelog.d`` has a kind, and the tool that gathers them takes it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "changelog.d"
KINDS = {"feature": "New", "change": "Changed", "fix": "Fixed"}


def test_fragments_have_a_kind_and_one_sentence():
    for path in FOLDER.glob("*.md"):
        assert path.suffixes[-2:-1] in [[f".{kind}"] for kind in KINDS], (
            f"{path.name}: expected name.KIND.md, {[*KINDS]}"
        )
        assert path.read_text("utf-8").strip(), f"{path.name} is empty"


def test_fragments_are_gathered_under_their_heading(tmp_path):
    pytest.importorskip("towncrier")
    for name in ("pyproject.toml", "CHANGELOG.md", "changelog.d/template.md.jinja"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for kind in KINDS:
        (tmp_path / "changelog.d" / f"some-name.{kind}.md").write_text(f"A {kind} in\ntwo lines.\n")
    command = [
        sys.executable,
        "-m",
        "towncrier",
        "build",
        "--yes",
        "--version",
        "9.0.0",
        "--date",
        "2030-01-02",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    text = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert "## 9.0.0 (2030-01-02)" in text, done.stderr
    section = text.partition("## 9.0.0")[2].partition("## 0.1.0")[0]
    for kind, heading in KINDS.items():
        assert f"### {heading}\n\n- A {kind} in" in section
    assert "some-name" not in section
    assert text.index("## 9.0.0") < text.index("## 0.1.0")
