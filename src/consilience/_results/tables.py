"""Tables of all methods, and of several results side by side."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .. import _register
from .._base.names import command_name, numbered
from ..errors import InputError


def table_of(rows: list[dict[str, Any]], index: str) -> Any:
    """A pandas data frame, or the list of dicts if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows).set_index(index)


def list_methods() -> Any:
    """List all methods: what each does, what it works on, and where its documentation is.

    Returns
    -------
    pandas.DataFrame, or list of dicts where pandas is not installed
        One row per method, indexed by ``name``, which ``method=`` of :class:`ConsensusClustering` and the
        command line take. Columns are the ``address`` of the class, ``takes`` ("base clusterings", "features"
        or "features of several tasks"), ``works_on``, a ``summary`` in one sentence, and the ``page`` of the
        documentation. ``works_on`` says what the method computes with: the cost of most methods on pairs
        grows with the square of the number of distinct objects, that of most others with the number itself.
        docs/research/growth.md has measured times and memory for up to 1,000,000 objects.

    Examples
    --------
    >>> import consilience as cs
    >>> cs.list_methods().loc["lwgp", "works_on"]
    'base clusters'
    """
    groups = (
        ("base clusterings", _register.CONSENSUS),
        ("features", _register.FEATURES),
        ("features of several tasks", _register.MULTITASK),
    )
    rows = [
        {
            "name": command_name(entry.name),
            "address": f"cs.{_register.address(entry)}",
            "takes": takes,
            "works_on": _register.WORKS_ON[entry.name],
            "summary": (inspect.getdoc(entry.load()) or "").partition("\n")[0],
            "page": f"docs/methods/{_register.PAGES[entry.name]}.md",
        }
        for takes, entries in groups
        for entry in entries
    ]
    return table_of(rows, "name")


def compare(results: Any, labels_true: Any = None) -> Any:
    """Compare several results for the same objects.

    Parameters
    ----------
    results : dict of name -> fitted model or labels, or list of models
        Models of this library, other fitted clusterers (with their ``labels_``), label vectors and Series. If
        two of them name their objects, they are matched by name.
    labels_true : array-like of shape (n_samples,), optional
        The classes, in the order of the first result. If both name their objects, they are matched by name.

    Returns
    -------
    pandas.DataFrame, or list of dicts where pandas is not installed
        One row per result. Columns are ``n_clusters``; ``consensus_nmi``, the mean NMI with its base
        clusterings, and ``confidence``, the mean over its objects (both NaN if there are no base
        clusterings); ``ari with NAME``, the adjusted Rand index with each result; and with ``labels_true``
        also ``accuracy``, ``nmi`` and ``ari``.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]]
    >>> models = {"lwea": cs.consensus.LWEA(2).fit(base), "by hand": [0, 1, 1, 1]}
    >>> cs.compare(models)["n_clusters"].tolist()
    [2, 2]
    """
    from ..metrics import ari, scores

    named = _named(results)
    labels = _matched(named)
    if labels_true is not None:
        labels_true = _in_order_of(next(iter(named.items())), labels_true)
    if labels_true is not None and len(labels_true) != len(next(iter(labels.values()))):
        raise InputError(
            f"labels_true has {len(labels_true)} classes for {len(next(iter(labels.values())))} objects; "
            f"give one each."
        )
    rows = []
    for name, own in labels.items():
        row = {"name": name, **_of_one(named[name], own)}
        row |= {f"ari with {other}": ari(own, theirs, missing="ignore") for other, theirs in labels.items()}
        if labels_true is not None:
            found = scores(labels_true, own, missing="ignore")
            row |= {key: found[key] for key in ("accuracy", "nmi", "ari")}
        rows.append(row)
    return table_of(rows, "name")


def _named(results: Any) -> dict[str, Any]:
    if isinstance(results, dict):
        named = {str(name): result for name, result in results.items()}
    elif isinstance(results, (list, tuple)) and all(hasattr(one, "fit") for one in results):
        named = dict(zip(numbered(type(getattr(one, "method_", one)).__name__ for one in results), results))
    else:
        raise InputError(
            f"compare got a {type(results).__name__}: pass a dict of models or labels by name, or a list "
            f"of fitted models."
        )
    if not named:
        raise InputError("There is nothing to compare: pass at least one fitted model or label vector.")
    return named


def _matched(named: dict[str, Any]) -> dict[str, np.ndarray]:
    """Codes of each result in the order of the first, matched by name if both have names."""
    from .._data.labels import encode
    from ..metrics import labels_and_names, positions

    first, order = next(iter(named)), None
    out: dict[str, np.ndarray] = {}
    for name, result in named.items():
        values, names = labels_and_names(result, name)
        codes = encode(values, name)[0]
        order = names if name == first else order
        where = None if name == first else positions(order, names, (first, name))
        if where is not None and ((where < 0).any() or len(where) != len(codes)):
            raise InputError(f"{first} and {name} name different objects; a comparison needs the same ones.")
        codes = codes if where is None else codes[where]
        if out and len(codes) != len(out[first]):
            raise InputError(
                f"The results have different numbers of objects ({first}: {len(out[first])}, {name}: "
                f"{len(codes)}); a comparison needs the same objects."
            )
        out[name] = codes
    return out


def _in_order_of(first: tuple[str, Any], labels_true: Any) -> Any:
    """The classes in the order of the first result, matched by name if both have names."""
    from ..metrics import labels_and_names, positions

    values, names = labels_and_names(labels_true, "labels_true")
    where = positions(labels_and_names(first[1], first[0])[1], names, (first[0], "labels_true"))
    if where is None:
        return values
    if (where < 0).any():
        raise InputError(f"labels_true names other objects than {first[0]}; give the class of each.")
    return np.asarray(values)[where]


def _of_one(result: Any, labels: np.ndarray) -> dict[str, float]:
    from .view import Fitted

    count = int(np.unique(labels[labels >= 0]).size)
    if not hasattr(getattr(result, "method_", result), "distinct_"):
        return {"n_clusters": count, "consensus_nmi": np.nan, "confidence": np.nan}
    view = Fitted.from_estimator(result)
    return {
        "n_clusters": count,
        "consensus_nmi": float(np.nanmean(view.nmi)),
        "confidence": float(view.confidence.mean()),
    }
