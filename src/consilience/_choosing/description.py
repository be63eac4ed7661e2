"""The table of a study: for every k the consensus, and measures of it and of its base clusterings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.parameters import is_left_open
from .._base.progress import progress
from .._data.ensemble import Ensemble
from .._evidence.table import Evidence
from .._results.view import DOUBTFUL
from ..consensus import LWEA, method
from ..errors import LowAgreementWarning
from .material import Base, Runs, Settings
from .runs import PAIRS, Measured
from .statistics import (
    LINKED,
    Linked,
    PairShares,
    changes,
    concordance,
    eigengaps,
    lifetimes,
    link_some,
    mean_ari,
    pairs_of,
    silhouette,
    spectrum,
    split,
)

#: Distinct objects up to which evidence accumulation links all of them.
LINK_ALL = 5_000
#: Weighs all base clusters of LWEA alike, which is evidence accumulation.
_ALIKE = 1e9
#: PAC below this share of pairs counts as this share: its logarithm would say nothing.
_LEAST_PAC = 1e-6
#: The measures of each k.
_OF_CLUSTERINGS = ("ari", "pac", "rpac", "dispersion", "area")
_OF_CONSENSUS = ("silhouette", "concordance", "smallest", "doubtful", "split")


class Description:
    """The columns (K,) by name, the eigenvalues, and what they were computed from; filled in when made."""

    def __init__(self, base: Base, runs: Runs | None, references: list[Measured], settings: Settings):
        self.base, self.settings = base, settings
        self.notes: list[str] = []
        self.combined: dict[int, Ensemble] = {}  # the clusterings that the consensus of k is of
        self.models: dict[int, Any] = {}  # the consensus of k, fitted where that does not take long
        self.labels: dict[int, np.ndarray] = {}
        self.pairs: dict[int, PairShares] = {}
        self._linked: Linked | None = None
        self.columns: dict[str, np.ndarray] = {"n_clusters": settings.ks}
        self._describe_mixed(runs)
        self._describe_each()
        if references:
            assert runs is not None
            self._compare(runs.own, references)

    def _describe_mixed(self, runs: Runs | None) -> None:
        """Spectrum, eigengaps, lifetimes, and all else that uses all clusterings together."""
        ks, n_jobs = self.settings.ks, self.settings.n_jobs
        if self.base.given:
            counts = self.base.mixed.n_clusters_per_clustering
            self.columns["frequency"] = np.array([(counts == k).mean() for k in ks])
        if runs is not None:
            self.columns["inertia"] = runs.inertia
        if runs is not None and not self.base.given:
            self.spectrum = runs.own.values
        else:
            self.spectrum = spectrum(self.base.mixed, int(ks[-1]) + 2, n_jobs=n_jobs)
        self.columns["eigengap"] = eigengaps(self.spectrum, ks)
        self.columns["lifetime"], all_linked = lifetimes(self.base.mixed, ks, n_jobs=n_jobs)
        if not all_linked:
            self.notes.append(f"Lifetimes are from {LINKED:,} distinct objects, drawn by weight.")

    def _describe_each(self) -> None:
        """The columns of the consensus of each k, and of its base clusterings."""
        found: dict[str, list[float]] = {name: [] for name in (*_OF_CLUSTERINGS, *_OF_CONSENSUS)}
        with progress(self.settings.ks.tolist(), what="consensus", unit="k") as bar:
            for k in bar:
                for name, value in {**self._clusterings_of(k), **self._consensus_of(k)}.items():
                    found[name].append(value)
        self.columns |= {
            name: np.array(values) for name, values in found.items() if np.isfinite(values).any()
        }
        if "area" in self.columns:
            self.columns["delta_area"] = changes(self.columns["area"])

    def _compare(self, own: Measured, references: list[Measured]) -> None:
        """The columns that compare the features with the references."""
        ari, loss, pac = (
            np.stack([getattr(one, name) for one in references]) for name in ("ari", "loss", "pac")
        )
        self.columns["ari_null"], self.columns["gain_error"] = ari.mean(axis=0), ari.std(axis=0, ddof=1)
        self.columns["gain"] = (own.ari if self.base.given else self.columns["ari"]) - ari.mean(axis=0)
        self.columns["gap"] = loss.mean(axis=0) - own.loss
        logs = np.log(np.maximum(pac, _LEAST_PAC)).mean(axis=0)
        self.columns["rcsi"] = logs - np.log(np.maximum(own.pac, _LEAST_PAC))

    # One k -------------------------------------------------------------------------------------------------

    def _clusterings_of(self, k: int) -> dict[str, float]:
        base, settings = self.base.ensembles.get(k), self.settings
        if base is None:
            return dict.fromkeys(_OF_CLUSTERINGS, float("nan"))
        self.pairs[k] = pairs = pairs_of(
            base, n_pairs=settings.n_pairs, seed=[settings.seed, PAIRS, k], n_jobs=settings.n_jobs
        )
        found = (
            mean_ari(base, n_jobs=settings.n_jobs),
            pairs.pac(),
            pairs.rpac(),
            pairs.dispersion,
            pairs.area,
        )
        return dict(zip(_OF_CLUSTERINGS, found))

    def _consensus_of(self, k: int) -> dict[str, float]:
        own, n_jobs = self.base.ensembles.get(k), self.settings.n_jobs
        ensemble = self.base.mixed if self.base.given or own is None else own
        rows = ensemble.distinct(n_jobs=n_jobs)
        large = self.settings.method is None and rows.n_samples > LINK_ALL
        self.combined[k], self.models[k] = ensemble, self._model(k, large=large)
        if large:
            self._linked = self._linked or link_some(rows, n_jobs=n_jobs)
            groups = self._linked.partition(k, n_jobs=n_jobs)
        else:
            with (
                warnings.catch_warnings()
            ):  # an answer for every k, most of which the clusterings contradict: the study says which
                warnings.simplefilter("ignore", LowAgreementWarning)
                groups = self.models[k].fit(ensemble).labels_[rows.rows]
        self.labels[k] = groups[rows.inverse]
        evidence = Evidence(rows, groups, int(groups.max()) + 1)
        weights = rows.sample_weight / rows.sample_weight.sum()
        finer = self.base.ensembles.get(k + 1)
        found = (
            silhouette(evidence, n_jobs=n_jobs),
            concordance(evidence),
            float(np.bincount(groups, weights).min()),
            float(weights @ (evidence.confidence < DOUBTFUL)),
            float("nan") if finer is None else split(self.labels[k], finer),
        )
        return dict(zip(_OF_CONSENSUS, found))

    def _model(self, k: int, *, large: bool) -> Any:
        """What combines the clusterings, unfitted.

        If they are ``large``, a sample of the distinct objects is linked.
        """
        chosen, n_jobs = self.settings.method, self.settings.n_jobs
        if chosen is not None:
            model = method(chosen)() if isinstance(chosen, str) else clone(chosen)
        elif large:
            model = LWEA(instability_tolerance=_ALIKE, max_samples=LINKED)
        else:
            model = method("evidence-accumulation")()
        own = model.get_params(deep=False)
        settings: dict[str, Any] = {"n_clusters": k}
        if "n_jobs" in own and is_left_open(model, "n_jobs"):
            settings["n_jobs"] = n_jobs
        if "random_state" in own and own["random_state"] is None:
            settings["random_state"] = self.settings.seed % 2**31
        return model.set_params(**settings)
