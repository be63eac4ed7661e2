"""Parameter rules as data: a method lists what it accepts, one place checks it and words the message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from numbers import Real as RealNumber
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError

if TYPE_CHECKING:
    import numpy as np


class Rule:
    """One acceptable kind of value; ``a | b`` accepts either."""

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """An accepted value, with numbers of Python.

        The arithmetic of NumPy's numbers overflows at the size of their type.
        """
        return value

    def words(self) -> tuple[str, ...]:
        """The words among what is accepted, for those who misspell one."""
        return ()

    def __or__(self, other: Rule) -> Rule:
        return Either(self, other)


@dataclass(frozen=True)
class Integer(Rule):
    """A whole number in [low, high]; booleans are not numbers here."""

    low: float = float("-inf")
    high: float = float("inf")

    def accepts(self, value: Any) -> bool:
        return (
            isinstance(value, Integral)
            and not isinstance(value, bool)
            and self.low <= int(value) <= self.high
        )

    def plain(self, value: Any) -> int:
        return int(value)

    def __str__(self) -> str:
        return "a whole number" + _bounds(self.low, self.high)


@dataclass(frozen=True)
class Real(Rule):
    """A finite number in [low, high]; an open end excludes the bound itself."""

    low: float = float("-inf")
    high: float = float("inf")
    open_low: bool = False
    open_high: bool = False

    def accepts(self, value: Any) -> bool:
        if not _is_plain_number(value) or value != value:
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond all floats
            return False
        if number in (float("inf"), float("-inf")):
            return False
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below

    def plain(self, value: Any) -> float:
        return float(value)

    def __str__(self) -> str:
        return "a number" + _bounds(self.low, self.high, self.open_low, self.open_high)


class Choice(Rule):
    """One of a few words."""

    def __init__(self, *options: str):
        self.options = options

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def words(self) -> tuple[str, ...]:
        return self.options

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


class Flag(Rule):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool) or type(value).__name__ == "bool_"

    def __str__(self) -> str:
        return "True or False"


class Nothing(Rule):
    """None."""

    def accepts(self, value: Any) -> bool:
        return value is None

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True)
class Kind(Rule):
    """Anything that a test accepts, in words for the message."""

    description: str
    test: Callable[[Any], bool]

    def accepts(self, value: Any) -> bool:
        return self.test(value)

    def __str__(self) -> str:
        return self.description


class Either(Rule):
    """Any of several rules."""

    def __init__(self, *rules: Rule):
        self.rules = rules

    def accepts(self, value: Any) -> bool:
        return any(rule.accepts(value) for rule in self.rules)

    def plain(self, value: Any) -> Any:
        return next(rule for rule in self.rules if rule.accepts(value)).plain(value)

    def words(self) -> tuple[str, ...]:
        return tuple(word for rule in self.rules for word in rule.words())

    def __str__(self) -> str:
        return " or ".join(str(rule) for rule in self.rules)


class RandomState(Rule):
    """A seed, a generator, or None."""

    def accepts(self, value: Any) -> bool:
        import numpy as np

        if value is None or isinstance(value, (np.random.Generator, np.random.RandomState)):
            return True
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0

    def __str__(self) -> str:
        return "None, a non-negative whole number or a numpy generator"


#: Accepts what joblib accepts; see :func:`consilience._kernels.runtime.threads.resolve_jobs`.
N_JOBS = Nothing() | Integer(1) | Integer(high=-1)

#: A positive share of the objects or of the features.
FRACTION = Real(0, 1, open_low=True)

#: How like a word must be to be suggested in place of a misspelt one (difflib's ratio), and the most letters
#: of what is compared.
LIKE, LONGEST_WORD = 0.7, 60

# Parameters that mean the same in every method: type and rule.
NClusters = Annotated[int, Integer(1)]
NInit = Annotated[int, Integer(1)]
MaxIter = Annotated[int, Integer(1)]
Tol = Annotated[float, Real(0)]
MinClusterSize = Annotated[float | None, Nothing() | Real(0)]
Seed = Annotated[Any, RandomState()]
NJobs = Annotated[int | None, N_JOBS]


def _bounds(low: float, high: float, open_low: bool = False, open_high: bool = False) -> str:
    parts = []
    if low != float("-inf"):
        parts.append(f"above {low:g}" if open_low else f"of at least {low:g}")
    if high != float("inf"):
        parts.append(f"below {high:g}" if open_high else f"at most {high:g}")
    return " " + " and ".join(parts) if parts else ""


def _is_plain_number(value: Any) -> bool:
    """Whether compiled code accepts it as a number.

    Fractions, booleans, and half or extended precision are not accepted.
    """
    import numpy as np

    return isinstance(value, (Integral, float, np.float32)) and not isinstance(value, bool)


def did_you_mean(given: Any, known: Iterable[str]) -> str:
    """A question that ends a message, with the known word that the given one is most like, or nothing."""
    import difflib

    if not isinstance(given, str) or len(given) > LONGEST_WORD:
        return ""
    words = {word.lower().replace("_", "-"): word for word in known}
    near = difflib.get_close_matches(given.lower().replace("_", "-"), words, n=1, cutoff=LIKE)
    return f" Did you mean {words[near[0]]!r}?" if near else ""


def check(name: str, value: Any, rule: Rule) -> None:
    """Raise :class:`InputError` unless ``value`` meets ``rule``."""
    if not rule.accepts(value):
        hint = "" if not isinstance(value, RealNumber) or _is_plain_number(value) else f" Pass float({name})."
        given = repr(value)
        given = given if len(given) <= 200 else f"{given[:60]}... ({len(given)} characters)"
        if isinstance(value, type) and hasattr(value, "fit"):
            hint = f" {value.__name__} is a class: pass an instance, {value.__name__}(...)."
        hint += did_you_mean(value, rule.words())
        raise InputError(f"{name}={given} is not valid: expected {rule}.{hint}")


def check_all(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Check every parameter that has a rule."""
    for name, rule in rules.items():
        check(name, values[name], rule)


def check_weights(sample_weight: Any, n: int, *, zero: bool = False) -> np.ndarray:
    """One finite, positive (or, if ``zero``, non-negative) weight per object, as a new float array."""
    import warnings

    import numpy as np

    try:
        # Longer floats become infinite, and are refused as such; a masked entry would become NaN with a mere
        # warning.
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            weights = np.array(sample_weight, float)
    except (TypeError, ValueError, OverflowError, Warning):
        raise InputError("sample_weight must be numbers, one per object.") from None
    if weights.shape != (n,):
        raise InputError(
            f"sample_weight has shape {weights.shape} for {n} objects; give one weight per object."
        )
    bad = ~(np.isfinite(weights) & ((weights >= 0) if zero else (weights > 0)))
    if bad.any():
        first = int(np.argmax(bad))
        what = "a weight: expected finite numbers of at least 0" if zero else "a positive number"
        remedy = "" if zero else " Leave out objects that should not count."
        raise InputError(
            f"sample_weight[{first}]={weights[first]:g} is not {what} ({int(bad.sum())} such).{remedy}"
        )
    check_range(weights)
    return weights


def is_left_open(estimator: Any, name: str) -> bool:
    """Whether a parameter has the default of the constructor."""
    import inspect

    default = inspect.signature(type(estimator)).parameters[name].default
    return bool(getattr(estimator, name) is default or getattr(estimator, name) == default)


def checked_csr(X: Any, name: str) -> Any:
    """A sparse matrix as CSR, after a check that every index lies inside it.

    Compiled code, also that of SciPy, trusts the indices.
    """
    import scipy.sparse as sp

    kept = X.format in ("csr", "csc", "bsr", "coo")
    if kept:
        _check_indices(X, name)
    rows = sp.csr_array(X)
    if not kept:  # made of Python's own lists, whose conversion looks at places but not at numbers
        _check_indices(rows, name)
    return rows


def _check_indices(X: Any, name: str) -> None:
    if X.format == "coo":
        axes = [(X.row, X.shape[0]), (X.col, X.shape[1])]
        fits = len(X.row) == len(X.col) == len(X.data)
    else:
        blocks = X.blocksize if X.format == "bsr" else (1, 1)
        shape = tuple(size // step for size, step in zip(X.shape, blocks))
        major, minor = shape[::-1] if X.format == "csc" else shape
        axes = [(X.indices, minor)]
        ends = X.indptr
        fits = (
            len(ends) == major + 1
            and ends[0] == 0
            and bool((ends[1:] >= ends[:-1]).all())
            and ends[-1] <= min(len(X.indices), len(X.data))
        )
    for places, size in axes:
        fits = fits and (len(places) == 0 or (places.min() >= 0 and places.max() < size))
    if not fits:
        raise InputError(
            f"{name} is a damaged sparse matrix of shape {X.shape}: some of its indices lie outside of it, "
            "or its arrays do not fit together. Make it again from its entries, or check it with "
            "X.check_format()."
        )


#: Weights beyond, or adding up to more, leave the range of floating-point numbers where they are added up.
_LARGEST_WEIGHT = 1e305
#: Ratio of two weights beyond which the sum of both is the larger one in double precision.
LARGEST_SPREAD = 1e15
#: Exponents of two between which weights may be squared and multiplied as they are.
_ORDINARY = 60


def check_range(weights: np.ndarray, name: str = "sample_weight") -> None:
    """Raise unless non-negative weights can be added up without loss of range."""
    largest, counted = float(weights.max(initial=0.0)), weights[weights > 0]
    if largest * weights.size > _LARGEST_WEIGHT:
        raise InputError(
            f"{name} holds {largest:g} among {weights.size} weights: they must add up to at most "
            f"{_LARGEST_WEIGHT:g}. "
            "Divide all of them by the largest."
        )
    if counted.size and counted.min() < 1 / _LARGEST_WEIGHT:
        raise InputError(
            f"{name} holds {counted.min():g}: weights must be at least {1 / _LARGEST_WEIGHT:g}. Multiply "
            f"all of them."
        )


def unit_of(weights: np.ndarray) -> float:
    """The power of two by which weights are divided to bring the largest between 2**-60 and 2**60.

    1 if it is there already.

    Division by it is exact, so that what depends on the ratios of weights alone comes out the same, to the
    last digit.
    """
    import math

    exponent = math.frexp(float(weights.max(initial=0.0)))[1]
    return 2.0 ** (exponent - min(max(exponent, -_ORDINARY), _ORDINARY))


def relative_to_lightest(weights: np.ndarray) -> np.ndarray:
    """Positive weights in units of the lightest, to 40 bits, so that a constant factor changes none of them.

    Ties, running sums and random draws then fall alike for every scale of the weights; 40 bits are more than
    a multiplication leaves in doubt. Where weights spread so wide that the lightest is nothing beside the
    heaviest, the unit is that of :func:`unit_of`.
    """
    import numpy as np

    low, high = float(weights.min()), float(weights.max())
    if not 0 < high <= LARGEST_SPREAD * low:
        return weights / unit_of(weights)
    digits, exponents = np.frexp(weights / low)
    return np.ldexp(np.rint(np.ldexp(digits, 40)), exponents - 40)


def positions_of(rows: Any, n: int, things: str = "objects") -> Any:
    """Positions, from 0, of some of n things.

    They are given as positions (negative ones count from the end) or as a boolean mask.
    """
    import numpy as np

    index = np.asarray(rows)
    if index.dtype == bool:
        if index.shape != (n,):
            raise InputError(f"The mask has shape {index.shape} for {n} {things}.")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.empty(0, np.int64)
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise InputError(
            f"Pick {things} by a vector of positions or a boolean mask, not {type(rows).__name__} of "
            f"{index.dtype}."
        )
    if index.min() < -n or index.max() >= n:
        raise InputError(
            f"Positions run from 0 to {n - 1}; got {index.max() if index.max() >= n else index.min()}."
        )
    return np.where(index < 0, index + n, index)


def listed(items: Iterable[Any], most: int = 5) -> str:
    """'3, 17 and 40' or '1, 2, 3, 4, 5 and 95 more': names in messages without flooding the screen."""
    items = list(items)
    shown = [str(item) for item in items[:most]]
    if len(items) > most:
        return ", ".join(shown) + f" and {len(items) - most} more"
    return "".join(shown) if len(shown) < 2 else ", ".join(shown[:-1]) + " and " + shown[-1]
