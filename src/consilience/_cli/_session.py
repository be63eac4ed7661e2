"""Notes and warnings of one run of the program, on stderr and in the JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import click


class Session:
    """Collects notes and warnings, and prints them unless told to be quiet."""

    def __init__(self) -> None:
        self.quiet = False
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.arguments: list[str] = []  # as given on the command line

    def note(self, text: str) -> None:
        """Something the user may want to know."""
        self.notes.append(one_line(text))
        if not self.quiet:
            click.echo(f"note: {one_line(text)}", err=True)

    def say(self, text: str) -> None:
        """Report what was done; this is not part of the JSON."""
        if not self.quiet:
            click.echo(text, err=True)

    def warning(self, message: Any) -> None:
        """Something the user should know; shown even when quiet."""
        self.warnings.append(one_line(message))
        click.echo(f"warning: {one_line(message)}", err=True)

    def print_json(self, result: dict[str, Any]) -> None:
        """Print the machine-readable result, with all notes and warnings."""
        said = {"notes": self.notes, "warnings": self.warnings}
        click.echo(json.dumps(_plain({**result, **said}), allow_nan=False))


def one_line(message: Any) -> str:
    """Any message without line breaks."""
    return " ".join(str(message).split())


def _plain(value: Any) -> Any:
    """A value that JSON can hold: arrays as lists, NaN and infinity as null, anything unknown as text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
