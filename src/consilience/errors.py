"""The exception and warning types of the library: few, and each says whose value is at fault."""

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
    """Data or a parameter the user passed cannot be used; the message names the value and the remedy."""


class InputTypeError(InputError, TypeError):
    """A value of a kind that cannot be meant, such as a dictionary where a number belongs."""


class FileError(InputError, OSError):
    """A file could not be read or written; the message names the file."""


class NotEnoughMemoryError(ConsilienceError, MemoryError):
    """A request was refused before allocating, because it will not fit."""


class NumericalError(ConsilienceError, ArithmeticError):
    """A computation has no finite answer; the message says what the numbers were."""


class MissingDependencyError(ConsilienceError, ImportError):
    """An optional dependency is needed; the message names the extra to install."""


class ConsilienceWarning(UserWarning):
    """Base of our warnings: the result stands, but something about it should be known."""


class OrientationWarning(ConsilienceWarning):
    """A label matrix looks transposed."""


class GuessWarning(ConsilienceWarning):
    """Something could mean two things; the message says what it was taken for, and how to say otherwise."""


class MergedLabelsWarning(ConsilienceWarning):
    """A result with other clusters than asked for, such as small ones that were merged into others."""


class LowAgreementWarning(ConsilienceWarning):
    """A consensus that the base clusterings it was made of contradict."""


class InstabilityWarning(ConsilienceWarning):
    """A clustering that would be quite another one with another seed."""


def warn(message: str, category: type[Warning] = ConsilienceWarning, *, stacklevel: int = 3) -> None:
    """The one door for warnings."""
    warnings.warn(message, category, stacklevel=stacklevel)


def need(module: str, extra: str, purpose: str):
    """Import an optional dependency, or say which extra brings it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingDependencyError(
            f"{purpose} needs the package {module.split('.')[0]!r}; install it with: "
            f"pip install 'consilience[{extra}]'"
        ) from None
