"""One self-contained page about a consensus: the answer, how sure it is, the evidence, and how to reproduce
it.
"""

from ._report import Report, report

__all__ = ["Report", "report"]
