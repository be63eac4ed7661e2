"""The command ``consilience``: a thin layer over the library, quick to start because it imports only what it
runs.
"""

from ._program import cli, main

__all__ = ["cli", "main"]
