"""One study of the number of clusters.

Base clusterings are made for every number of clusters, also of references without clusters. Which numbers
are compared by default is in :mod:`.range`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base.names import AUTO, Named
from .._base.numbers import numbers
from .._base.parameters import (
    FRACTION,
    N_JOBS,
    Choice,
    Flag,
    Integer,
    Kind,
    Nothing,
    RandomState,
    Real,
    check_all,
)
from .._base.progress import progress_shown
from .._base.rng import entropy
from .._data.ensemble import Ensemble
from .._data.soft import SoftEnsemble
from .._kernels.runtime.threads import one_blas_thread
from ..consensus import BaseConsensus, methods
from ..errors import InputError, warn
from ..generate import PREPARATIONS
from .conclusion import conclude
from .description import Description
from .material import (
    Objects,
    Settings,
    check_largest,
    make_clusterings,
    of_each_number,
    take_ensemble,
    take_features,
)
from .range import FIRST, MOST, is_open, largest, look_at, numbers_to, proposals, range_for, wider, widest
from .references import name_of, run_references
from .runs import make_generator
from .study import ChooseKResult

_RULES = {
    "n_clusterings": Integer(2),
    "sample_fraction": FRACTION,
    "feature_fraction": FRACTION,
    "preprocess": Choice(AUTO, *PREPARATIONS),
    "method": Nothing()
    | Named(methods())
    | Kind("an instance of a consensus method", lambda value: isinstance(value, BaseConsensus)),
    "null": Nothing()
    | Choice("gaussian", "uniform")
    | Kind("a function (X, rng) -> array", lambda value: callable(value) and not isinstance(value, type)),
    "n_references": Integer(1),
    "alpha": Real(0, 1, open_low=True, open_high=True),
    "max_samples": Integer(10),
    "n_pairs": Integer(1000),
    "verbose": Nothing() | Flag() | Integer(0),
    "random_state": RandomState(),
    "n_jobs": N_JOBS,
}


def choose_k(
    X: Any = None,
    *,
    ensemble: Any = None,
    n_clusters: Any = "auto",
    n_clusterings: int = 50,
    sample_fraction: float = 0.8,
    feature_fraction: float = 1.0,
    preprocess: str = "auto",
    generator: Any = "kmeans",
    generator_params: Any = None,
    method: Any = None,
    null: Any = "gaussian",
    n_references: int = 39,
    alpha: float = 0.05,
    max_samples: int = 2_000,
    n_pairs: int = 1_000_000,
    sample_weight: Any = None,
    checkpoint: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
    verbose: bool | int | None = None,
) -> ChooseKResult:
    """Choose the number of clusters, with the evidence for it and other plausible numbers.

    The answer can be that there are no clusters.

    Parameters
    ----------
    X : features or None
        Array, data frame or sparse matrix (n_samples, n_features). Base clusterings are made from them,
        unless ``ensemble`` is given; then the features serve for the tests, which labels alone do not allow.
        An :class:`~consilience.Ensemble` given as X is used as ``ensemble``. From Dask features at most
        ``max_samples`` rows are loaded, the same rows that would be drawn from these features in memory.
    ensemble : Ensemble or labels (n_samples, n_clusterings), optional
        Base clusterings, which are used unchanged, in any form that consensus methods take. For a list of
        label vectors pass ``Ensemble.from_clusterings(vectors)``. From a Dask ensemble its distinct objects
        are loaded.
    n_clusters : "auto", int, pair, list or range, default "auto"
        The numbers of clusters to compare: a pair is an interval, (smallest, largest); a list or range gives
        the numbers themselves. One cluster is always a possible answer and need not be listed. With "auto"
        (or None) 2 to 10 are compared, and larger numbers where a first look finds structure there or the
        answer is near the end, at most a fifth of the number of objects, and 200.
    n_clusterings : int, default 50
        Clusterings of random subsamples for each number of clusters.
    sample_fraction : float in (0, 1], default 0.8
        Share of the objects in each subsample.
    feature_fraction : float in (0, 1], default 1
        Share of the features that each clustering sees, drawn again for each; at least one feature.
    preprocess : str, default "auto"
        How the features are prepared: "none" (as given), "standardize", "ranks", "log", "tf-idf", "unit" or
        "pearson". See :mod:`consilience.generate`. "auto" standardizes the columns, or takes tf-idf for
        counts, as :class:`~consilience.ConsensusClustering` does.
    generator : str, clusterer or callable, default "kmeans"
        What clusters a subsample: the name of a generator, a scikit-learn clusterer with ``n_clusters``
        (cloned), or a function ``(X, k, random_state) -> labels``.
    generator_params : dict, optional
        More parameters of the generator, by name.
    method : str or consensus estimator, optional
        What combines the clusterings of one k. The default is evidence accumulation; if there are more than
        5,000 distinct objects, it links a sample and places the others.
    null : "gaussian", "uniform", callable or None
        The references without clusters: one Gaussian cloud of the same covariance, a uniform one in the box
        of the principal components, or what ``null(X, rng)`` returns. None makes no comparison: the verdict
        is then "not tested".
    n_references : int, default 39
        Number of references; 39 is the least for ``alpha=0.05``, because each of the two tests has half the
        level.
    alpha : float, default 0.05
        Level of the tests: how often they may find structure in data that is like the references.
    max_samples : int, default 2,000
        If there are more objects, a random sample of this size is studied, and a note says so. k is a
        property of the population, not of its size.
    n_pairs : int, default 1,000,000
        Number of pairs drawn if there are more than 100,000 distinct objects; otherwise all pairs are
        counted.
    sample_weight : array (n_samples,), optional
        Positive weights; an object of weight 3 counts as three equal objects.
    checkpoint : path, optional
        A file to which every reference is written when it is finished; the same call then finds them there
        and continues.
    random_state : int, Generator or None
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib. The answer does not depend on it.
    verbose : bool, int or None
        Whether progress is shown; None, the default, shows it if there is a terminal.

    Returns
    -------
    ChooseKResult

    Notes
    -----
    The statistics, the tests, the rule and its limits are in docs/choose-k.md. Nothing of size n x n is
    formed, except by the consensus of up to 5,000 distinct objects. The time is ``n_references`` + 6 times
    that of 9 k-means runs on 8 subsamples and 30 on all objects.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_wine
    >>> study = cs.choose_k(load_wine().data, n_clusters=(2, 5), random_state=0)
    >>> study.n_clusters, study.verdict, study.alternatives
    (3, 'strong', [])
    """
    check_all(locals(), _RULES)
    ks = numbers_to(FIRST, (), FIRST) if is_open(n_clusters) else _candidates(n_clusters)
    if null is not None:
        _check_references(n_references, alpha)
    made = make_generator(generator, generator_params)
    if feature_fraction < 1:
        made = made._replace(by_distance=False)
    X, ensemble, lazy_notes = _brought_here(X, ensemble, sample_weight)
    features, given = _told_apart(X, ensemble)
    seed = int(np.random.SeedSequence(entropy(random_state)).generate_state(1, np.uint64)[0] >> np.uint64(11))
    fractions = float(sample_fraction), float(feature_fraction)
    settings = Settings(ks, n_clusterings, *fractions, made, method, seed, n_pairs, n_jobs)
    shown = None if verbose is None else bool(verbose)
    with progress_shown(shown) if shown is not None else nullcontext(), one_blas_thread():
        objects = None
        if features is not None:
            weights = _weights(given, sample_weight)
            objects = take_features(features, weights, max_samples, given, preprocess, settings)
        if given is not None:
            given = take_ensemble(given, sample_weight)
        compared = Compared(null, n_references, float(alpha), checkpoint)
        backend = _library_of(features if given is None else None)
        found = partial(_study, objects, given, compared=compared, notes=lazy_notes, backend=backend)
        study = _widening(found, objects, given, settings) if is_open(n_clusters) else found(settings)
    if _may_be_more(study):
        warn(
            f"The answer, {study.n_clusters}, is the largest number of clusters that was compared: there may "
            "be more. Give larger numbers by n_clusters."
        )
    return study


def _may_be_more(study: ChooseKResult) -> bool:
    """Whether the answer is the largest number that was compared, and the objects allow for more."""
    k, tried = study.n_clusters, study.n_clusters_tried
    return k == tried[-1] > tried[0] and k < study.mixed_ensemble.distinct().n_samples


class Compared(NamedTuple):
    """What the features are compared with."""

    null: Any
    n_references: int
    alpha: float
    checkpoint: Any


def _widening(
    study_of: Callable[[Settings], ChooseKResult],
    objects: Objects | None,
    given: Ensemble | None,
    settings: Settings,
) -> ChooseKResult:
    """The study of as many numbers of clusters as the data call for."""
    if given is not None:
        n = given.distinct(n_jobs=settings.n_jobs).n_samples
        most, look = min(widest(n), n), given
        if most < 2:
            raise InputError(
                "All objects have the same labels in every clustering: there is nothing to divide."
            )
    else:
        assert objects is not None
        n = objects.features.n_samples
        most = largest(n, objects.features.distinct_rows(MOST + 1), settings.sample_fraction)
        look = look_at(objects, most, settings)
    settings = settings._replace(ks=range_for(proposals(look, most, settings.n_jobs), most))
    study = study_of(settings)
    while (ks := wider(settings.ks, study.n_clusters, most)) is not None:
        settings = settings._replace(ks=ks)
        study = study_of(settings)
    return study


def _study(
    objects: Objects | None,
    given: Ensemble | None,
    settings: Settings,
    *,
    compared: Compared,
    notes: list[str],
    backend: str | None,
) -> ChooseKResult:
    """The study of the numbers of clusters in ``settings``."""
    runs, references, null = None, [], compared.null
    if objects is not None:
        check_largest(objects, settings)
        base, runs = make_clusterings(objects, settings)
    if given is not None:
        base = of_each_number(given, settings)
        base = base._replace(notes=[*notes, *base.notes])
    if objects is not None and runs is not None and null is not None:
        count, checkpoint = compared.n_references, compared.checkpoint
        references = run_references(null, count, checkpoint, objects, runs.plan, settings)
    return conclude(
        Description(base, runs, references, settings),
        objects,
        None if runs is None else runs.own,
        references,
        alpha=compared.alpha,
        null=name_of(null) if references else None,
        backend=backend,
    )


# Small rules -----------------------------------------------------------------------------------------------


def _told_apart(X: Any, ensemble: Any) -> tuple[Any, Ensemble | None]:
    """(features or None, base clusterings or None) of what was given."""
    for given in (X, ensemble):
        if isinstance(given, SoftEnsemble):
            raise InputError(
                "choose_k takes hard clusterings or features, and was given a SoftEnsemble. Pass "
                "soft.draw(10), hard clusterings drawn from it."
            )
    if isinstance(X, Ensemble):
        if ensemble is not None:
            raise InputError(
                "X and ensemble are both clusterings. Give the features as X, or only one ensemble."
            )
        return None, X
    if X is None and ensemble is None:
        raise InputError(
            "There is nothing to study: give features, choose_k(X), or clusterings, choose_k(ensemble=...)."
        )
    return X, ensemble if ensemble is None or isinstance(ensemble, Ensemble) else Ensemble(ensemble)


def _candidates(n_clusters: Any) -> np.ndarray:
    """The numbers of clusters, rising, without 1, which is always among the answers."""
    among = numbers("n_clusters", n_clusters)
    if among[-1] == 1:
        raise InputError(
            f"n_clusters={n_clusters!r} leaves nothing to compare with: one cluster is always among the "
            f"answers. "
            "Give the others, such as (2, 10)."
        )
    return np.array([k for k in among if k > 1])


def _brought_here(X: Any, ensemble: Any, sample_weight: Any) -> tuple[Any, Any, list[str]]:
    """(X, ensemble, notes for the reader): a Dask ensemble becomes its distinct objects.

    Other data stay as given.
    """
    lazy = next((one for one in (X, ensemble) if getattr(type(one), "is_lazy_ensemble", False)), None)
    if lazy is None:
        return X, ensemble, []
    if sample_weight is not None or (X is not None and ensemble is not None):
        name = "sample_weight" if sample_weight is not None else "X"
        raise InputError(
            f"{name} is given beside a Dask ensemble, of which the distinct objects with their weights are "
            "studied. Give weights to the ensemble itself; to test whether there is structure, pass the "
            "Dask features alone."
        )
    here = lazy.distinct()
    note = (
        f"The study looked at the {here.n_samples:,} distinct objects with their weights, which stand for "
        f"{lazy.n_samples:,}."
    )
    return None, here, [note]


def _check_references(count: int, alpha: float) -> None:
    """Raise if no test could reach its level."""
    needed = int(np.ceil(2 / alpha - 1e-9)) - 1
    if count < needed:
        raise InputError(
            f"n_references={count} can give no p below 1/{count + 1} = {1 / (count + 1):.3f}, but each of "
            f"the two tests needs {alpha / 2:g} (alpha={alpha:g}); take at least {needed}, or a larger alpha."
        )


def _weights(given: Ensemble | None, sample_weight: Any) -> Any:
    """The weights given, or else those of the ensemble if it has any."""
    return given.sample_weight if given is not None and sample_weight is None else sample_weight


def _library_of(data: Any) -> str | None:
    """The module of the data frame that the features came in, for the table; None for arrays."""
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    return str(nw.get_native_namespace(frame).__name__) if isinstance(frame, nw.DataFrame) else None
