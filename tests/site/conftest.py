"""The code that builds the site, and the site itself where it was built."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ..reporting.conftest import browser  # noqa: F401

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))  # as docs/conf.py does


@pytest.fixture(scope="session")
def site() -> Path:
    """The built site; tests of it are marked ``site``, and ``make docs-test`` runs them."""
    folder = Path(os.environ.get("CONSILIENCE_SITE", ""))
    if not os.environ.get("CONSILIENCE_SITE") or not (folder / "index.html").exists():
        pytest.skip("no built site: make docs-test builds one and looks at it")
    return folder.resolve()
