"""The exception and warning types of the library."""

from __future__ import annotations

import warnings

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


def warn(message: str, category: type[Warning] = ConsilienceWarning, *, stacklevel: int = 3) -> None:
    """Issue a warning; all warnings of the library are issued here."""
    warnings.warn(message, category, stacklevel=stacklevel)


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
