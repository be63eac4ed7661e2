"""Clustering several related tasks together: feature matrices in, one clustering of each out.

``methods()`` lists what exists, by the name the command line uses.
"""

from __future__ import annotations

from ..naming import command_name, look_up
from ._base import BaseMultitask
from .asi import ASI
from .lssmtc import LSSMTC
from .spmtc import SPMTC

__all__ = ["ASI", "LSSMTC", "SPMTC", "BaseMultitask", "method", "methods"]


def methods() -> dict[str, type[BaseMultitask]]:
    """Every multi-task method by its command-line name."""
    return {command_name(cls.__name__): cls for cls in (SPMTC, LSSMTC, ASI)}


def method(name: str) -> type[BaseMultitask]:
    """The multi-task method of that command-line or class name."""
    return look_up(name, methods(), "method")
