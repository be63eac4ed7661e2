"""One self-contained page about a consensus: the answer, its certainty, the evidence, how to reproduce it."""

from ._report import Report, report

__all__ = ["Report", "report"]
