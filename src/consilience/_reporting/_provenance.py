"""Where a result comes from, and how to reproduce it."""

from __future__ import annotations

import importlib.metadata
import platform
from collections import Counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .. import __version__, _register
from .._base.parameters import listed
from .._results.view import Fitted
from ._embed import printable
from ._words import count, duration, number

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> str:
    found = [f"consilience {__version__}", f"Python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found) + f"; {platform.system()} {platform.machine()}"


def facts(
    fitted: Fitted, X_shape: tuple[int, ...] | None, source: Any, seconds: float | None
) -> list[tuple[str, str]]:
    """Rows of the table "what was done"."""
    distinct, method, pipeline = fitted.distinct, fitted.method, fitted.pipeline
    rows = []
    data = count(fitted.n_samples, "object")
    if X_shape is not None:
        data += f", {count(X_shape[1], 'feature')}"
    rows.append(("Data", f"{printable(source)}: {data}" if source is not None else data))
    k = distinct.n_clusters_per_clustering
    each = f"{k.min()} to {k.max()} clusters" if k.min() < k.max() else f"{count(int(k[0]), 'cluster')} each"
    members = f"{count(distinct.n_clusterings, 'clustering')} with {each}, {number(k.sum())} clusters in all"
    rows.append(("Base clusterings", members))
    made = generator(fitted)
    if made:
        rows.append(("Made by", made))
    u = distinct.n_samples
    if u < fitted.n_samples:
        rows.append(
            (
                "Distinct objects",
                f"the clusterings tell {number(u)} of the {number(fitted.n_samples)} objects apart",
            )
        )
    if method is not None:
        line = (type(method).__doc__ or "").strip().splitlines()
        rows.append(("Method", f"{type(method).__name__}" + (f": {line[0]}" if line else "")))
        given = {
            name: value for name, value in method.get_params(deep=False).items() if name != "random_state"
        }
        rows.append(
            (
                "Parameters",
                ", ".join(f"{name} = {printable(_literal(value), 80)}" for name, value in given.items()),
            )
        )
        seed = seed_of(pipeline if pipeline is not None else method)
        if seed is not None:
            rows.append(("Seed", seed))
        if fitted.seed_agreement is not None:
            rows.append(
                (
                    "Stability",
                    f"{fitted.seed_agreement:.2f}, the estimated adjusted Rand index to the answer of "
                    f"another seed",
                )
            )
        ended = "converged" if method.converged_ else "not converged"
        if method.history_ or method.n_iter_ > 1:
            rows.append(("Iterations", f"{number(method.n_iter_)} ({ended})"))
    if seconds is not None:
        rows.append(("Time", duration(seconds)))
    rows.append(("Versions", versions()))
    return rows


def study_facts(study: Any, source: Any, seconds: float | None) -> list[tuple[str, str]]:
    """The same for a study of k that found no clusters."""
    data = count(study.n_samples, "object")
    rows = [("Data", f"{printable(source)}: {data}" if source is not None else data)]
    if study.sample is not None:
        rows.append(("Studied", f"a random sample of {number(len(study.sample))}"))
    rows.append(("Numbers of clusters", ", ".join(map(str, study.n_clusters_tried.tolist()))))
    rows.append(
        (
            "Base clusterings",
            f"{count(study.ensemble(int(study.n_clusters_tried[0])).n_clusterings, 'subsample')} for each "
            f"number",
        )
    )
    if study.tests:
        rows.append(("References", f"{number(study.tests[0].references)}, {printable(study.null)}"))
    if seconds is not None:
        rows.append(("Time", duration(seconds)))
    rows.append(("Versions", versions()))
    return rows


def generator(fitted: Fitted) -> str:
    """How the base clusterings were made, as far as is known."""
    pipeline = fitted.pipeline
    name = getattr(pipeline, "generator", None) if pipeline is not None else None
    text = name if isinstance(name, str) else ""
    recipes = fitted.distinct.recipes
    if recipes:
        kinds = Counter(str(recipe.get("algorithm", "unknown")) for recipe in recipes)
        known = [
            kind if len(kinds) == 1 else f"{kind} ({number})"
            for kind, number in kinds.most_common()
            if kind != "unknown"
        ]
        if known:
            text = (text + ": " if text else "") + printable(listed(known, 8))
    return text


def seed_of(estimator: Any) -> str | None:
    """The seed in words, or None if nothing is random."""
    parameters = estimator.get_params(deep=False)
    if "random_state" not in parameters:
        return None
    seed = parameters["random_state"]
    if seed is None:
        return "none: another run may give another answer"
    return (
        str(int(seed))
        if isinstance(seed, (int, np.integer))
        else f"a {type(seed).__name__}, whose state was used up"
    )


def reproduce(
    fitted: Fitted, given: dict[str, Any], command: str | None, *, held: bool
) -> list[dict[str, str]]:
    """Blocks of text and code that reproduce the result.

    given: what else the page was made from; held: whether it carries the base clusterings.
    """
    if command:
        return [{"text": "Run, in the folder with the same file:", "code": printable(command, 4000)}]
    lines = ["import consilience as cs", ""]
    shape = given["X"]
    if shape is not None:
        lines.append(f"# X: the features, of shape {shape[0]} x {shape[1]}")
    if fitted.method is not None and fitted.pipeline is not None:
        if shape is None:
            lines.append("# X: the features")
        weights = _weighted(fitted, lines)
        lines.append(f"model = {_call(fitted.pipeline)}.fit(X{weights})")
    else:
        m = fitted.distinct.n_clusterings
        made = generator(fitted)
        if held:
            lines.append('ensemble = cs.io.read_labels("base_clusterings.csv")  # the button below writes it')
        else:
            lines.append(
                f"# ensemble: the {count(m, 'base clustering')}" + (f", made by {made}" if made else "")
            )
            if fitted.distinct.recipes:
                lines.append("# (ensemble.recipes holds the seed and settings of each)")
        if fitted.method is None:
            lines.append("# labels: the result that this page is about")
            lines.append("from consilience._results.view import Fitted")
            lines.append("model = Fitted.from_ensemble(ensemble, labels)")
        else:
            weights = _weighted(fitted, lines)
            lines.append(f"model = {_call(fitted.method)}.fit(ensemble{weights})")
    passed = [name for name in ("labels_true", "annotations") if given[name] is not None]
    lines += [f"# {name}: as given for this page" for name in passed]
    options = "".join([*(f", {name}={name}" for name in passed), ', path="report.html"'])
    first = "X" if shape is not None or fitted.pipeline is not None else ""
    lines.append(f"cs.report(model{', ' + first if first else ''}{options})")
    return [{"text": "Run, with the versions above:", "code": "\n".join(lines)}]


def _weighted(fitted: Fitted, lines: list[str]) -> str:
    """The argument that passes weights on, if there are any."""
    if (fitted.weights == 1).all():
        return ""
    lines.append("# weights: those of the objects")
    return ", sample_weight=weights"


def _call(estimator: Any) -> str:
    """The expression that makes an equal estimator, without parameters that have their defaults."""
    defaults = type(estimator)().get_params(deep=False) if _has_defaults(type(estimator)) else {}
    shown = []
    for name, value in estimator.get_params(deep=False).items():
        if (
            name in defaults
            and type(defaults[name]) is type(value)
            and repr(defaults[name]) == repr(value)
            and name != "n_clusters"
        ):
            continue
        shown.append(f"{name}={_literal(value)}")
    return f"cs.{_address(type(estimator))}({', '.join(shown)})"


def _address(cls: type) -> str:
    """Where users find the class: its name alone, or after its room."""
    for entry in _register.ESTIMATORS:
        if entry.name == cls.__name__:
            return _register.address(entry)
    return cls.__name__


def _has_defaults(cls: type) -> bool:
    try:
        cls()
    except TypeError:
        return False
    return True


def _literal(value: Any) -> str:
    if isinstance(value, BaseEstimator):
        return _call(value)
    if isinstance(value, np.generic):
        value = value.item()
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return repr(value)
