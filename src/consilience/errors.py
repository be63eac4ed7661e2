"""The exception and warning types of the library."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = [
    "ConsilienceError",
    "ConsilienceWarning",
    "FileError",
    "InputError",
    "InputTypeError",
    "LowAgreementWarning",
    "MergedLabelsWarning",
    "MissingDependencyError",
    "NotEnoughMemoryError",
    "NumericalError",
    "OrientationWarning",
]


class ConsilienceError(Exception):
    """Base of every error raised on purpose."""


class InputError(ConsilienceError, ValueError):
    """Data or a parameter cannot be used; the message names the value and the remedy."""


class InputTypeError(InputError, TypeError):
    """A value has the wrong type, such as a dictionary where a number belongs."""


class FileError(InputError, OSError):
    """A file could not be read or written; the message names the file."""


class NotEnoughMemoryError(ConsilienceError, MemoryError):
    """A request was refused before memory was allocated, because it would not fit."""


class NumericalError(ConsilienceError, ArithmeticError):
    """A computation has no finite result; the message shows the numbers."""


class MissingDependencyError(ConsilienceError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""


class ConsilienceWarning(UserWarning):
    """Base of all warnings: the result is valid, but the user should know something about it."""


class OrientationWarning(ConsilienceWarning):
    """A label matrix looks transposed."""


class GuessWarning(ConsilienceWarning):
    """Input could mean two things; the message says how it was read, and how to choose the other reading."""


class MergedLabelsWarning(ConsilienceWarning):
    """The clusters are not those asked for, for instance because small ones were merged into others."""


class LowAgreementWarning(ConsilienceWarning):
    """The base clusterings contradict the consensus that was made from them."""


class InstabilityWarning(ConsilienceWarning):
    """Another seed would give a very different clustering."""


#: Packages that call this one for the user; a warning is not about their lines.
_BETWEEN = frozenset({__name__.partition(".")[0], "contextlib", "dask", "joblib", "sklearn"})


def warn(message: str, category: type[Warning] = ConsilienceWarning) -> None:
    """Issue a warning about the user's line; all warnings of the library are issued here."""
    frame: FrameType | None = sys._getframe(1)
    depth = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth if frame is not None else 2)


def need(module: str, extra: str, purpose: str):
    """Import an optional dependency, or raise an error that names the extra to install."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingDependencyError(
            f"{purpose} needs the package {module.split('.')[0]!r}; install it with: "
            f"pip install 'consilience[{extra}]'"
        ) from None
