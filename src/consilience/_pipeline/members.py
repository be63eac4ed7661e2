"""Members of a plan.

They are made by a generator of this library, by clusterers in the style of scikit-learn, or by a function of
the user.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import generate
from .._base.names import check_names
from .._data.ensemble import Ensemble
from .._data.features import Features
from .._data.labels import Clusterings
from ..errors import InputError
from .defaults import Plan


def is_clusterer(value: Any) -> bool:
    """Whether something clusters as scikit-learn's estimators do."""
    return hasattr(value, "fit_predict") and not isinstance(value, type)


def make_members(
    features: Features,
    plan: Plan,
    *,
    n_clusters: int,
    keep_base_models: bool | None,
    random_state: int,
    n_jobs: int | None,
    owner: str,
) -> Ensemble:
    """The base clusterings of a plan; ``owner`` is the estimator that errors about parameters name."""
    chosen, params, count = plan.generator, dict(plan.generator_params), plan.n_clusterings
    if isinstance(chosen, str):
        params.setdefault("keep_base_models", keep_base_models)
        return generate.generator(chosen)(
            features,
            params,
            n_clusters=n_clusters,
            n_clusterings=count,
            random_state=random_state,
            n_jobs=n_jobs,
        )
    if is_clusterer(chosen) or not callable(chosen):
        reserved = {name: f"{name} of {owner}" for name in ("n_clusterings", "random_state")}
        valid = (
            "sample_fraction",
            "feature_fraction",
            "bootstrap",
            "preprocess",
            "keep_base_models",
            "n_jobs",
        )
        check_names(params, valid, owner="A list of clusterers", reserved=reserved)
        params.setdefault("keep_base_models", keep_base_models)
        params.setdefault("n_jobs", n_jobs)
        return generate.estimators(
            features,
            clusterers=chosen,
            n_clusterings=count or _times(chosen),
            random_state=random_state,
            **params,
        )
    if count is not None:
        raise InputError(
            f"n_clusterings={count} has no effect on a generator that is a function: it decides by itself. "
            "Leave n_clusterings out, or pass what the function takes in generator_params."
        )
    if _takes(chosen, "random_state"):
        params.setdefault("random_state", random_state)
    return _returned_by(chosen, features, params)


def _returned_by(function: Callable[..., Any], features: Features, params: dict[str, Any]) -> Ensemble:
    """What a user's function returns for the features, as an ensemble of their objects."""
    found = function(features.X, **params)
    if isinstance(found, list) and all(np.shape(one) == (features.n_samples,) for one in found):
        found = Clusterings(found)
    ensemble = Ensemble(found)
    if ensemble.n_samples != features.n_samples:
        raise InputError(
            f"The generator returned labels of {ensemble.n_samples} objects for the {features.n_samples} "
            f"rows of X."
        )
    return Ensemble(ensemble, sample_names=features.sample_names, sample_weight=features.sample_weight)


def _times(clusterers: Any) -> int | None:
    """How many members one clusterer makes: more than one only if they can differ."""
    if not is_clusterer(clusterers):
        return None
    names = clusterers.get_params() if hasattr(clusterers, "get_params") else ()
    return 20 if any(name.split("__")[-1] == "random_state" for name in names) else 1


def _takes(function: Any, name: str) -> bool:
    """Whether a function can be called with this keyword; assumed if it has no signature."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
