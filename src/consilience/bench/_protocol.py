"""Protocols as data: what a published table or figure compares, read from one small JSON file and checked.

A protocol names its data sets, how base clusterings are made, the methods with their parameters and grids, the measures,
and the printed figures. Nothing here runs anything or imports a method; that is left to the workers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from ..validation import listed

#: Rows of a table that are the base clusterings themselves: the mean of all, or the best of each ensemble.
BASE_METHODS = ("base-mean", "base-best")
#: Base clusterings; all features at once; a multi-task method; or each task for itself.
INPUTS = ("ensemble", "features", "tasks", "each-task")
TAKES = ("all", "first", "consecutive", "random")
CHOICES = ("ensemble", "set")
DEFAULT = "default"


@dataclass(frozen=True)
class DataSet:
    """One row of the table: a set by the name of its file, with the shape that was printed.

    ``printed_as`` is the printed row it is compared with, where that has another name; ``transform`` is what is done to
    the features before anything else (``"tfidf"``, ``"unit"`` or ``"standardize"``).
    """

    name: str
    data: str
    n: int | None = None
    d: int | None = None
    classes: int | None = None
    transform: str | None = None
    printed_as: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Ensembles:
    """How the base clusterings of one repetition come about.

    ``generator`` is a function of :mod:`consilience.generate` or ``package.module:function``; a data file that holds
    base clusterings itself needs none. ``members`` are made (``size`` by default), of which ``take`` picks ``size``:
    all, the first, consecutive blocks by repetition, or a random draw. With ``shared`` the members are made once
    and every repetition takes from them. ``missing`` is the share of labels dropped from each clustering.
    """

    generator: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    size: int = 20
    members: int | None = None
    take: str = "all"
    shared: bool = False
    missing: float = 0.0

    def recipe(self) -> dict:
        """What determines the members that are made (not what is taken from them)."""
        return {
            "generator": self.generator,
            "params": dict(self.params),
            "members": self.members or self.size,
            "shared": self.shared,
        }


@dataclass(frozen=True)
class Tuned:
    """A grid whose best point is chosen by the truth: per ensemble (and measure), or per set (and measure)."""

    grid: Mapping[str, list]
    params: Mapping[str, Any] = field(default_factory=dict)
    choice: str = "ensemble"

    def points(self) -> Iterator[dict]:
        """Every combination of the grid, over the fixed parameters."""
        for values in product(*self.grid.values()):
            yield {**self.params, **dict(zip(self.grid, values))}


@dataclass(frozen=True)
class Method:
    """One method of the table; ``method`` is a registered name, a public name or ``package.module:Class``.

    ``raw`` takes the features as they are in the file, whatever the set's transform. ``fill="random"`` puts a random cluster where a label is missing, for methods that need complete ensembles.
    """

    name: str
    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    input: str = "ensemble"
    fill: str | None = None
    raw: bool = False
    default: bool = True
    tuned: Tuned | None = None

    @property
    def is_base(self) -> bool:
        return self.method in BASE_METHODS


@dataclass(frozen=True)
class Variation:
    """One point on the x axis of a figure: a label, a value, and what it changes in the ensembles."""

    label: str
    value: Any
    ensembles: Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """A column of scores: ``key`` as :func:`consilience.metrics.scores` names it, ``scale`` 100 for percent."""

    name: str
    key: str
    scale: float = 1.0
    digits: int = 4


@dataclass(frozen=True)
class Protocol:
    """A published comparison, ready to be run; see :func:`load_protocol`."""

    name: str
    title: str
    sets: tuple[DataSet, ...]
    methods: tuple[Method, ...]
    measures: tuple[Measure, ...]
    ensembles: Ensembles
    repetitions: int
    reference: str = ""
    about: str = ""
    vary: str = ""
    variations: tuple[Variation, ...] = ()
    #: measure -> method -> set -> (mean, standard deviation or None)
    printed: Mapping[str, Mapping[str, Mapping[str, tuple]]] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    folder: str | None = field(default=None, compare=False)

    def has(self, what: str, name: str) -> bool:
        """Whether one of its ``"sets"`` or ``"methods"`` goes by that name."""
        return bool(_called(getattr(self, what), name))

    def restricted(
        self, sets: list[str] | None = None, methods: list[str] | None = None, repetitions: int | None = None
    ) -> Protocol:
        """The same protocol with some sets (by row or file name), methods or repetitions only."""
        chosen_sets = _pick(self.sets, sets, "set", self.name)
        chosen_methods = _pick(self.methods, methods, "method", self.name)
        if repetitions is not None and repetitions < 1:
            raise InputError(
                f"repetitions={repetitions} is not valid: expected a whole number of at least 1."
            )
        return replace(
            self,
            sets=chosen_sets,
            methods=chosen_methods,
            repetitions=self.repetitions if repetitions is None else min(repetitions, self.repetitions),
        )

    def printed_value(self, measure: str, method: str, row: str) -> tuple | None:
        """(mean, std or None) as printed, or None."""
        return self.printed.get(measure, {}).get(method, {}).get(row)


def protocols() -> dict[str, Protocol]:
    """Every protocol that comes with the library, by name."""
    folder = resources.files(__package__) / "protocols"
    found = (load_protocol(item.name[:-5]) for item in folder.iterdir() if item.name.endswith(".json"))
    return {protocol.name: protocol for protocol in sorted(found, key=lambda p: p.name)}


def load_protocol(source: str | Path) -> Protocol:
    """A protocol by name, or from a JSON file of your own (a path that ends in ``.json``).

    Examples
    --------
    >>> from consilience.bench import load_protocol
    >>> protocol = load_protocol("bundled")
    >>> [item.name for item in protocol.sets]
    ['iris', 'wine', 'digits']
    """
    folder = None
    if str(source).endswith(".json"):
        path = Path(source)
        try:
            text, where, folder = path.read_text("utf-8"), str(source), str(path.resolve().parent)
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"Cannot read the protocol {source}: {error}.") from None
    else:
        place = resources.files(__package__) / "protocols" / f"{source}.json"
        if not _plain(str(source)) or not place.is_file():
            known = sorted(item.name[:-5] for item in (resources.files(__package__) / "protocols").iterdir())
            raise InputError(
                f"protocol={str(source)!r} is not known: choose one of {', '.join(known)}, or give a .json file."
            )
        text, where = place.read_text("utf-8"), str(source)
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise FileError(f"{where} is not valid JSON: {error}.") from None
    return parse_protocol(raw, where=where, folder=folder)


def parse_protocol(raw: Any, *, where: str, folder: str | None = None) -> Protocol:
    """Check a protocol that was read; every complaint names the file and the place in it."""
    take = _Reader(raw, where)
    name = take("name", str)
    if not _plain(name):
        raise InputError(
            f"{where}: name={name!r} is not valid; use letters, digits, '-' and '_' (it names files)."
        )
    sets = tuple(_build(DataSet, item, f"{where}: sets[{i}]") for i, item in enumerate(take("sets", list)))
    methods = tuple(_method(item, f"{where}: methods[{i}]") for i, item in enumerate(take("methods", list)))
    measures = tuple(
        _build(Measure, item, f"{where}: measures[{i}]") for i, item in enumerate(take("measures", list))
    )
    for what, items in (("sets", sets), ("methods", methods), ("measures", measures)):
        names = [item.name for item in items]
        if not names:
            raise InputError(f"{where}: {what} is empty; a protocol needs at least one.")
        if len(set(names)) < len(names):
            raise InputError(f"{where}: two {what} have the same name among {listed(names, 20)}.")
        if any("/" in item for item in names):
            raise InputError(
                f"{where}: a name in {what} contains '/', which separates the parts of a cell's name."
            )
    ensembles = _ensembles(take("ensembles", dict, {}), f"{where}: ensembles")
    vary = take("vary", dict, {})
    variations = _variations(vary, ensembles, f"{where}: vary")
    repetitions = take("repetitions", int)
    if repetitions < 1:
        raise InputError(f"{where}: repetitions={repetitions} must be at least 1.")
    protocol = Protocol(
        name=name,
        title=take("title", str, name),
        reference=take("reference", str, ""),
        about=take("about", str, ""),
        sets=sets,
        methods=methods,
        measures=measures,
        ensembles=ensembles,
        repetitions=repetitions,
        vary=vary.get("label", vary.get("parameter", "")),
        variations=variations,
        printed=_printed(take("printed", dict, {}), {m.name for m in measures}, f"{where}: printed"),
        raw=raw,
        folder=folder,
    )
    take.finish()
    return protocol


def digest(value: Any, length: int = 12) -> str:
    """A short fingerprint of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def setting_name(params: Mapping[str, Any]) -> str:
    """'theta=0.3, mode=authors': parameters as a cell's name and the reports show them."""
    return ", ".join(f"{key}={_short(value)}" for key, value in params.items()) or DEFAULT


# Reading ---------------------------------------------------------------------------------------------------


class _Reader:
    """Takes known keys out of a JSON object; what is left over is a misspelling."""

    def __init__(self, raw: Any, where: str):
        if not isinstance(raw, dict):
            raise InputError(f"{where}: expected an object with named entries, got {type(raw).__name__}.")
        self.raw, self.where, self.left = raw, where, set(raw)

    def __call__(self, key: str, kind: Any, *default: Any) -> Any:
        self.left.discard(key)
        if key not in self.raw:
            if default:
                return default[0]
            raise InputError(f"{self.where}: {key!r} is missing.")
        value = self.raw[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            wanted = getattr(kind, "__name__", str(kind))
            raise InputError(f"{self.where}: {key}={value!r} is not valid: expected {wanted}.")
        return value

    def finish(self) -> None:
        if self.left:
            raise InputError(f"{self.where}: {listed(sorted(map(repr, self.left)))} is not a known entry.")


_KINDS: dict[str, Any] = {
    "name": str,
    "data": str,
    "n": int,
    "d": int,
    "classes": int,
    "transform": (str, type(None)),
    "printed_as": str,
    "note": str,
    "key": str,
    "scale": (int, float),
    "digits": int,
}


def _build(cls: Any, item: Any, where: str) -> Any:
    take = _Reader(item, where)
    values = {
        key: take(key, _KINDS[key])
        for key in cls.__dataclass_fields__
        if key in item or key in ("name", "data", "key")
    }
    take.finish()
    return cls(**values)


def _ensembles(item: Any, where: str) -> Ensembles:
    take = _Reader(item, where)
    ensembles = Ensembles(
        generator=take("generator", (str, type(None)), None),
        params=take("params", dict, {}),
        size=take("size", int, 20),
        members=take("members", (int, type(None)), None),
        take=take("take", str, "all"),
        shared=take("shared", bool, False),
        missing=take("missing", (int, float), 0.0),
    )
    take.finish()
    if ensembles.take not in TAKES:
        raise InputError(
            f"{where}: take={ensembles.take!r} is not valid: expected one of {', '.join(TAKES)}."
        )
    if ensembles.size < 1 or (ensembles.members is not None and ensembles.members < ensembles.size):
        raise InputError(
            f"{where}: size={ensembles.size} and members={ensembles.members}: take at least one and no more than are made."
        )
    if not 0 <= ensembles.missing < 1:
        raise InputError(f"{where}: missing={ensembles.missing} must be a share of at least 0 and below 1.")
    return ensembles


def _method(item: Any, where: str) -> Method:
    take = _Reader(item, where)
    tuned = None
    if (raw := take("tuned", dict, None)) is not None:
        inner = _Reader(raw, f"{where}: tuned")
        grid = inner("grid", dict)
        if not grid or not all(isinstance(values, list) and values for values in grid.values()):
            raise InputError(f"{where}: tuned: grid={grid!r} must give a list of values per parameter.")
        tuned = Tuned(grid, inner("params", dict, {}), inner("choice", str, "ensemble"))
        inner.finish()
        if tuned.choice not in CHOICES:
            raise InputError(
                f"{where}: tuned: choice={tuned.choice!r} is not valid: expected one of {', '.join(CHOICES)}."
            )
    method = Method(
        name=take("name", str),
        method=take("method", str),
        params=take("params", dict, {}),
        input=take("input", str, "ensemble"),
        fill=take("fill", str, None),
        raw=take("raw", bool, False),
        default=take("default", bool, True),
        tuned=tuned,
    )
    take.finish()
    if method.input not in INPUTS:
        raise InputError(
            f"{where}: input={method.input!r} is not valid: expected one of {', '.join(INPUTS)}."
        )
    if method.fill not in (None, "random"):
        raise InputError(f"{where}: fill={method.fill!r} is not valid: expected 'random'.")
    if not method.default and tuned is None:
        raise InputError(f"{where}: default is false and there is no grid, so there is nothing to run.")
    return method


def _variations(vary: dict, ensembles: Ensembles, where: str) -> tuple[Variation, ...]:
    if not vary:
        return ()
    take = _Reader(vary, where)
    parameter, values = take("parameter", str), take("values", list)
    take("label", str, "")
    take.finish()
    out = []
    for value in values:
        if parameter.startswith("params."):
            change: dict[str, Any] = {"params": {**ensembles.params, parameter[7:]: value}}
        elif parameter in Ensembles.__dataclass_fields__:
            change = {parameter: value}
        else:
            raise InputError(
                f"{where}: parameter={parameter!r} is not valid: expected params.NAME or one of "
                f"{', '.join(Ensembles.__dataclass_fields__)}."
            )
        _ensembles({**_plain_ensembles(ensembles), **change}, f"{where} = {value!r}")
        out.append(Variation(_short(value), value, change))
    return tuple(out)


def _plain_ensembles(ensembles: Ensembles) -> dict:
    return {key: getattr(ensembles, key) for key in Ensembles.__dataclass_fields__}


def _printed(raw: dict, measures: set[str], where: str) -> dict:
    """Figures as ``measure: {method: {set: mean or [mean, std]}}``."""
    out: dict[str, dict[str, dict[str, tuple]]] = {}
    for measure, table in raw.items():
        if measure not in measures:
            raise InputError(
                f"{where}: {measure!r} is not one of the measures {listed(sorted(measures), 20)}."
            )
        out[measure] = {}
        for method, row in table.items():
            out[measure][method] = {}
            for name, value in row.items():
                pair = value if isinstance(value, list) else [value, None]
                ok = len(pair) == 2 and all(
                    isinstance(v, (int, float)) or (i and v is None) for i, v in enumerate(pair)
                )
                if not ok:
                    raise InputError(
                        f"{where}: {measure}, {method}, {name}: {value!r} is neither a number nor [mean, std]."
                    )
                out[measure][method][name] = (float(pair[0]), None if pair[1] is None else float(pair[1]))
    return out


def _called(items: tuple, name: str) -> list[int]:
    """Positions of the sets or methods of that name; where no row has it, of those whose file or class has it."""
    low = name.lower()
    rows = [i for i, item in enumerate(items) if item.name.lower() == low]
    inner = [item.data if isinstance(item, DataSet) else item.method for item in items]
    return rows or [i for i, text in enumerate(inner) if text.lower() == low]


def _pick(items: tuple, wanted: list[str] | None, what: str, where: str) -> tuple:
    if not wanted:
        return items
    if unknown := [name for name in wanted if not _called(items, name)]:
        raise InputError(
            f"{what} {listed(map(repr, unknown))} is not in the protocol {where!r}: choose from "
            f"{listed((item.name for item in items), 40)}."
        )
    chosen = {i for name in wanted for i in _called(items, name)}
    return tuple(item for i, item in enumerate(items) if i in chosen)


def _plain(name: str) -> bool:
    return bool(name) and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
