"""Multi-task methods: each clusters several related feature matrices together.

``methods()`` returns all of them by the name that the command line uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _register
from .._base.names import command_name, look_up
from ._base import BaseMultitask

if TYPE_CHECKING:  # for editors and type checkers; a test holds it to the register
    from ._asi import ASI as ASI
    from ._lssmtc import LSSMTC as LSSMTC
    from ._spmtc import SPMTC as SPMTC
else:  # hidden from them: where there is a __getattr__, no name is a mistake
    __getattr__, __dir__ = _register.lazily(globals(), _register.MULTITASK)

__all__ = [
    *sorted(entry.name for entry in _register.MULTITASK),
    "BaseMultitask",
    "method",
    "methods",
]


def methods() -> dict[str, type[BaseMultitask]]:
    """Every multi-task method by its command-line name."""
    return {command_name(entry.name): entry.load() for entry in _register.MULTITASK}


def method(name: str) -> type[BaseMultitask]:
    """The multi-task method with this command-line or class name."""
    return look_up(name, methods(), "method")
