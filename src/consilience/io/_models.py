"""Fitted models as files: one zip archive with numbers in NPY arrays and all else in JSON.

No code in the file is ever run. ``model.json`` holds {"format", "version", "written_by", "model"}. A value
that JSON cannot hold is an object with the key "!": an array ("a0.npy" beside it), a tuple, a date, or an
object of one of the kinds listed here, by the names of its fields. Names are looked up in that list and in
the register of estimators, never imported. An object that occurs twice is written once.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from .. import __version__, _register
from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError, InputError
from ._archives import read_array
from ._atomic import atomic_write
from ._formats import betrayed_by, damaged, guarded, is_special, opened
from ._sound import check_learned, checked, sound_ensemble
from ._sparse import misfit
from ._streams import check_device

FORMAT, VERSION = "consilience model", 1
_JSON = "model.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # date of every entry, so that equal models give equal files
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_SPARSE = {"csr": (sp.csr_array, sp.csr_matrix), "csc": (sp.csc_array, sp.csc_matrix)}


_VALUES = (bool, int, float, str, bytes, np.generic, datetime.date)
_NEVER_SHARED = frozenset(["float", "scalar", "tuple", "dict", "datetime", "date"])
#: The largest position in each buffer of a random generator.
_POSITIONS = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "has_gauss": 1}


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model, an ensemble or a study to a file, which :func:`load` reads.

    The file is written whole or not at all. Models and studies also have it as a method,
    ``model.save(path)``.

    Parameters
    ----------
    obj : fitted consensus method, ConsensusClustering, MDEC, Ensemble or ChooseKResult
        A model is saved with its parameters, all that it learned, and what it needs to label new rows. An
        ensemble is saved with names, weights, recipes and what it needs to label further objects. A study is
        what :func:`consilience.choose_k` returns. Functions and clusterers of other packages are code, which
        a file of data cannot hold: an object that holds one is refused.
    path : path
        Any name, for instance "model.consilience".
    """
    from sklearn.utils.validation import check_is_fitted

    name = type(obj).__name__
    if isinstance(obj, (str, os.PathLike)) and _is_whole(path):
        raise InputError(f"save takes the object first, then the file: save(model, {os.fspath(obj)!r}).")
    if not _is_whole(obj):
        raise InputError(
            f"{name} is not an estimator of consilience that can be saved, nor an ensemble or a study; pass "
            "a fitted consensus method, ConsensusClustering, an Ensemble or what choose_k returns."
        )
    if _estimator_name(obj) is not None:
        check_is_fitted(obj, "labels_")
    with atomic_write(path) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
        writer = _Writer(archive)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": f"consilience {__version__}",
            "model": writer.encode(obj, name),
        }
        archive.writestr(_entry(_JSON), json.dumps(content, allow_nan=False))


def load(path: str | os.PathLike[str]) -> Any:
    """Load the model, ensemble or study that :func:`save` wrote.

    A loaded model gives exactly the same predictions. No code in the file is run. A file that is truncated,
    damaged, of another kind or of a newer version is refused.

    Examples
    --------
    >>> import os, tempfile
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.consilience")
    ...     model.save(path)
    ...     again = cs.load(path)
    >>> again.predict([[0, 1, 1]]).tolist() == model.predict([[0, 1, 1]]).tolist()
    True
    """
    name = os.fspath(path)
    with opened(path) as handle:
        check_device(handle, name)
        if is_special(path):
            raise FileError(f"{name} is not a regular file; save its content to one first, and load that.")
        return _read(handle, name)


def _read(handle: BinaryIO, name: str) -> Any:
    start = handle.read(8)
    handle.seek(0)
    if not start.startswith(b"PK"):
        what = betrayed_by(start)
        raise FileError(
            f"{name} is not a model of consilience"
            + (f": it is {what}" if what else "")
            + ". Pass a file that model.save(path) wrote."
        )
    with guarded(name, "a model of consilience"), zipfile.ZipFile(handle) as archive:
        if _JSON not in archive.namelist():
            raise FileError(f"{name} is an archive, but not a model of consilience: it holds no {_JSON}.")
        ensure_fits(20.0 * archive.getinfo(_JSON).file_size, what=name, remedy="use a larger machine")
        content = json.loads(archive.read(_JSON))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileError(
                f"{name} is an archive, but not a model of consilience: {_JSON} does not say that it is one."
            )
        version = content.get("version")
        if type(version) is not int or version > VERSION:
            raise FileError(
                f"{name} has version {version!r} of the format, written by {content.get('written_by')}; "
                f"consilience {__version__} reads up to version {VERSION}. Update consilience to read it."
            )
        try:
            model = _Reader(archive, name).decode(content["model"])
        except FileError:
            raise
        except InputError as error:  # parts that do not fit together
            raise damaged(name, error, "a model of consilience") from None
    if not _is_whole(model):
        raise FileError(f"{name} holds {type(model).__name__}, which is not a model, ensemble or study.")
    return model


def _is_whole(obj: Any) -> bool:
    """Whether this is an object of the kinds that files hold by themselves."""
    from .._choosing.study import ChooseKResult
    from .._data.ensemble import Ensemble

    return type(obj) in (Ensemble, ChooseKResult) or _estimator_name(obj) is not None


def _estimator_name(model: Any) -> str | None:
    """The name of an estimator that can be written, else None.

    It must predict from base labels, or from features through base labels.
    """
    saved = (*_register.CONSENSUS, *_register.FEATURES)
    return next(
        (entry.name for entry in saved if type(model).__name__ == entry.name and type(model) is entry.load()),
        None,
    )


def _made_of(make: Callable[..., Any], parts: dict) -> Any:
    return make(**parts)


def _kinds() -> dict[str, tuple[type, Callable[[Any], dict], Callable[[dict], Any]]]:
    """The kinds of objects that a file may hold beside estimators and numbers.

    Name -> (type, function from object to fields, function from fields to object).
    """
    from .._choosing.rule import Test
    from .._choosing.statistics import PairShares
    from .._choosing.study import ChooseKResult, References
    from .._data.distinct import Compressed
    from .._data.ensemble import Ensemble
    from .._data.soft import SoftCompressed
    from .._evidence.prediction import Predictor
    from .._kernels.labels.distinct import RowKeys
    from .._members.storable import KINDS
    from .._pipeline.defaults import Plan

    found: dict[str, tuple[type, Callable[[Any], dict], Callable[[dict], Any]]] = {}
    for kind in (Ensemble, Compressed, SoftCompressed, Predictor, RowKeys, ChooseKResult):
        make: Callable[[Any], Any] = kind._from_parts
        if issubclass(kind, Ensemble):
            make = checked(make, sound_ensemble)
        found[kind.__name__] = (kind, kind._to_parts, make)
    plain = {cls.__name__: (cls, cls) for cls in (Plan, References, Test, PairShares)}
    for name, (cls, made) in {**KINDS, **plain}.items():
        found[name] = (cls, _fields_of, partial(_made_of, made))
    return found


def _fields_of(thing: Any) -> dict[str, Any]:
    if is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in fields(thing)}
    return thing._asdict()


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


class _Writer:
    """Turns a model into JSON values, and writes arrays beside them."""

    def __init__(self, archive: zipfile.ZipFile):
        self.archive, self.kinds = archive, _kinds()
        self.names = {kind: name for name, (kind, _, _) in self.kinds.items()}
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # so that no id is used twice
        self.n_arrays = 0

    def encode(self, value: Any, where: str) -> Any:
        """Encode a value; ``where`` is what messages call it."""
        if value is None or isinstance(value, (bool, int)):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"!": "float", "value": repr(value)}
        if isinstance(value, str):
            return str(value)
        if isinstance(value, list):
            return [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if isinstance(value, np.generic):
            return {"!": "scalar", "of": self.encode(np.asarray(value), where)}
        if type(value) is tuple:
            return {"!": "tuple", "items": self.encode(list(value), where)}
        if isinstance(value, dict):
            items = [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"!": "dict", "items": items}
        if isinstance(value, (datetime.datetime, datetime.date)):
            return self._date(value, where)
        return self._once(value, where)

    def _once(self, value: Any, where: str) -> dict[str, Any]:
        """Encode a value that may occur several times, only once."""
        if id(value) in self.seen:
            return {"!": "same", "id": self.seen[id(value)]}
        number = self.seen[id(value)] = len(self.seen)
        self.alive.append(value)
        return {**self._thing(value, where), "id": number}

    def _thing(self, value: Any, where: str) -> dict[str, Any]:
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if sp.issparse(value) and value.format in _SPARSE:
            pieces = [
                self.encode(np.asarray(piece), where) for piece in (value.data, value.indices, value.indptr)
            ]
            matrix = isinstance(value, sp.spmatrix)
            return {
                "!": "sparse",
                "kind": value.format,
                "matrix": matrix,
                "pieces": pieces,
                "shape": list(value.shape),
            }
        if isinstance(value, np.dtype) and value in (np.float32, np.float64):
            return {"!": "dtype", "value": value.name}
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return self._random(value, where)
        name = _estimator_name(value)
        if name is not None:
            params = value.get_params(deep=False)
            state = {
                key: item for key, item in vars(value).items() if key not in params and not _is_setting(key)
            }
            return {
                "!": "estimator",
                "name": name,
                "params": {
                    key: self.encode(item, f"{where}, parameter {key}") for key, item in params.items()
                },
                "state": {key: self.encode(item, f"{where}.{key}") for key, item in state.items()},
            }
        if type(value) in self.names:
            kind = self.names[type(value)]
            parts = self.kinds[kind][1](value)
            return {
                "!": kind,
                "parts": {key: self.encode(part, f"{where}.{key}") for key, part in parts.items()},
            }
        raise InputError(
            f"{where} is {value!r:.60}, of type {type(value).__module__}.{type(value).__name__}, which "
            "cannot be saved: a model file holds numbers, text and the estimators of consilience, but no "
            "code of other packages. Save model.method_, which predicts from base labels, or pickle the "
            "model yourself."
        )

    def _array(self, value: np.ndarray, where: str) -> dict[str, Any]:
        if value.dtype == object:
            items = self.encode(value.ravel().tolist(), where)
            return {"!": "objects", "items": items, "shape": list(value.shape)}
        if value.dtype.kind in "mM":
            return {"!": "dates", "dtype": value.dtype.str, "of": self.encode(value.view(np.int64), where)}
        if value.dtype.kind not in "biufU" or not value.dtype.itemsize:
            raise InputError(
                f"{where} is an array of {value.dtype}, which cannot be saved; use numbers or text."
            )
        name = f"a{self.n_arrays}.npy"
        self.n_arrays += 1
        with self.archive.open(_entry(name), "w", force_zip64=True) as member:
            npy.write_array(member, np.asarray(value, order="C"), allow_pickle=False)
        return {"!": "array", "name": name}

    def _date(self, value: Any, where: str) -> dict[str, Any]:
        kind = datetime.datetime if isinstance(value, datetime.datetime) else datetime.date
        text = value.isoformat()
        try:
            same = kind.fromisoformat(text) == value
        except ValueError:  # a date with nanoseconds
            same = False
        if not same:
            raise InputError(
                f"{where} is {value!r}, which cannot be saved exactly; use text or whole microseconds."
            )
        return {"!": kind.__name__, "value": text}

    def _random(self, value: Any, where: str) -> dict[str, Any]:
        legacy = isinstance(value, np.random.RandomState)
        state = value.get_state(legacy=False) if legacy else value.bit_generator.state
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise InputError(
                f"{where} is a random generator of the kind {state['bit_generator']}, which cannot be "
                f"saved; use a number."
            )
        return {"!": "random", "legacy": legacy, "state": self.encode(state, where)}


def _is_setting(key: str) -> bool:
    """Whether this tells scikit-learn how to treat the estimator, which is set again where it is used."""
    return key.startswith(("_sklearn", "_metadata"))


class _Reader:
    """Turns JSON values into a model. An error here means a damaged file: the caller says so."""

    def __init__(self, archive: zipfile.ZipFile, name: str):
        self.archive, self.name, self.kinds = archive, name, _kinds()
        self.things: dict[int, Any] = {}

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value["!"] == "same":
            if value["id"] not in self.things:
                raise ValueError(f"it refers to object {value['id']!r:.20}, which is not there before")
            return self.things[value["id"]]
        thing = self._thing(value["!"], value)
        if "id" in value:
            if value["!"] in _NEVER_SHARED:  # hashing tuples of tuples that occur twice takes unbounded time
                raise ValueError(f"a {value['!']} that occurs several times")
            self.things[value["id"]] = thing
        return thing

    def _thing(self, kind: str, value: dict[str, Any]) -> Any:
        if kind in self.kinds:
            return self.kinds[kind][2]({key: self.decode(part) for key, part in value["parts"].items()})
        found = getattr(self, f"_{kind}", None) if kind in _PLAIN else None
        if found is None:
            raise FileError(
                f"{self.name} holds an object of the unknown kind {kind!r:.60}; it may be damaged."
            )
        return found(value)

    def _float(self, value: dict) -> float:
        return float(value["value"])

    def _scalar(self, value: dict) -> Any:
        return self.decode(value["of"])[()]

    def _tuple(self, value: dict) -> tuple:
        return tuple(self.decode(value["items"]))

    def _dict(self, value: dict) -> dict:
        return {_plain(self.decode(key)): self.decode(item) for key, item in value["items"]}

    def _datetime(self, value: dict) -> datetime.datetime:
        return datetime.datetime.fromisoformat(value["value"])

    def _date(self, value: dict) -> datetime.date:
        return datetime.date.fromisoformat(value["value"])

    def _objects(self, value: dict) -> np.ndarray:
        items = self.decode(value["items"])
        array = np.empty(len(items), object)
        array[:] = [_plain(item) for item in items]
        return array.reshape(value["shape"])

    def _dates(self, value: dict) -> np.ndarray:
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in "mM":
            raise ValueError(f"dates of {dtype}")
        return self.decode(value["of"]).view(dtype)

    def _dtype(self, value: dict) -> np.dtype:
        if value["value"] not in ("float32", "float64"):
            raise ValueError(f"numbers of the type {value['value']}")
        return np.dtype(value["value"])

    def _array(self, value: dict) -> np.ndarray:
        info = self.archive.getinfo(value["name"])
        with self.archive.open(info) as member:
            array = read_array(member, f"{self.name}, {info.filename}", info.file_size)
            member.read(1)  # at the end of the member zipfile compares its checksum
        return array

    def _sparse(self, value: dict) -> Any:
        data, indices, indptr = self.decode(value["pieces"])
        kind = _SPARSE[value["kind"]][bool(value["matrix"])]
        if wrong := misfit(data, indices, indptr, tuple(value["shape"]), value["kind"]):
            raise ValueError(wrong)
        found = kind((data, indices, indptr), shape=tuple(value["shape"]))
        found.check_format(full_check=True)
        return found

    def _random(self, value: dict) -> Any:
        state = self.decode(value["state"])
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError(f"random numbers of the kind {state['bit_generator']}")
        _check_positions(state)
        if value["legacy"]:
            legacy = np.random.RandomState()
            legacy.set_state(state)
            return legacy
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        return np.random.Generator(bits)

    def _estimator(self, value: dict) -> Any:
        entries = {entry.name: entry for entry in (*_register.CONSENSUS, *_register.FEATURES)}
        cls = entries[value["name"]].load()
        model = cls(**{key: self.decode(item) for key, item in value["params"].items()})
        state = {key: self.decode(item) for key, item in value["state"].items()}
        check_learned(entries[value["name"]].name, model, state)
        vars(model).update(state)
        return model


def _plain(value: Any) -> Any:
    """A key or an element: a value, or a tuple of values.

    Its hash takes no more time than the file is long.
    """
    for item in value if type(value) is tuple else (value,):
        if item is not None and not isinstance(item, _VALUES):
            raise ValueError(f"a {type(item).__name__} where a number or text belongs")
    return value


def _check_positions(state: dict[str, Any]) -> None:
    """Check the positions in the buffers of a random generator, which compiled code follows unchecked."""
    inner = state["state"]
    found = {**state, **(inner if isinstance(inner, dict) else {})}
    for name, most in _POSITIONS.items():
        position = found.get(name, 0)
        if type(position) is not int or not 0 <= position <= most:
            raise ValueError(f"random numbers at {name} {position!r:.20}, expected 0 to {most}")


_PLAIN = frozenset(
    [
        "float",
        "scalar",
        "tuple",
        "dict",
        "datetime",
        "date",
        "objects",
        "dates",
        "dtype",
        "array",
        "sparse",
        "random",
        "estimator",
    ]
)
