"""Saved models with something in them changed: refused by ``load``, or as usable as any other.

One model of every class that can be saved, and ensembles, soft ensembles' models and studies. In the JSON of
its file some values are dropped, exchanged or replaced, and in its arrays some numbers, shapes and types.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import consilience as cs
from consilience import _register
from consilience.errors import ConsilienceError

from ..zoo import planted
from .properties import Case, Suite, require

Rng = np.random.Generator

#: Processor seconds that a file of some kilobytes may take to be read.
SECONDS = 5.0
ROWS, COLUMNS = 24, 4


@cache
def _labels() -> np.ndarray:
    labels = planted(0, n=ROWS, m=5, c=3, noise=0.2)[0]
    labels[0, 1] = -1
    return labels


@cache
def _features() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.round(rng.normal(size=(ROWS, COLUMNS)) + np.repeat([0, 4], ROWS // 2)[:, None], 3)


@cache
def _soft() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.round(rng.dirichlet(np.ones(3), ROWS), 4) * 0.9 for _ in range(3)]


def _frame() -> Any:
    import pandas as pd

    labels = pd.DataFrame(_labels(), columns=list("abcde"), index=[f"row{i}" for i in range(ROWS)])
    labels["b"] = [None if v < 0 else f"group {v}" for v in labels["b"]]
    return labels


def _fitted(entry: Any) -> Callable[[], Any]:
    def fit() -> Any:
        cls = entry.load()
        params = dict(cls._test_params[0])
        if "random_state" in cls._get_param_names():
            params["random_state"] = 0
        model = cls(**{"n_clusters": 3, **params})
        return model.fit(_frame() if len(entry.name) % 2 else _labels())

    return fit


def _pipeline(**params: Any) -> Callable[[], Any]:
    return lambda: cs.ConsensusClustering(2, random_state=0, **params).fit(_features())


STOCK: dict[str, Callable[[], Any]] = {
    **{entry.name: _fitted(entry) for entry in _register.CONSENSUS},
    "soft": lambda: cs.consensus.EvidenceAccumulation(3).fit(cs.SoftEnsemble(_soft())),
    "soft and sparse": lambda: cs.consensus.LWGP(3).fit(cs.SoftEnsemble(_soft())),
    "random state": lambda: cs.consensus.KCC(3, random_state=np.random.RandomState(0)).fit(_labels()),
    "ConsensusClustering": _pipeline(n_clusterings=4),
    "landmarks": _pipeline(generator="landmarks", n_clusterings=4, method="lwea"),
    "kmeans": _pipeline(generator="kmeans", n_clusterings=4, method="voting"),
    "bagging": _pipeline(generator="bagging", n_clusterings=4, method="best-of"),
    "spectral": _pipeline(generator="spectral", n_clusterings=9),
    "MDEC": lambda: cs.MDEC(2, n_clusterings=4, random_state=0).fit(_features()),
    "Ensemble": lambda: cs.Ensemble(_frame(), sample_weight=np.arange(1.0, ROWS + 1)),
    "generated": lambda: cs.generate.kmeans(
        _features(), n_clusterings=3, n_clusters=3, keep_base_models=True, random_state=0
    ),
    "study": lambda: cs.choose_k(ensemble=_labels(), n_clusters=(2, 4), random_state=0),
    "study of features": lambda: cs.choose_k(
        _features(), n_clusters=(2, 4), n_references=3, n_clusterings=4, alpha=0.5, random_state=0
    ),
}


@cache
def saved(name: str) -> tuple[str, dict[str, bytes]]:
    """(JSON, arrays) of a model of the stock."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        warnings.simplefilter("ignore")
        path = Path(folder) / "model"
        cs.io.save(STOCK[name](), path)
        with zipfile.ZipFile(path) as archive:
            held = {info.filename: archive.read(info) for info in archive.infolist()}
    return held.pop("model.json").decode(), held


# Changes ---------------------------------------------------------------------------------------------------


_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 10**9, -(10**9), 2**31, 2**63, 2**64, 0.5, -1.5, 1e308, "", "x",
    "auto", "lwea", [], [0], [[0, 1]], ["a", "b"], [None], {"!": "float", "value": "nan"},
    {"!": "float", "value": "inf"}, {"!": "tuple", "items": []}, {"!": "tuple", "items": [1, 2]},
    {"!": "dict", "items": []}, {"!": "dict", "items": [["a", 1]]}, {"!": "same", "id": 0},
    {"!": "same", "id": 3}, {"!": "objects", "items": [1, "a", None], "shape": [3]},
    {"!": "date", "value": "2020-02-03"}, {"!": "dtype", "value": "float32"},
)  # fmt: skip


def _places(node: Any, at: tuple = ()) -> Iterator[tuple]:
    """Where values are in JSON, as tuples of keys."""
    for key, item in (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    ):
        yield (*at, key)
        yield from _places(item, (*at, key))


def _at(node: Any, place: tuple) -> Any:
    for key in place:
        node = node[key]
    return node


def _pick(rng: Rng, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


def change_json(rng: Rng, model: Any) -> None:
    """One value of the JSON is dropped, repeated, exchanged for another or replaced."""
    places = list(_places(model))
    place = _pick(rng, places)
    holder, key = _at(model, place[:-1]), place[-1]
    old = holder[key]
    turn = int(rng.integers(6))
    if turn == 0:
        del holder[key]
    elif turn == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(old))
    elif turn == 2:
        holder[key] = copy.deepcopy(_at(model, _pick(rng, places)))
    elif turn == 3 and type(old) in (int, float):
        holder[key] = _pick(rng, [old + 1, old - 1, -old, old * 1000, float(old), str(old)])
    else:
        holder[key] = copy.deepcopy(_pick(rng, _ODD))


def change_array(rng: Rng, arrays: dict[str, bytes]) -> None:
    """One array of the archive has other numbers, another shape or another type."""
    name = _pick(rng, sorted(arrays))
    array = np.load(io.BytesIO(arrays[name]), allow_pickle=False)
    turn = int(rng.integers(9))
    if turn <= 3 and array.size:
        array = array.copy()
        flat = array.reshape(-1)
        which = rng.integers(flat.size, size=int(rng.integers(1, 4)))
        if array.dtype.kind in "iu":
            info = np.iinfo(array.dtype)
            flat[which] = _pick(
                rng, [v for v in (-1, -2, 0, 1, 3, 1000, info.max, info.min) if info.min <= v]
            )
        elif array.dtype.kind == "f":
            flat[which] = _pick(rng, [np.nan, np.inf, -1.0, 0.0, 1e30, -1e-30, 0.5])
        elif array.dtype.kind == "b":
            flat[which] = ~flat[which]
        else:
            flat[which] = flat[0]
    elif turn == 4:
        array = array[:-1] if array.ndim and array.shape[0] > 1 else array[..., None]
    elif turn == 5:
        array = np.concatenate([array, array[:1]]) if array.ndim else array[None]
    elif turn == 6:
        array = _pick(rng, [array.reshape(-1), array.T, array[None], array[..., None]])
    elif turn == 7:
        kind = _pick(rng, ["f8", "f4", "i8", "i4", "i2", "u8", "?", "U3"])
        with np.errstate(all="ignore"):
            array = (
                array.astype(kind) if array.dtype.kind != "U" or kind == "U3" else np.zeros(array.shape, kind)
            )
    else:
        array = np.load(io.BytesIO(arrays[_pick(rng, sorted(arrays))]), allow_pickle=False)
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
    arrays[name] = stream.getvalue()


def make(rng: Rng) -> dict[str, Any]:
    name = _pick(rng, sorted(STOCK))
    text, arrays = saved(name)
    content, arrays = json.loads(text), dict(arrays)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if arrays and rng.random() < 0.45:
            change_array(rng, arrays)
        else:
            change_json(rng, content["model"])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for member, data in {**arrays, "model.json": json.dumps(content).encode()}.items():
            archive.writestr(zipfile.ZipInfo(member), data)
    return {"name": name, "content": stream.getvalue()}


suite = Suite("saved models", make, weight=0.3)


@suite.promises("model loaded soon, or refused")
def load(case: Case) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "model"
        path.write_bytes(case.data["content"])
        began = time.process_time()
        try:
            case.memory["model"] = cs.load(path)
        except ConsilienceError:
            case.memory["model"] = None
        finally:
            took = time.process_time() - began
            require(took < SECONDS, f"a file of {len(case.data['content'])} bytes took {took:.1f} s")


def _uses(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What users do with what they loaded."""
    if isinstance(model, cs.Ensemble):
        yield "cut", lambda: cs.consensus.EvidenceAccumulation(2).fit(model)
        yield "frame", model.to_frame
        yield "repr", lambda: repr(model)
        yield "coassociation", model.coassociation
        if model.base_models is not None:
            yield "label", lambda: [one.label(_features()) for one in model.base_models]
        return
    if type(model).__name__ == "ChooseKResult":
        yield "summary", lambda: (model.summary(), str(model), repr(model), model._repr_html_())
        yield "table", lambda: model.table
        yield "dict", lambda: json.dumps(model.to_dict())
        for k in model.n_clusters_tried.tolist():
            yield "labels", lambda k=k: model.labels(k)
            yield "cdf", lambda k=k: model.cdf(k)
        return
    rows: Any = _features() if hasattr(model, "ensemble_") else _labels()
    if isinstance(getattr(model, "distinct_", None), cs.SoftEnsemble):
        rows = _soft()
    new = [block[::-1] for block in rows] if isinstance(rows, list) else np.roll(rows, 1, axis=1)
    for name in ("predict", "predict_proba", "predict_confidence", "score", "score_samples", "transform"):
        if hasattr(model, name):
            yield name, lambda name=name: (getattr(model, name)(rows), getattr(model, name)(new))
    yield "predict_top", lambda: model.predict_top(new, 2)
    yield "summary", model.summary
    yield "frame", model.to_frame
    yield "repr", lambda: (repr(model), model._repr_html_())
    yield "matrix", model.consensus_matrix
    if hasattr(model, "heights_"):
        yield "tree", model.linkage_matrix


@suite.promises("a loaded model is used, or refuses in words")
def use(case: Case) -> None:
    model = case.memory["model"]
    if model is None:
        return
    failed = []
    for name, call in _uses(model):
        try:
            with np.errstate(all="ignore"):
                call()
        except ConsilienceError:
            continue
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:150]}")
    require(not failed, f"{case.data['name']}: " + "; ".join(failed[:3]))


@suite.promises("a loaded model is saved and fitted again, or refuses in words", 0.3)
def again(case: Case) -> None:
    model = case.memory["model"]
    if model is None:
        return
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "again"
        try:
            cs.io.save(model, path)
        except ConsilienceError:
            pass
        else:
            cs.load(path)
    if hasattr(model, "fit"):
        with contextlib.suppress(ConsilienceError):
            model.fit(_features() if hasattr(model, "ensemble_") else _labels())
