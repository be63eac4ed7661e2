"""Compile ahead everything that is compiled at first use.

Each method, generator and measure is used once on a few objects. Compiled code is kept on disk
(``_kernels/compile/jit.py``), so that every later process finds it: in a container image, on a machine that
many share, before measurements.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .._kernels.compile.cached import times_compiled
from .._kernels.runtime.threads import resolve_jobs

#: Numbers of objects: data that fit into the cache of a core, and data that do not.
FEW, MANY = 240, 9000


class Warmed(NamedTuple):
    """One task that has been compiled."""

    name: str
    seconds: float
    compiled: int  # kernels; 0 where all of them were on disk


def warm_up(names: list[str] | None = None, *, n_jobs: int | None = -1) -> Iterator[Warmed]:
    """Use each name (default: all of :func:`tasks`) once, so that it is compiled, and yield it when ready.

    On several cores, this is done in parallel processes, because compilers cannot share one.
    """
    names = list(tasks()) if names is None else names
    jobs = min(resolve_jobs(n_jobs), len(names))
    if jobs <= 1:
        yield from map(warm, names)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(warm, name) for name in names]):
            yield future.result()


def warm(name: str) -> Warmed:
    """Run one task once."""
    task, before, begun = tasks()[name], times_compiled(), perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about a few made-up objects concern nobody
        task()
    return Warmed(name, perf_counter() - begun, times_compiled() - before)


def tasks() -> dict[str, Callable[[], Any]]:
    """Everything that can be compiled ahead, by name; what most users need first comes first."""
    from ..consensus import methods
    from ..generate import generators
    from ..multitask import methods as multitask_methods

    found: dict[str, Callable[[], Any]] = {
        "ConsensusClustering": _default,
        "MDEC": _mdec,
        "measures": _measures,
    }
    found |= {f"generate.{maker.make.__name__}": partial(_generate, maker) for maker in generators().values()}
    found["generate.kmeans of few columns"] = _few_columns
    found["many clusters, prediction"] = _many_clusters
    found["choosing k"] = _chosen
    found["sparse features"] = _sparse
    found["many labels"] = _many_labels
    found["labels of other types"] = _other_labels
    found |= {cls.__name__: partial(_consensus, cls) for cls in methods().values()}
    found |= {cls.__name__: partial(_multitask, cls) for cls in multitask_methods().values()}
    return found


def _features(n: int, d: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, d))[np.arange(n) % 3] * 4 + rng.normal(size=(n, d))


def _labels(n: int, kind: type, missing: bool = False) -> np.ndarray:
    """Six clusterings that are unsure of some objects."""
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(n)[:, None] % 3, (1, 6))
    mixed = rng.random(labels.shape) < 0.2
    labels[mixed] = rng.integers(0, 4, mixed.sum())
    if missing:
        labels[rng.random(labels.shape) < 0.1] = -1
    return labels.astype(kind)


def _default() -> None:
    from .._pipeline.consensus_clustering import ConsensusClustering

    ConsensusClustering(3, random_state=0).fit(_features(FEW))


def _mdec() -> None:
    from .._pipeline.mdec import MDEC

    MDEC(3, n_clusterings=4, random_state=0).fit(_features(FEW))


def _measures() -> None:
    from .. import metrics
    from .._data.ensemble import Ensemble

    labels = _labels(FEW, np.int64)
    metrics.scores(labels[:, 1], labels[:, 0])
    metrics.anmi(Ensemble(labels), labels[:, 0])


def _generate(maker: Any) -> None:
    maker(_features(FEW), n_clusters=3, random_state=0)
    if maker.name in ("kmeans", "landmarks"):  # whose kernels the others share
        maker(_features(MANY), n_clusters=3, n_clusterings=2, random_state=0)


def _few_columns() -> None:
    """Many rows of few columns have kernels of their own (:mod:`.kernels.kmeans_tiles`)."""
    from ..generate import kmeans

    kmeans(_features(MANY, 4), n_clusterings=2, n_clusters=3, random_state=0)


def _many_clusters() -> None:
    """Ten clusters of some thousand objects, and the clusters of further objects."""
    from .._pipeline.consensus_clustering import ConsensusClustering

    X = np.random.default_rng(0).normal(size=(1800, 8))
    ConsensusClustering(10, random_state=0).fit(X).predict(X[:20] + 0.1)


def _chosen() -> None:
    from .._pipeline.consensus_clustering import ConsensusClustering

    ConsensusClustering("auto", random_state=0).fit(_features(FEW))


def _sparse() -> None:
    from scipy.sparse import random as random_matrix

    from ..generate import kmeans

    for n in (FEW, MANY):
        X = random_matrix(n, 40, 0.2, format="csr", random_state=0)
        kmeans(X, n_clusterings=2, n_clusters=3, random_state=0)


def _many_labels() -> None:
    """More labels than are read without kernels (``_kernels/labels/few.py``)."""
    from ..consensus import LWGP

    for labels in (_labels(MANY, np.int64), _labels(MANY, np.int32, missing=True)):
        LWGP(3, random_state=0).fit(labels)


def _other_labels() -> None:
    from .._data.ensemble import Ensemble

    labels = _labels(MANY, np.int64)
    for kind in (np.int8, np.int16, np.uint8, np.float64, bool, str):
        Ensemble(labels.astype(kind))


def _consensus(cls: Any) -> None:
    for labels in (_labels(FEW, np.int64), _labels(FEW, np.int32, missing=True)):
        _build(cls).fit(labels)


def _multitask(cls: Any) -> None:
    X = np.abs(_features(FEW))
    _build(cls).fit(X, task=np.arange(FEW) // (FEW // 2))


def _build(cls: Any) -> Any:
    """The method with its defaults, from a fixed seed."""
    model = cls(3)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model
