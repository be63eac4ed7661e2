"""Shared by all tests: where the reference data is, seeds, and one thread per worker."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Several workers run side by side: each keeps BLAS to one thread, as the library would under n_jobs=1.
if os.environ.get("PYTEST_XDIST_WORKER"):
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

os.environ.setdefault(
    "CONSILIENCE_COMPILE_BESIDE", "0"
)  # the other worker compiles meanwhile, and finds it on disk

# Whatever a shell starts in the background ignores Ctrl-C, and so would the tests of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Few examples while one works on something; make test-slow, which runs at night and before a release, has
# many.
settings.register_profile("quick", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=200, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("CONSILIENCE_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of reference data; tests that use it are marked ``shared`` and skip where it is absent."""
    if not (SHARED / "golden").is_dir():
        pytest.skip(f"reference data not found at {SHARED}: set CONSILIENCE_SHARED")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def _told_of_compiling() -> None:
    """What a command says does not depend on which tests ran before it on a fresh machine."""
    from consilience._kernels.compile.cached import notice_given

    notice_given()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "shared_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")


@pytest.fixture(params=[0, pytest.param(1, marks=pytest.mark.slow)])
def seed(request: pytest.FixtureRequest) -> int:
    """A test that holds for one seed only is telling us something."""
    return request.param


@pytest.fixture
def run():
    """The command line, called within the process."""
    from consilience._cli import cli

    from .commands import runner

    def invoke(*args: str, input: bytes | None = None):
        return runner().invoke(cli, list(args), input=input)

    return invoke
