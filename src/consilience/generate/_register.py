"""The register of generators: which names there are, and how a request becomes a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._base.names import check_names, command_name, look_up
from .._base.parameters import Rule
from .._data.ensemble import Ensemble
from .._data.features import as_features
from .._members.assembly import k_range, root, root_upwards
from ._kmeans import bagging, kmeans, random_features, random_k
from ._landmarks import RULES as LANDMARK_RULES
from ._landmarks import SMALLEST_SHARE, landmarks, widest
from ._metric_subspace import RULES, metric_subspace
from ._spectral import spectral
from ._stratified import stratified

#: Parameters that are arguments of their own in every request.
_OWN = ("n_clusterings", "sample_weight", "random_state", "n_jobs")


@dataclass(frozen=True)
class Maker:
    """A generator, and what is needed to call it.

    make : the function, ``make(X, *, ..., random_state=, n_jobs=) -> Ensemble``.
    widest : for generators whose members draw their numbers of clusters, (n_samples, n_clusters) -> the
        largest number if none is given.
    share : the share of the largest number that is the smallest if none is given (at least 2).
    rules : the rules of its settings, for estimators that have them as their own parameters.
    """

    make: Callable[..., Ensemble]
    widest: Callable[[int, int], int] | None = None
    share: float = 0.0
    rules: Mapping[str, Rule] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return command_name(self.make.__name__)

    @property
    def description(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.make) or "").partition("\n")[0]

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """All its parameters after X."""
        return dict(list(inspect.signature(self.make).parameters.items())[1:])

    @property
    def settings(self) -> list[str]:
        """The parameters of this generator only, without count, weights, seed and threads."""
        return [name for name in self.parameters if name not in _OWN]

    @property
    def needs_n_clusters(self) -> bool:
        """Whether it has no default number of clusters."""
        return self.parameters["n_clusters"].default is inspect.Parameter.empty

    @property
    def draws_n_clusters(self) -> bool:
        """Whether each member draws its number of clusters if none is given."""
        return self.widest is not None

    def __call__(
        self,
        X: Any,
        settings: Mapping[str, Any] | None = None,
        *,
        n_clusters: int | None = None,
        n_clusterings: int | None = None,
        sample_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> Ensemble:
        """The base clusterings for a consensus of ``n_clusters``; what is None is left to the generator.

        Members have ``n_clusters`` clusters, or draw from an interval that depends on it and on the number of
        objects only, unless ``settings`` say otherwise.
        """
        settings = dict(settings or {})
        elsewhere = {name: f"the argument {name} itself" for name in _OWN}
        check_names(settings, self.parameters, owner=f"The generator {self.name}", reserved=elsewhere)
        features = as_features(X, sample_weight)
        options = {**settings, "random_state": random_state, "n_jobs": n_jobs}
        if n_clusterings is not None:
            options["n_clusterings"] = n_clusterings
        if n_clusters is not None and self.widest is None:
            options.setdefault("n_clusters", n_clusters)
        elif n_clusters is not None and self.widest is not None:
            widest = self.widest(features.n_samples, n_clusters)
            given = settings.get("n_clusters")
            options["n_clusters"] = k_range(features, given, widest=widest, share=self.share)
        return self.make(features, **options)


_MAKERS = (
    Maker(kmeans),
    # Allow at least the clusters asked for, also on small data where sqrt(n) is below them.
    Maker(random_k, widest=lambda n, n_clusters: max(root(n), n_clusters)),
    Maker(random_features),
    Maker(stratified),
    Maker(metric_subspace, widest=lambda n, _: root_upwards(n), rules=RULES),
    Maker(
        landmarks,
        widest=lambda n, n_clusters: max(widest(n), n_clusters),
        share=SMALLEST_SHARE,
        rules=LANDMARK_RULES,
    ),
    Maker(spectral),
    Maker(bagging),
)


def generators() -> dict[str, Maker]:
    """Every generator by its command-line name, e.g. ``random-k``."""
    return {maker.name: maker for maker in _MAKERS}


def generator(name: str) -> Maker:
    """The generator with this command-line or function name.

    Case does not matter, and hyphens and underscores are alike.
    """
    return look_up(name, generators(), "generator")
