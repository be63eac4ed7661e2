"""``make test-oldest`` tests the versions that are declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from .oldest import floors


def test_floors():
    declared = [
        "numpy>=1.26",
        "scikit-learn>=1.6",
        "pyarrow>=14; extra == 'io'",
        'pytest>=8 ; extra == "test"',
        "ruff>=0.9; extra == 'dev'",
        "pymetis>=2025.2; sys_platform != 'win32' and extra == 'graph'",
        "build>=1; sys_platform != 'win32' and extra == 'dev'",
        "consilience[io]; extra == 'test'",
    ]
    assert floors(declared) == [
        "numpy==1.26",
        "scikit-learn==1.6",
        "pyarrow==14",
        "pytest==8",
        "pymetis==2025.2",
    ]


@pytest.mark.parametrize("line", ["numpy", "numpy<3", "numpy>=1.26,<3"])
def test_what_has_no_single_lowest_version(line):
    with pytest.raises(SystemExit, match="has no lowest version: write name>=version"):
        floors([line])


def test_every_requirement_has_a_lowest_version():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    assert len(floors(lines)) == sum(not line.startswith("consilience[") for line in lines)
