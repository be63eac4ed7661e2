"""The command ``consilience``: a thin layer over the library.

It starts quickly because it imports only what it runs.
"""

from ._program import cli, main

__all__ = ["cli", "main"]
