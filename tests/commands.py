"""The command line, called within the process."""

from __future__ import annotations

import inspect

from click.testing import CliRunner


def runner() -> CliRunner:
    """One that keeps standard error apart, as every newer click does."""
    mixes = "mix_stderr" in inspect.signature(CliRunner).parameters  # before click 8.2
    return CliRunner(mix_stderr=False) if mixes else CliRunner()
