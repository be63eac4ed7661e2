"""A new method is a file, a line in the register and a page.

On a copy of the package, what is missing is reported by file and line.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .register import PACKAGE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
pytest.importorskip("ruff", reason="the extra 'dev' is not installed: make register sorts imports by it")

METHOD = '''"""Average linkage of co-association, with nothing else.

    linkage of 1 - A                                                                                    (1)

A (u, u) co-association of the distinct objects.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import NJobs
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from .._base import BaseConsensus, Solution


@declared
class ThrownAway(BaseConsensus):
    """Average linkage of co-association. Deterministic.

    Examples
    --------
    >>> import consilience as cs
    >>> cs.consensus.ThrownAway(n_clusters=2).fit_predict([[0, 0], [0, 0], [1, 1]]).tolist()
    [0, 0, 1]
    """

    n_jobs: NJobs = -1

    heights_: ClassVar[np.ndarray]

    def _fit(self, ensemble, rng):
        distance = 1.0 - ensemble.coassociation(n_jobs=self.n_jobs)
        left, right, heights = merge_tree_inplace(distance, ensemble.sample_weight, "average")
        return Solution(cut_tree(left, right, self.n_clusters), n_iter=1, extra={"heights": heights})
'''
ENTRY = '    Entry("ThrownAway", "consensus._coassociation.thrown_away"),\n'


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of what the tests of the register look at, with the method beside the others."""
    ignore = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
    for folder in ("src", "docs/methods"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    for file in ("pyproject.toml", *(f"tests/{name}.py" for name in
                 ("__init__", "conftest", "commands", "register", "test_register"))):  # fmt: skip
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    new = tmp_path / "src" / PACKAGE.name / "consensus" / "_coassociation" / "thrown_away.py"
    new.write_text(METHOD)
    return tmp_path


def run(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = f"import sys, runpy; sys.path.insert(0, {str(checkout / 'src')!r}); sys.argv = sys.argv[1:]; "
    program += "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=400, check=False)


def looked_at(checkout: Path) -> subprocess.CompletedProcess[str]:
    names = "ThrownAway or type_checkers or listed or public_estimator"
    return run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_register.py", "-k", names)


def register(checkout: Path) -> None:
    file = checkout / "src" / PACKAGE.name / "_register.py"
    head = "CONSENSUS = (\n"
    text = file.read_text()
    assert head in text
    file.write_text(text.replace(head, head + ENTRY))


def test_what_is_missing_is_said_by_file_and_line(checkout):
    said = looked_at(checkout).stdout
    assert re.search(
        r"src/consilience/_register\.py:\d+: add Entry\('ThrownAway', '\S+\.thrown_away'\)", said
    ), said
    register(checkout)
    said = looked_at(checkout).stdout
    for file in (r"src/consilience/consensus/__init__\.py:\d+",
                 r"docs/methods/index\.md:\d+", "docs/methods/"):  # fmt: skip
        assert re.search(file + ": ", said), f"{file} is not named in\n{said}"


def test_a_method_a_line_and_a_page_are_enough(checkout):
    register(checkout)
    page = (checkout / "docs" / "methods" / "weac.md").read_text("utf-8").replace("WEAC", "ThrownAway")
    (checkout / "docs" / "methods" / "thrown-away.md").write_text(page, "utf-8")
    for _ in range(2):  # the second time there is nothing left to write
        done = run(checkout, "tests.register")
        assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    done = looked_at(checkout)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
