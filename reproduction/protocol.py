"""Protocols as data: what a published table or figure compares, read from one small JSON file and checked.

A protocol names its data sets, how base clusterings are made, the methods with their parameters and grids,
the measures, and the printed figures. Nothing here runs anything or imports a method; that is left to the
workers.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from consilience._base.parameters import listed
from consilience.errors import FileError, InputError

from .former import first_generator

FOLDER = Path(__file__).parent / "protocols"
#: Rows of a table that are the base clusterings themselves: the mean of all, or the best of each ensemble.
BASE_METHODS = ("base-mean", "base-best")
DEFAULT = "default"

Count = Annotated[int, Meta(ge=1)]
Name = Annotated[str, Meta(pattern="^[^/]+$")]  # '/' separates the parts of a cell's name
Printed = float | tuple[float, float | None]


def names_in(text: str) -> list[str]:
    """Names between commas, or between semicolons where there are any: some names hold a comma."""
    return [item.strip() for item in text.split(";" if ";" in text else ",") if item.strip()]


class DataSet(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One row of the table: a set by the name of its file, with the shape that was printed.

    ``printed_as`` is the printed row it is compared with, where that has another name; ``transform`` is what
    is done to the features before anything else. ``group`` is the part of the sets within which methods are
    averaged and ranked; sets of different groups are never compared together.
    """

    name: Name
    data: str
    n: int | None = None
    d: int | None = None
    classes: int | None = None
    transform: Literal["tfidf", "log-tfidf", "unit", "standardize"] | None = None
    printed_as: str | None = None
    note: str = ""
    group: str = ""


class Ensembles(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the base clusterings of one repetition come about.

    ``generator`` is a function of :mod:`consilience.generate` or ``package.module:function``; a data file
    that holds base clusterings itself needs none. ``members`` are made (``size`` by default), of which
    ``take`` picks ``size``: all, the first, consecutive blocks by repetition, or a random draw. With
    ``shared`` the members are made once and every repetition takes from them. ``missing`` is the share of
    labels dropped from each clustering. In ``params`` a list of two numbers is an interval, of which null
    leaves an end open: JSON has no tuples.
    """

    generator: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    size: Count = 20
    members: int | None = None
    take: Literal["all", "first", "consecutive", "random"] = "all"
    shared: bool = False
    missing: Annotated[float, Meta(ge=0, lt=1)] = 0.0

    def __post_init__(self) -> None:
        if self.members is not None and self.members < self.size:
            raise ValueError(
                f"size={self.size} and members={self.members}: take no more than are made (members >= size)"
            )

    def recipe(self) -> dict:
        """What determines the members that are made (not what is taken), parameters by their first names."""
        return {
            "generator": self.generator,
            "params": first_generator(self.generator, self.params),
            "members": self.members or self.size,
            "shared": self.shared,
        }


class Tuned(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A grid whose best point is chosen by the truth: per ensemble (and measure), or per set (and measure).

    ``grid`` gives a list of values per parameter, or, where parameters move together, the points themselves.
    """

    grid: (
        Annotated[dict[str, Annotated[list, Meta(min_length=1)]], Meta(min_length=1)]
        | Annotated[list[dict[str, Any]], Meta(min_length=1)]
    )
    params: dict[str, Any] = field(default_factory=dict)
    choice: Literal["ensemble", "set"] = "ensemble"

    def points(self) -> list[dict]:
        """Every combination of the grid, over the fixed parameters."""
        if isinstance(self.grid, list):
            return [{**self.params, **point} for point in self.grid]
        return [{**self.params, **dict(zip(self.grid, v))} for v in product(*self.grid.values())]


class Method(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One method of the table; ``method`` is a registered name, a public name or ``package.module:Class``.

    ``input`` is the base clusterings, all features at once, a multi-task set, or each task for itself.
    ``raw`` takes the features as they are in the file, whatever the set's transform. ``fill="random"`` puts a
    random cluster where a label is missing, for methods that need complete ensembles. ``stands_for`` names
    the row whose printed figures it is another reading of: the same method at another value of what the paper
    leaves open.
    """

    name: Name
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    input: Literal["ensemble", "features", "tasks", "each-task"] = "ensemble"
    fill: Literal["random"] | None = None
    raw: bool = False
    default: bool = True
    tuned: Tuned | None = None
    stands_for: str | None = None

    def __post_init__(self) -> None:
        if not self.default and self.tuned is None:
            raise ValueError("default is false and there is no grid, so there is nothing to run")

    @property
    def is_base(self) -> bool:
        return self.method in BASE_METHODS

    def settings(self, tuned: bool = True) -> Iterator[tuple[dict, str]]:
        """(parameters, column) of everything there is to run."""
        if self.default:
            yield dict(self.params), "default"
        if tuned and self.tuned is not None:
            yield from ((point, "tuned") for point in self.tuned.points())


class Measure(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A column of scores.

    ``key`` is as stored results have it (reproduction.work.stored_names), ``scale`` is 100 for percent.
    """

    name: str
    key: str
    scale: float = 1.0
    digits: int = 4


class Vary(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of the ensembles over a list of values: the x axis of a figure."""

    parameter: str
    values: list
    label: str = ""


class Variation(Struct, frozen=True):
    """One point on the x axis of a figure: a label, and what it changes in the ensembles."""

    label: str
    change: dict[str, Any]


class Protocol(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A published comparison, ready to be run; see :func:`load_protocol`."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]+$")]  # it names files
    title: str = ""
    reference: str = ""
    about: str = ""
    measures: Annotated[tuple[Measure, ...], Meta(min_length=1)]
    repetitions: Count
    #: Seconds and bytes that a cell may take, unless the run says otherwise.
    time_limit: Annotated[float, Meta(gt=0)] | None = None
    memory_limit: Annotated[float, Meta(gt=0)] | None = None
    #: The method that every other one is held against, set by set.
    against: str | None = None
    #: Methods whose rows tell, beside those of the base clusterings, whether all were given what is behind
    #: the printed table.
    witnesses: tuple[str, ...] = ()
    #: Method -> what of its setting the paper does not print.
    unprinted: dict[str, str] = field(default_factory=dict)
    #: The protocol whose printed figures it is another reading of: the same methods on ensembles made
    #: otherwise.
    stands_for: str | None = None
    #: The printed figures are of one ensemble, their deviations of the last step alone.
    one_ensemble: bool = False
    ensembles: Ensembles = Ensembles()
    vary: Vary | None = None
    sets: Annotated[tuple[DataSet, ...], Meta(min_length=1)]
    methods: Annotated[tuple[Method, ...], Meta(min_length=1)]
    #: measure -> method -> set -> mean, or (mean, standard deviation)
    printed: dict[str, dict[str, dict[str, Printed]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("sets", "methods", "measures"):
            names = [item.name for item in getattr(self, what)]
            if len(set(names)) < len(names):
                raise ValueError(f"two {what} have the same name among {listed(names, 20)}")
        if unknown := set(self.printed) - {measure.name for measure in self.measures}:
            raise ValueError(f"printed: {listed(map(repr, sorted(unknown)))} is not one of the measures")
        if self.against is not None and self.against not in {method.name for method in self.methods}:
            raise ValueError(f"against={self.against!r} is not one of the methods")
        if strange := [
            name for name in self.witnesses if name not in {method.name for method in self.methods}
        ]:
            raise ValueError(f"witnesses: {listed(map(repr, strange))} is not one of the methods")
        rows = {row for table in self.printed.values() for row in table} | {
            method.name for method in self.methods
        }
        for method in self.methods:
            if method.stands_for is not None and method.stands_for not in rows:
                raise ValueError(
                    f"stands_for={method.stands_for!r} of {method.name!r} is not one of the methods"
                )
        if strange := sorted(set(self.unprinted) - rows):
            raise ValueError(f"unprinted: {listed(map(repr, strange))} is not one of the methods")
        for variation in self.variations:  # each must be valid ensembles
            msgspec.convert({**msgspec.structs.asdict(self.ensembles), **variation.change}, Ensembles)

    @property
    def variations(self) -> list[Variation]:
        """The points of ``vary``; none where nothing varies."""
        if self.vary is None:
            return []
        parameter, known = self.vary.parameter, Ensembles.__struct_fields__
        if not parameter.startswith("params.") and parameter not in known:
            raise ValueError(
                f"vary: parameter={parameter!r} is not valid: expected params.NAME or one of "
                f"{', '.join(known)}"
            )
        return [
            Variation(
                short(self._first(value)),
                {"params": {**self.ensembles.params, parameter[7:]: value}}
                if parameter.startswith("params.")
                else {parameter: value},
            )
            for value in self.vary.values
        ]

    def _first(self, value: Any) -> Any:
        """A value of ``vary`` as cells are named after it: parameters go by their first names."""
        assert self.vary is not None
        return first_generator(self.ensembles.generator, value) if self.vary.parameter == "params" else value

    @property
    def groups(self) -> dict[str, str]:
        """Set -> the group it is in, "" where there are none."""
        return {item.name: item.group for item in self.sets}

    @property
    def base_methods(self) -> set[str]:
        """Rows that are no methods but the base clusterings themselves."""
        return {method.name for method in self.methods if method.is_base}

    @property
    def witness_rows(self) -> set[str]:
        """Rows that tell whether the methods were given what is behind the printed table."""
        return {*self.base_methods, *self.witnesses}

    @property
    def paper(self) -> str:
        """The paper it is of, which has a page: its name up to the first hyphen."""
        return self.name.split("-")[0]

    def digits(self, measure: str) -> int:
        """The precision that a measure is printed with."""
        return {item.name: item.digits for item in self.measures}[measure]

    def has(self, what: str, name: str) -> bool:
        """Whether one of its ``"sets"`` or ``"methods"`` goes by that name."""
        return bool(_called(getattr(self, what), name))

    def restricted(
        self, sets: list[str] | None = None, methods: list[str] | None = None, repetitions: int | None = None
    ) -> Protocol:
        """The same protocol with some sets (by row or file name), methods or repetitions only."""
        if repetitions is not None and repetitions < 1:
            raise InputError(
                f"repetitions={repetitions} is not valid: expected a whole number of at least 1."
            )
        chosen = _pick(self.methods, methods, "method", self.name)
        return msgspec.structs.replace(
            self,
            sets=_pick(self.sets, sets, "set", self.name),
            methods=chosen,
            against=self.against if self.against in {method.name for method in chosen} else None,
            witnesses=tuple(name for name in self.witnesses if name in {method.name for method in chosen}),
            repetitions=min(repetitions or self.repetitions, self.repetitions),
        )

    def printed_values(self, measure: str) -> Iterator[tuple[str, str, tuple[float, float | None]]]:
        """(set, method, (mean, std or None)) of everything printed by a measure."""
        for method, row in self.printed.get(measure, {}).items():
            for name, value in row.items():
                yield name, method, (value, None) if isinstance(value, float) else value

    def printed_value(self, measure: str, method: str, row: str) -> tuple[float, float | None] | None:
        """(mean, std or None) as printed, or None."""
        held = {(name, m): value for name, m, value in self.printed_values(measure)}
        return held.get((row, method))


def protocols() -> dict[str, Protocol]:
    """Every protocol that comes with the package, by name."""
    return {path.stem: load_protocol(path.stem) for path in sorted(FOLDER.glob("*.json"))}


def load_protocol(source: str | Path) -> Protocol:
    """A protocol by name, or from a JSON file of your own (a path that ends in ``.json``).

    Its methods may be in the folder of that file.
    """
    if str(source).endswith(".json"):
        protocol = read_protocol(Path(source))
        folder = str(Path(source).resolve().parent)
        # At the front even if it was there before: the module beside this file is meant. Workers inherit the
        # path.
        sys.path[:] = [folder, *(entry for entry in sys.path if entry != folder)]
        return protocol
    known = sorted(path.stem for path in FOLDER.glob("*.json"))
    if str(source) not in known:
        raise InputError(
            f"protocol={str(source)!r} is not known: choose one of {', '.join(known)}, or give a .json file."
        )
    return read_protocol(FOLDER / f"{source}.json")


def read_protocol(path: Path) -> Protocol:
    """A protocol file, checked; nothing it names is imported."""
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"Cannot read the protocol {path}: {error}.") from None
    except ValueError as error:
        raise FileError(f"{path} is not valid JSON: {error}.") from None
    return parse_protocol(raw, where=path.name)


def parse_protocol(raw: Any, *, where: str) -> Protocol:
    """Check a protocol that was read; every complaint names the file and the place in it."""
    try:
        return msgspec.convert(raw, Protocol)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(f"{where}: {error}.") from None


def plain(protocol: Protocol) -> dict:
    """The protocol as its JSON file says it."""
    return msgspec.to_builtins(protocol)


def digest(value: Any, length: int = 12) -> str:
    """A short fingerprint of plain data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def setting_name(params: Mapping[str, Any]) -> str:
    """'threshold=0.3, mode=authors': parameters as a cell's name and the reports show them."""
    return ", ".join(f"{key}={short(value)}" for key, value in params.items()) or DEFAULT


def setting_of(column: str, params: Mapping[str, Any]) -> str:
    """What tells the cells of one method and column apart: the point of the grid.

    Outside of a grid there is one.
    """
    return setting_name(params) if column == "tuned" else DEFAULT


def short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _called(items: tuple, name: str) -> list[int]:
    """Positions of the sets or methods of that name; if no row has it, those whose file or class has it."""
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
