"""What a case, a property and a suite are, and how one case is run.

A suite makes cases from a random generator and lists properties. A property is a function of the case that
returns if the promise holds, raises :class:`Broken` with words if it does not, and :class:`Exempt` with a
reason where the documentation promises nothing. Any other exception that is not one of the library's own is a
failure too, and so is a leaked warning.
"""

from __future__ import annotations

import base64
import json
import traceback
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from consilience.errors import ConsilienceError, ConsilienceWarning

NO_FOREIGN = "only errors of the library"
NO_LEAK = "no warning leaks"


class Broken(AssertionError):
    """A promise that did not hold."""


class Exempt(Exception):
    """A difference that the documentation allows; the words are the reason."""


class Refused(Exception):
    """The library refused the input, as it may: nothing more can be checked."""


def require(holds: Any, words: str) -> None:
    """The assert of this folder: also under ``python -O``, and never taken for one of the library's."""
    if not holds:
        raise Broken(words)


@dataclass
class Case:
    """One input.

    ``data`` holds numbers, text, bytes, arrays, and lists and dicts of them; ``memory`` what checks share.
    """

    suite: str
    seed: int
    number: int
    data: dict[str, Any]
    memory: dict[str, Any] = field(default_factory=dict)

    def rng(self, purpose: str) -> np.random.Generator:
        """The same draws for the same purpose, whichever other checks run."""
        return np.random.default_rng(
            [self.seed, self.number, zlib.crc32(self.suite.encode()), zlib.crc32(purpose.encode())]
        )


@dataclass(frozen=True)
class Property:
    """A named promise; ``share`` of the cases are checked for it, by lot."""

    name: str
    check: Callable[[Case], None]
    share: float = 1.0


@dataclass
class Suite:
    """A kind of input, its share of a mixed run, and its properties; the first one opens the case."""

    name: str
    make: Callable[[np.random.Generator], dict[str, Any]]
    weight: float
    properties: list[Property] = field(default_factory=list)

    def promises(self, name: str, share: float = 1.0) -> Callable:
        """Decorator that adds a property."""

        def add(check: Callable[[Case], None]) -> Callable[[Case], None]:
            self.properties.append(Property(name, check, share))
            return check

        return add

    def case(self, seed: int, number: int) -> Case:
        case = Case(self.name, seed, number, {})
        case.data = self.make(case.rng("make"))
        return case


@dataclass
class Outcome:
    """What became of one case: checks, exemptions by reason, failures with words, whether it was refused."""

    checks: list[str] = field(default_factory=list)
    exempt: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    refused: bool = False


def run(
    case: Case, suite: Suite, *, every: bool = False, say: Callable[[str], Any] = lambda _: None
) -> Outcome:
    """Check the properties of one case; ``every`` takes all of them, not the share."""
    outcome = Outcome()
    lots = case.rng("which checks")
    for position, item in enumerate(suite.properties):
        drawn = lots.random() < item.share
        if not (drawn or every):
            continue
        say(item.name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = _check(item, case, outcome)
        leaked = [w for w in caught if _leaked(w)]
        outcome.checks.append(NO_LEAK)
        if leaked:
            first = leaked[0]
            outcome.failures.append(
                (
                    NO_LEAK,
                    f"in {item.name!r}: {first.category.__name__}: {first.message} "
                    f"({Path(first.filename).name}:{first.lineno})",
                )
            )
        if position == 0 and not done:
            break
    return outcome


def _check(item: Property, case: Case, outcome: Outcome) -> bool:
    """Whether the check ran to its end."""
    try:
        item.check(case)
    except Refused:
        outcome.refused = True
        return False
    except Exempt as reason:
        outcome.checks.append(item.name)
        outcome.exempt.append((item.name, str(reason)))
    except Broken as words:
        outcome.checks.append(item.name)
        outcome.failures.append((item.name, str(words)))
        return False
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        where = [f for f in traceback.extract_tb(error.__traceback__) if "consilience" in f.filename]
        place = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else "?"
        kind = item.name if isinstance(error, ConsilienceError) else NO_FOREIGN
        outcome.checks.append(item.name)
        outcome.failures.append(
            (kind, f"in {item.name!r}: {type(error).__name__}: {str(error)[:300]} ({place})")
        )
        return False
    else:
        outcome.checks.append(item.name)
    return True


def _leaked(warning: warnings.WarningMessage) -> bool:
    """Ours and non-convergence are meant for users; deprecations of others are not about the input."""
    fine = (
        ConsilienceWarning,
        ConvergenceWarning,
        DeprecationWarning,
        PendingDeprecationWarning,
        FutureWarning,
    )
    return not issubclass(warning.category, fine)


# Cases as files --------------------------------------------------------------------------------------------


def save(path: Path, case: Case, failures: list) -> None:
    """One JSON file that holds the input itself and how it was drawn."""
    text = json.dumps(
        {
            "suite": case.suite,
            "seed": case.seed,
            "number": case.number,
            "failures": failures,
            "data": _pack(case.data),
        },
        indent=1,
    )
    path.write_text(text + "\n")


def load(path: Path) -> Case:
    """The case of a file of :func:`save`."""
    content = json.loads(path.read_text())
    return Case(content["suite"], content["seed"], content["number"], _unpack(content["data"]))


def _pack(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": [_pack(v) for v in value.ravel().tolist()], "shape": value.shape}
    if isinstance(value, np.ndarray):
        raw = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        shown = value.ravel()[:2000].astype(str).tolist()
        return {"array": raw, "dtype": value.dtype.str, "shape": value.shape, "shown": shown}
    if sp.issparse(value):
        rows = sp.csr_array(value)
        return {"sparse": [_pack(x) for x in (rows.data, rows.indices, rows.indptr)], "shape": rows.shape}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"dict": {k: _pack(v) for k, v in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"list": [_pack(v) for v in value]}
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "objects" in value:
        out = np.empty(len(value["objects"]), object)
        out[:] = [_unpack(v) for v in value["objects"]]
        return out.reshape(value["shape"])
    if "array" in value:
        raw = np.frombuffer(base64.b64decode(value["array"]), np.dtype(value["dtype"]))
        return raw.reshape(value["shape"]).copy()
    if "sparse" in value:
        return sp.csr_array(tuple(_unpack(x) for x in value["sparse"]), shape=tuple(value["shape"]))
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    if "dict" in value:
        return {k: _unpack(v) for k, v in value["dict"].items()}
    return [_unpack(v) for v in value["list"]]
