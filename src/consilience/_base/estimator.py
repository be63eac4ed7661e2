"""What estimators with a closed ``fit`` share: rules of parameters, and how results are kept.

A class declares each parameter once: name, type, rule and default (:func:`declared`).
``fit`` is closed: it checks parameters and data, calls the method's ``_fit``, and keeps what that returns, a
:class:`Solution`, in the user's order. ``_fit`` is open: it holds only the mathematics.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import _register
from ..errors import InputError, warn
from . import docstrings
from .parameters import Rule, check_all

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Tell type checkers which classes are like dataclasses, as ``typing`` does from Python 3.11 on."""
        return lambda decorator: decorator


#: mypy takes a name like this for true; other type checkers do not.
MYPY = False
if MYPY:
    # scikit-learn has no types. If a class inherits from a class without types, mypy accepts every attribute
    # and finds no misspelled one. Other checkers read the source.
    Self = TypeVar("Self")

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self: Self, **params: Any) -> Self: ...
        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self: Self, **asked: bool | str | None) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClusterMixin: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any: ...
        def set_output(self: Self, *, transform: str | None = None) -> Self: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...
else:
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.base import ClassNamePrefixFeaturesOutMixin as ClassNamePrefixFeaturesOutMixin
    from sklearn.base import TransformerMixin as TransformerMixin

Cls = TypeVar("Cls", bound=Any)
#: The class whose method it is.
Own = TypeVar("Own")


def check_parameters(estimator: Any, **settled: Any) -> dict[str, Any]:
    """The parameters of an estimator after all checks, with numbers of Python.

    ``settled`` are values found for parameters that were left open.
    """
    parameters = {**estimator.get_params(deep=False), **settled}
    rules = {name: estimator._rules[name] for name in parameters if name in estimator._rules}
    check_all(parameters, rules)
    return parameters | {name: rule.plain(parameters[name]) for name, rule in rules.items()}


def check_n_clusters(n_clusters: Any, owner: str, remedy: str) -> None:
    """Raise if the number of clusters was left open and ``owner`` cannot choose it."""
    if n_clusters is None or (isinstance(n_clusters, str) and n_clusters == "auto"):
        raise InputError(
            f"n_clusters={n_clusters!r}: {owner} needs the number of clusters. Write "
            f"{owner}(n_clusters=3), for "
            f"instance; {remedy}."
        )


def forget(model: Any) -> None:
    """Remove what an earlier fit learned: with other settings, a fit may learn other things."""
    parameters = model.get_params(deep=False)
    for name in [name for name in vars(model) if name.endswith("_") and name not in parameters]:
        delattr(model, name)


def take_over(model: Any, other: Any) -> None:
    """Replace what a model learned by what another one of the same class learned."""
    forget(model)
    parameters = model.get_params(deep=False)
    vars(model).update((name, value) for name, value in vars(other).items() if name not in parameters)


def fit_with(model: Any, n_clusters: int, fit: Callable[[Any], Any]) -> Any:
    """Fit a model with a number of clusters that was chosen for it, which its parameters do not show."""
    twin = copy.copy(model)
    twin.n_clusters = n_clusters
    fit(twin)
    take_over(model, twin)
    return model


@dataclass(kw_only=True)
class Solution:
    """What every method reports about its fit; each kind of input adds what was learned.

    history : one entry per iteration (numbers or dicts of numbers), for plots and tests.
    converged, n_iter : how the loop ended; ``shortfall`` words what was not reached, for the warning.
    messages : what else a user should know about the answer; each was a warning.
    extra : stored unchanged as ``name_``.
    """

    history: list = field(default_factory=list)
    converged: bool = True
    n_iter: int | None = None
    shortfall: str = ""
    messages: Sequence[str] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declared(cls: Cls) -> Cls:
    """Make the annotated names of an estimator its parameters, each with its rule and default.

    ``power: Annotated[float, Real(0)] = 1.0`` is a parameter that is given by name and stored as it is. The
    constructor is that of a dataclass, and ``_rules`` holds the rules. Attributes that ``fit`` learns are
    annotated as ``ClassVar`` beside them: type checkers and editors know them, and they are no parameters.
    The docstring is finished by :mod:`._base.docstrings`.
    """
    written = cls.__doc__
    dataclass(kw_only=True, repr=False, eq=False, match_args=False)(cls)
    cls.__doc__ = written  # where there is none, dataclass writes the signature
    known, init, rules = vars(sys.modules[cls.__module__]), vars(cls)["__init__"], {**cls._rules}
    init.__annotations__.pop("return", None)
    own = inspect.get_annotations(cls)
    for one in fields(cls):
        if (name := one.name) not in own:
            continue
        kind = eval(one.type, known) if isinstance(one.type, str) else one.type
        for rule in getattr(kind, "__metadata__", ()):
            kind, rules[name] = kind.__origin__, rule
        init.__annotations__[name] = one.type = kind  # the plain type, for those who look at the signature
        if name in vars(cls):
            delattr(cls, name)  # the default belongs to the constructor alone
    cls._rules = rules
    docstrings.finish(cls)
    return cls


class BaseMethod(ClusterMixin, BaseEstimator):
    """Base of the methods: parameters as data, learned attributes with ``_``."""

    #: Rules of the parameters by name.
    _rules: ClassVar[dict[str, Rule]] = {}
    #: Tiny settings that the common checks run with, beside the defaults.
    _test_params: ClassVar[list[dict]] = [{}]
    #: What ``n_iter_`` counts, in words.
    _steps: ClassVar[str] = "iterations"

    history_: list[Any]
    n_iter_: int
    converged_: bool
    n_clusters_: int
    cluster_sizes_: np.ndarray
    messages_: list[str]

    # What users do next ------------------------------------------------------------------------------------

    def summary(self) -> str:
        """A short text: the clusters, their sizes and confidence, and the warnings."""
        return _register.offered("summary")(self)


def with_parameters(model: Own, parameters: Mapping[str, Any]) -> Own:
    """The same method with the values that parameters stand for.

    ``_fit`` is called on it, and the parameters that the user gave do not change.
    """
    twin = copy.copy(model)
    vars(twin).update(parameters)
    return twin


def keep(model: BaseMethod, solution: Solution, learned: Mapping[str, Any]) -> None:
    """Set ``name_`` for everything learned, in place of what an earlier fit learned."""
    forget(model)
    for name, value in {**solution.extra, **learned}.items():
        setattr(model, f"{name}_", value)
    model.history_ = solution.history
    model.n_iter_ = len(solution.history) if solution.n_iter is None else int(solution.n_iter)
    model.converged_ = bool(solution.converged)
    model.messages_ = list(solution.messages)
    if not model.converged_:
        shortfall = solution.shortfall or f"raise max_iter={getattr(model, 'max_iter', None)}"
        said = f"{type(model).__name__} did not converge in {model.n_iter_} {model._steps}: {shortfall}."
        model.messages_.insert(0, said)
        warn(said, ConvergenceWarning)
