"""The command line, as the tests of its room run it."""

from __future__ import annotations

from ..cli.conftest import run  # noqa: F401
