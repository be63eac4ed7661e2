"""The cells of a protocol: what there is to run, each with a name, a seed of its own and a fingerprint."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

import consilience
from consilience import consensus, generate, multitask
from consilience.errors import ConsilienceError, InputError

from .former import first_class, first_params, first_row
from .protocol import DataSet, Ensembles, Method, Protocol, Variation, digest, setting_of
from .sets import LoadedSet, differences, fingerprint, load_set


@dataclass(frozen=True)
class Cell:
    """One set, one variation, one method at one setting, one repetition."""

    protocol: str
    item: DataSet
    variation: Variation | None
    method: Method
    params: dict[str, Any]
    column: str  # "default" or "tuned"
    repetition: int
    ensembles: Ensembles
    data_sha: str

    @property
    def transform(self) -> str | None:
        return None if self.method.raw else self.item.transform

    @property
    def setting(self) -> str:
        return setting_of(self.column, self.params)

    @property
    def vary(self) -> str:
        """The label of its variation."""
        return "" if self.variation is None else self.variation.label

    @property
    def name(self) -> str:
        """The cell's name; its seed comes from this alone.

        Parameters go by their first names (:mod:`.former`).
        """
        setting = setting_of(self.column, first_params(self.method.method, self.params))
        parts = (self.protocol, self.item.name, self.vary, first_row(self.method.name), self.column, setting)
        return "/".join([*parts, str(self.repetition)])

    @property
    def group(self) -> tuple[str, str, str, str, str]:
        """The cell but for its repetition."""
        return self.item.name, self.vary, self.method.name, self.column, self.setting

    @property
    def ensemble_name(self) -> str:
        """Shared by all methods: the same columns and the same missing labels for each of them."""
        return f"{self.item.data}/{self.vary}/{self.repetition}"

    @property
    def digest(self) -> str:
        """Digest of everything in the protocol that the result depends on.

        An edited protocol runs again where it changed.
        """
        taken = {key: getattr(self.ensembles, key) for key in ("size", "take", "missing")}
        return digest(
            {
                "data": self.item.data,
                "transform": self.transform,
                "method": first_class(self.method.method),
                "input": self.method.input,
                "fill": self.method.fill,
                "params": first_params(self.method.method, self.params),
                "ensembles": {**self.ensembles.recipe(), **taken},
            }
        )

    @property
    def key(self) -> tuple[str, str, str]:
        """What "already done" means: same name, same protocol, same data."""
        return self.name, self.digest, self.data_sha

    @property
    def base(self) -> Base | None:
        """The base clusterings it needs, or None if it works on features."""
        if self.method.input != "ensemble":
            return None
        repetition = 0 if self.ensembles.shared else self.repetition
        return Base(self.item, self.ensembles, repetition, self.data_sha)


@dataclass(frozen=True)
class Base:
    """Base clusterings made once per set and repetition, whatever the number of methods that use them."""

    item: DataSet
    ensembles: Ensembles
    repetition: int
    data_sha: str

    @property
    def name(self) -> str:
        made = digest(self.ensembles.recipe())
        return f"{self.item.data}/{self.item.transform or 'raw'}/{made}/{self.repetition}"

    @property
    def key(self) -> str:
        return f"{self.item.data.replace(':', '-')}-{digest([self.name, self.data_sha], 16)}"


@dataclass
class Plan:
    """What will be run, and what will not, with the reason."""

    cells: list[Cell] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    #: set -> its differences from the published one, in words
    notes: dict[str, list[str]] = field(default_factory=dict)
    shapes: dict[str, tuple[int, int, int]] = field(default_factory=dict)


def seed_of(name: str) -> int:
    """A seed from a name: the same cell draws the same numbers wherever and whenever it runs."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") >> 1


def make_plan(protocol: Protocol, data: Any, *, tuned: bool = True) -> Plan:
    """The cells of a protocol that can run here, and the sets and methods that cannot, with the reason."""
    plan = Plan()
    reasons = {method.name: unavailable(method) for method in protocol.methods}
    plan.skipped += [(name, why) for name, why in reasons.items() if why is not None]
    methods = [method for method in protocol.methods if reasons[method.name] is None]
    for item in protocol.sets:
        try:
            loaded = load_set(item.data, data)
            sha = fingerprint(item.data, data)
        except ConsilienceError as error:
            plan.skipped.append((item.name, str(error)))
            continue
        plan.notes[item.name] = differences(item, loaded, sha)
        plan.shapes[item.name] = (*loaded.shape, loaded.n_classes)
        fits = [method for method in methods if _fits(method, item, loaded, protocol.ensembles, plan)]
        variations: list[Variation | None] = [*protocol.variations] or [None]
        for repetition in range(protocol.repetitions):
            for variation in variations:
                ensembles = replace(protocol.ensembles, **(variation.change if variation else {}))
                if loaded.pool is not None:
                    ensembles = _from_pool(ensembles, loaded.pool.shape[1], protocol.repetitions)
                plan.cells += [
                    Cell(protocol.name, item, variation, method, params, column, repetition, ensembles, sha)
                    for method in fits
                    for params, column in method.settings(tuned)
                ]
    return plan


def _from_pool(ensembles: Ensembles, members: int, repetitions: int) -> Ensembles:
    """Cut a file of base clusterings into consecutive ensembles, or draw from it if it is too small.

    The file takes the place of the generator.
    """
    size, take = min(ensembles.size, members), ensembles.take
    if take in ("all", "first"):
        take = "consecutive" if size * repetitions <= members else "random"
    return replace(ensembles, generator=None, params={}, size=size, members=members, take=take, shared=True)


def _fits(method: Method, item: DataSet, loaded: LoadedSet, ensembles: Ensembles, plan: Plan) -> bool:
    why = None
    if method.input == "features" and loaded.features is None:
        why = "the file holds base clusterings, not features."
    elif method.input in ("tasks", "each-task") and (loaded.features is None or loaded.task is None):
        why = "the file holds no 'task' array, so it is not a multi-task set."
    elif method.input == "ensemble" and loaded.pool is None:
        why = _no_generator(ensembles.generator)
    if why is not None:
        plan.skipped.append((f"{method.name} on {item.name}", why))
    return why is None


def _no_generator(name: str | None) -> str | None:
    if name is None:
        return "the protocol names no generator and the file holds no base clusterings."
    try:
        find_generator(name)
    except InputError as error:
        return str(error)
    return None


# Methods and generators by name ----------------------------------------------------------------------------


def unavailable(method: Method) -> str | None:
    """Why a method cannot run here, or None."""
    if method.is_base:
        return None
    try:
        find_method(method.method)
    except InputError as error:
        return str(error)
    return None


def find_method(name: str) -> Any:
    """The class of a method: registered, public in :mod:`consilience`, or ``package.module:Class``."""
    if ":" in name:
        return _imported(name, "method")
    for command_name, cls in (consensus.methods() | multitask.methods()).items():
        if name.lower() in (command_name, cls.__name__.lower()):
            return cls
    if not inspect.isclass(found := getattr(consilience, name, None)):
        raise InputError(f"{name} is not available in this version of consilience.")
    return found


def find_generator(name: str) -> Any:
    """A function of :mod:`consilience.generate`, or ``package.module:function``."""
    if ":" in name:
        return _imported(name, "generator")
    if name.startswith("_") or not callable(found := getattr(generate, name, None)):
        raise InputError(f"the generator {name} is not available in this version of consilience.")
    return found


def _imported(name: str, what: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"the {what} {name} cannot be imported: {error}.") from None
