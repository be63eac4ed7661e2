"""One study: base clusterings for every k, the same on references without clusters, and the answer."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..consensus import LWEA, BaseConsensus, method, methods
from ..ensemble import Ensemble
from ..errors import InputError
from ..evidence import Evidence
from ..features import Features, as_features, check_not_of_columns
from ..fitted import DOUBTFUL
from ..generate import PREPARATIONS, prepared
from ..kernels.kmeans_gram import Gram
from ..kernels.parallel import map_tasks, one_blas_thread
from ..naming import Named
from ..progress import progress, progress_shown
from ..rng import entropy
from ..soft import SoftEnsemble
from ..validation import N_JOBS, Choice, Flag, Integer, Kind, Nothing, RandomState, Real, check_all
from .checkpoint import Checkpoint, fingerprint
from .null import cloud_of, far_from_gaussian, is_far, make_null
from .rule import Answer, Test, decide, run_tests
from .runs import (
    OBJECTS,
    PAIRS,
    Generator,
    Measured,
    Plan,
    by_inner_products,
    ensemble_of,
    make_generator,
    measure,
    measure_reference,
    mixed,
    subsampled,
    widest_mixed,
)
from .statistics import (
    LINKED,
    Linked,
    Pairs,
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
from .study import COLUMNS, References, Study

#: Objects of a sparse X with more features than that: its principal components take a matrix of them.
SPARSE_OBJECTS = 2_000
#: Distinct objects up to which evidence accumulation links all of them.
LINK_ALL = 5_000
#: Weighs all base clusters of LWEA alike, which is evidence accumulation.
_ALIKE = 1e9
#: A cluster with less of the weight is worth a word.
_TINY = 0.01

_RULES = {
    "n_clusterings": Integer(2),
    "ratio": Real(0, 1, open_low=True),
    "prepare": Choice(*PREPARATIONS),
    "consensus": Nothing()
    | Named(methods())
    | Kind("an instance of a consensus method", lambda value: isinstance(value, BaseConsensus)),
    "null": Nothing()
    | Choice("gaussian", "uniform")
    | Kind("a function (X, rng) -> array", lambda value: callable(value) and not isinstance(value, type)),
    "n_references": Integer(1),
    "alpha": Real(0, 1, open_low=True, open_high=True),
    "max_objects": Integer(10),
    "n_pairs": Integer(1000),
    "verbose": Nothing() | Flag() | Integer(0),
    "random_state": RandomState(),
    "n_jobs": N_JOBS,
}


def choose_k(
    data: Any,
    k: Any = range(2, 11),
    *,
    X: Any = None,
    n_clusterings: int = 50,
    ratio: float = 0.8,
    prepare: str = "none",
    generator: Any = "kmeans",
    generator_params: Any = None,
    consensus: Any = None,
    null: Any = "gaussian",
    n_references: int = 39,
    alpha: float = 0.05,
    max_objects: int = 5_000,
    n_pairs: int = 1_000_000,
    sample_weight: Any = None,
    checkpoint: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | int | None = None,
) -> Study:
    """How many clusters there are, how sure that is, and what else is plausible; "none" is among the answers.

    Parameters
    ----------
    data : features or Ensemble
        Features (array, data frame, sparse matrix), of which base clusterings are made here; or an :class:`~consilience.Ensemble`, whose
        clusterings are taken as they are. Label vectors become one by ``cs.Ensemble(labels)``.
    k : iterable of int, default 2 to 10
        The numbers of clusters looked at. One cluster is always among the answers; it need not be listed.
    X : features, optional
        Of the objects of an Ensemble: adds the tests, which labels alone do not allow.
    n_clusterings : int, default 50
        Clusterings of random subsamples for each k.
    ratio : float, default 0.8
        Share of the objects in each subsample.
    prepare : str, default "none"
        How the features are seen: "none" (as given), "standardise", "ranks", "log", "tf-idf" or "unit". See
        :mod:`consilience.generate`.
    generator : str, clusterer or callable, default "kmeans"
        What clusters a subsample: the name of a generator that takes k, a scikit-learn clusterer with ``n_clusters`` (cloned), or a
        function ``(X, k, random_state) -> labels``.
    generator_params : dict, optional
        More parameters of the generator, by name.
    consensus : str or consensus estimator, optional
        What combines the clusterings of one k. By default evidence accumulation; of more than 5,000 distinct objects a sample is linked,
        and the others are placed.
    null : "gaussian", "uniform", callable or None
        The references without clusters: one Gaussian cloud of the same covariance, a uniform one in the box of the principal
        components, or what ``null(X, rng)`` returns. None compares with nothing: the verdict is then "not tested".
    n_references : int, default 39
        So many references; 39 is the least for ``alpha=0.05``, as each of the two tests has half the level.
    alpha : float, default 0.05
        How often structure may be found in data that is like the references.
    max_objects : int, default 5,000
        Of more objects a random sample is studied, and that is said. k is a property of the population, not of its size.
    n_pairs : int, default 1,000,000
        Pairs that are drawn where there are more than 100,000 distinct objects; up to there all are counted.
    sample_weight : array (n_samples,), optional
        Positive weights; an object of weight 3 counts as three equal objects.
    checkpoint : path, optional
        A file to which every reference is written when it is done; the same call finds them there and goes on.
    random_state : int, Generator or None
    n_jobs : int or None
        Threads; None is all cores. The answer does not depend on it.
    verbose : bool, int or None
        Whether progress is shown; None, the default, where there is a terminal.

    Returns
    -------
    Study

    Notes
    -----
    The statistics, the tests, the rule and its limits are in docs/choose-k.md. Nothing of size n x n is formed, except by the consensus
    of up to 5,000 distinct objects. Time: ``n_references`` + 6 times that of 9 k-means runs on 8 subsamples and 30 on all objects.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_wine
    >>> study = cs.choose_k(load_wine().data, k=range(2, 6), prepare="standardise", random_state=0)
    >>> study.k, study.verdict, study.alternatives
    (3, 'strong', [])
    """
    check_all(
        {
            "n_clusterings": n_clusterings,
            "ratio": ratio,
            "prepare": prepare,
            "consensus": consensus,
            "null": null,
            "n_references": n_references,
            "alpha": alpha,
            "max_objects": max_objects,
            "n_pairs": n_pairs,
            "verbose": verbose,
            "random_state": random_state,
            "n_jobs": n_jobs,
        },
        _RULES,
    )
    ks = _candidates(k)
    if null is not None:
        _check_references(n_references, alpha)
    made = make_generator(generator, generator_params)
    if isinstance(data, SoftEnsemble):
        raise InputError(
            "choose_k takes hard clusterings or features, and was given a SoftEnsemble. Pass soft.draw(10), hard clusterings drawn from it."
        )
    given = data if isinstance(data, Ensemble) else None
    if given is None and X is not None:
        raise InputError(
            f"X is given beside data of type {type(data).__name__}, which are taken for features. Pass the features alone, or "
            "cs.Ensemble(labels) and X."
        )
    seed = int(np.random.SeedSequence(entropy(random_state)).generate_state(1, np.uint64)[0] >> np.uint64(11))
    shown = None if verbose is None else bool(verbose)
    work = _Work(ks, n_clusterings, float(ratio), made, consensus, seed, n_pairs, n_jobs)
    with progress_shown(shown) if shown is not None else nullcontext(), one_blas_thread():
        features = X if given is not None else data
        if features is not None:
            work.take_features(features, _weights(given, sample_weight), max_objects, given, prepare)
            work.make_clusterings()
        if given is not None:
            work.take_ensemble(given, sample_weight)
        if features is not None and null is not None:
            work.compare(null, n_references, checkpoint)
        return work.study(alpha, features if given is None else None)


class _Work:
    """A study in the making; each step adds what the next ones need."""

    def __init__(self, ks, n_clusterings, ratio, generator: Generator, consensus, seed, n_pairs, n_jobs):
        self.ks, self.n_clusterings, self.ratio, self.generator = ks, n_clusterings, ratio, generator
        self.consensus, self.seed, self.n_pairs, self.n_jobs = consensus, seed, n_pairs, n_jobs
        self.notes: list[str] = []
        self.sample: np.ndarray | None = None
        self.n_samples = 0
        self.null: str | None = None
        self.own: Measured | None = None
        self.found: list[Measured] = []
        self.columns: dict[str, np.ndarray] = {"k": ks}
        self.ensembles: dict[int, Ensemble] = {}
        self.mixed: Ensemble | None = None
        self.from_labels = False
        self.fitted: dict[int, Any] = {}
        self.labels: dict[int, np.ndarray] = {}
        self.linked: Linked | None = None
        self.pairs: dict[int, Pairs] = {}

    # Features ----------------------------------------------------------------------------------------------

    def take_features(
        self, X: Any, sample_weight: Any, max_objects: int, given: Ensemble | None, prepare: str
    ) -> None:
        """Checked, sampled where there are too many objects, and in the space where runs are made."""
        features = as_features(X)
        n, d = features.shape
        self.n_samples = n
        if given is not None and given.n_samples != n:
            check_not_of_columns(given.labels, features.shape, "The ensemble")
            raise InputError(
                f"X has {n} rows for the {given.n_samples} objects of the ensemble; give those of the same objects."
            )
        features = as_features(features, sample_weight)
        sparse = sp.issparse(features.X)
        most = min(max_objects, SPARSE_OBJECTS) if sparse and d > SPARSE_OBJECTS else max_objects
        if n > most:
            rng = np.random.default_rng([self.seed, OBJECTS])
            self.sample = np.sort(rng.choice(n, most, replace=False))
            features = features.take(self.sample)
            why = "sparse X of so many features" if most < max_objects else f"max_objects={max_objects}"
            self.notes.append(f"Studied is a random sample of {most:,} of the {n:,} objects ({why}).")
        self._check_distinct(features)
        self.features = features = prepared(features, prepare, n_jobs=self.n_jobs)
        weight = features.sample_weight
        self.weighted = weight is not None and bool((weight != weight[0]).any())
        self.weights = np.ones(features.n_samples) if weight is None else weight / weight.mean()
        # Where only distances matter, the scores on the principal components, which are as far apart, stand for the rows.
        self.by_distance = self.generator.by_distance
        self.X, self.cloud = features.X, None
        if self.by_distance:
            self.cloud = cloud_of(features.X, self.weights, axes=False)
            self.X = self._as_run(self.cloud.scores)

    def _as_run(self, X: np.ndarray) -> Any:
        """Rows in the form that runs are quickest on."""
        if self.by_distance and by_inner_products(*X.shape):
            return Gram.of(X)
        return np.ascontiguousarray(X)

    def _check_distinct(self, features: Features) -> None:
        n, most = features.n_samples, int(self.ks[-1])
        if features.distinct_rows(2) < 2:
            raise InputError(
                f"All {n} rows of X are equal: there is nothing to cluster. Check how X was read or scaled."
            )
        features.check_k(most)
        drawn = max(1, round(self.ratio * n))
        if most >= drawn:
            raise InputError(
                f"k={most} is too large for subsamples of {drawn} objects (ratio={self.ratio:g} of {n}); choose k below {drawn}, or raise ratio."
            )

    def make_clusterings(self) -> None:
        """Those of the subsamples, for every k, and the mixed ensemble."""
        n, most = len(self.weights), int(self.ks[-1])
        top = widest_mixed(n, most, self.features.distinct_rows(max(most, int(n**0.5) + 1)))
        self.plan = Plan(self.ks, self.n_clusterings, self.ratio, self.generator, self.seed, top)
        labels, left = subsampled(
            self.X, self.weights, self.plan, 0, range(self.n_clusterings), n_jobs=self.n_jobs
        )
        unseen = np.flatnonzero((labels[:, :, 0] < 0).all(axis=0))
        if unseen.size:
            raise InputError(
                f"{unseen.size} of {n} objects are in none of the {self.n_clusterings} subsamples; raise n_clusterings or ratio={self.ratio:g}."
            )
        blend = mixed(self.X, self.weights, self.plan, 0)
        weights = self.weights if self.weighted else None
        names = self.features.sample_names
        self.ensembles = {
            k: ensemble_of(labels[:, :, j].T, weights, names) for j, k in enumerate(self.ks.tolist())
        }
        self.mixed = ensemble_of(blend, weights, names)
        self.own = measure(labels, left, blend, self.weights, self.plan)
        self.columns["inertia"] = np.exp(left.mean(axis=0))

    # Labels ------------------------------------------------------------------------------------------------

    def take_ensemble(self, given: Ensemble, sample_weight: Any) -> None:
        """The clusterings given: those with k clusters speak about k, all together about the spectrum and lifetimes."""
        ensemble = given if sample_weight is None else Ensemble(given, sample_weight=sample_weight)
        self.from_labels, self.n_samples, self.sample = True, ensemble.n_samples, None
        if ensemble.unseen.size:
            raise InputError(
                f"{ensemble.unseen.size} objects are missing from every clustering. Drop them with ensemble.drop_unseen()."
            )
        if ensemble.n_clusterings < 2:
            raise InputError(
                "The ensemble has a single clustering: how many clusters there are cannot be read off one. Give several."
            )
        distinct = ensemble.compress(n_jobs=self.n_jobs).n_samples
        if self.ks[-1] > distinct:
            raise InputError(
                f"k={self.ks[-1]} exceeds the {distinct} distinct objects of the ensemble; choose k up to {distinct}."
            )
        self.mixed = ensemble
        counts = ensemble.n_clusters
        self.columns["frequency"] = np.array([(counts == k).mean() for k in self.ks])
        self.ensembles = {}
        for k in self.ks.tolist():
            here = np.flatnonzero(counts == k)
            if here.size >= 2:
                self.ensembles[k] = ensemble.select(here)
        if np.unique(counts).size == 1:
            self.notes.append(
                f"Every clustering has {counts[0]} clusters, so that eigengap and lifetime lean towards {counts[0]}: add clusterings with "
                "other numbers, or give the features."
            )

    # References --------------------------------------------------------------------------------------------

    def compare(self, null: Any, count: int, checkpoint: Any) -> None:
        """Run the references, those that are not in the checkpoint yet."""
        self.null = null if isinstance(null, str) else getattr(null, "__name__", "the function given")
        X = self.features.X
        if sp.issparse(X) and not self.by_distance and not callable(null):
            raise InputError(
                f"X is sparse, and generator={self.generator.name!r} depends on more than distances, so that no reference can be drawn that "
                "it could cluster. Pass X.toarray() if it fits, or null=None."
            )
        cloud = self.cloud
        if cloud is None and not callable(null):
            cloud = cloud_of(X, self.weights, axes=True)
        draw = make_null(null, cloud, X, in_scores=self.by_distance)
        store = Checkpoint(checkpoint, fingerprint(X, self.weights, self.plan, self.null))
        left = [r for r in range(1, count + 1) if r not in store.done]
        with progress(total=count, initial=count - len(left), what="references", unit="reference") as bar:

            def run(number: int) -> None:
                store.add(
                    number,
                    measure_reference(number, lambda rng: self._as_run(draw(rng)), self.weights, self.plan),
                )
                bar.update(1)

            map_tasks(run, left, n_jobs=self.n_jobs)
        self.found = [store.done[r] for r in range(1, count + 1)]

    # The answer --------------------------------------------------------------------------------------------

    def study(self, alpha: float, native: Any) -> Study:
        assert self.mixed is not None
        ks = self.ks
        values = (
            self.own.values
            if self.own is not None and not self.from_labels
            else spectrum(self.mixed, int(ks[-1]) + 2, n_jobs=self.n_jobs)
        )
        self.columns["eigengap"] = eigengaps(values, ks)
        self.columns["lifetime"], all_linked = lifetimes(self.mixed, ks, n_jobs=self.n_jobs)
        if not all_linked:
            self.notes.append(f"Lifetimes are those of {LINKED:,} distinct objects, drawn by weight.")
        self._describe()
        tests = self._tests(alpha)
        nothing = np.full(len(ks), np.nan)
        answer = decide(
            ks,
            gain=self.columns.get("gain", nothing),
            gain_error=self.columns.get("gain_error", nothing),
            eigengap=self.columns["eigengap"],
            lifetime=self.columns["lifetime"],
            pac=self.columns.get("pac", nothing),
            tests=tests,
        )
        self._remark(answer)
        references = None
        if self.found:
            references = References(*(np.stack(rows) for rows in zip(*self.found)))
        return Study(
            **answer._asdict(),
            ks=ks,
            columns={name: self.columns[name] for name in COLUMNS if name in self.columns},
            tests=tests,
            spectrum=values,
            references=references,
            notes=self.notes,
            sample=self.sample,
            n_samples=self.n_samples,
            null=self.null,
            not_tested=self._not_tested(),
            _ensembles=self.ensembles,
            _mixed=self.mixed,
            _fitted=self.fitted,
            _labels=self.labels,
            _pairs=self.pairs,
            _backend=_library_of(native),
        )

    def _describe(self) -> None:
        """The columns of the consensus of each k, and of the clusterings it is made of."""
        ks = self.ks.tolist()
        columns: dict[str, list[float]] = {
            name: []
            for name in (
                "ari",
                "pac",
                "rpac",
                "dispersion",
                "area",
                "silhouette",
                "concordance",
                "smallest",
                "doubtful",
                "split",
            )
        }
        with progress(ks, what="consensus", unit="k") as bar:
            for k in bar:
                base = self.ensembles.get(k)
                one = self._describe_one(k, base)
                for name, value in one.items():
                    columns[name].append(value)
        self.columns |= {
            name: np.array(values) for name, values in columns.items() if np.isfinite(values).any()
        }
        if "area" in self.columns:
            self.columns["delta_area"] = changes(self.columns["area"])
        if self.found:
            assert self.own is not None
            ari, loss, pac = (
                np.stack([getattr(one, name) for one in self.found]) for name in ("ari", "loss", "pac")
            )
            self.columns["ari_null"], self.columns["gain_error"] = ari.mean(axis=0), ari.std(axis=0, ddof=1)
            own = self.own.ari if self.from_labels else self.columns["ari"]
            self.columns["gain"] = own - self.columns["ari_null"]
            self.columns["gap"] = loss.mean(axis=0) - self.own.loss
            self.columns["rcsi"] = np.log(np.maximum(pac, 1e-6)).mean(axis=0) - np.log(
                np.maximum(self.own.pac, 1e-6)
            )

    def _describe_one(self, k: int, base: Ensemble | None) -> dict[str, float]:
        nothing = float("nan")
        out = dict.fromkeys(("ari", "pac", "rpac", "dispersion", "area", "split"), nothing)
        if base is not None:
            pairs = pairs_of(base, n_pairs=self.n_pairs, seed=[self.seed, PAIRS, k], n_jobs=self.n_jobs)
            self.pairs[k] = pairs
            out |= {
                "pac": pairs.pac(),
                "rpac": pairs.rpac(),
                "dispersion": pairs.dispersion,
                "area": pairs.area,
            }
            out["ari"] = mean_ari(base, n_jobs=self.n_jobs)
        ensemble = self.mixed if self.from_labels or base is None else base
        assert ensemble is not None
        rows = ensemble.compress(n_jobs=self.n_jobs)
        if self._is_large(rows):
            self.linked = self.linked or link_some(rows, n_jobs=self.n_jobs)
            groups = self.linked.partition(k, n_jobs=self.n_jobs)
            self.fitted[k] = partial(self._consensus, k, ensemble)
        else:
            self.fitted[k] = self._consensus(k, ensemble)
            groups = self.fitted[k].labels_[rows.rows]
        self.labels[k] = groups[rows.inverse]
        evidence = Evidence(rows, groups, int(groups.max()) + 1)
        out["silhouette"], out["concordance"] = (
            silhouette(evidence, n_jobs=self.n_jobs),
            concordance(evidence),
        )
        weights = rows.weights / rows.weights.sum()
        out["smallest"] = float(np.bincount(groups, weights).min())
        out["doubtful"] = float(weights @ (evidence.confidence < DOUBTFUL))
        finer = self.ensembles.get(k + 1)
        if finer is not None:
            out["split"] = split(self.labels[k], finer)
        return out

    def _is_large(self, rows: Ensemble) -> bool:
        """Whether a sample of the distinct objects is linked."""
        return self.consensus is None and rows.n_samples > LINK_ALL

    def _consensus(self, k: int, ensemble: Ensemble) -> Any:
        chosen = self.consensus
        if chosen is not None:
            model = method(chosen)() if isinstance(chosen, str) else clone(chosen)
        elif self._is_large(ensemble.compress(n_jobs=self.n_jobs)):
            model = LWEA(theta=_ALIKE, sample=LINKED)
        else:
            model = method("evidence-accumulation")()
        own = model.get_params(deep=False)
        settings = {"n_clusters": k}
        if "n_jobs" in own and self.n_jobs is not None:
            settings["n_jobs"] = self.n_jobs
        if "random_state" in own and own["random_state"] is None:
            settings["random_state"] = self.seed % 2**31
        return model.set_params(**settings).fit(ensemble)

    def _tests(self, alpha: float) -> list[Test]:
        if not self.found:
            return []
        assert self.own is not None
        assert self.null is not None
        return run_tests(self.own, self.found, alpha, self.null)

    def _remark(self, answer: Answer) -> None:
        """What a reader of the answer should know."""
        if answer.k == 1:
            return
        last = int(self.ks[-1])
        if answer.k == last and len(self.ks) > 1:
            self.notes.append(f"{last} is the largest number looked at: look at larger ones.")
        here = int(np.flatnonzero(self.ks == answer.k)[0])
        smallest = self.columns["smallest"][here]
        if smallest < _TINY:
            self.notes.append(
                f"With {answer.k} clusters the smallest holds {100 * smallest:.1g}% of the weight: it may be outliers."
            )

        if self.null == "gaussian" and self.own is not None and not sp.issparse(self.features.X):
            far = far_from_gaussian(self.features.X, self.labels[answer.k])
            if is_far(far):
                self.notes.append(
                    f"Within clusters, {100 * far:.0f}% of the columns are skewed or heavy-tailed. One cloud of that shape also has more "
                    "structure than a Gaussian one: transform the columns (logarithm, ranks) and study again."
                )

    def _not_tested(self) -> str:
        """What this study leaves open."""
        if not self.found:
            why = "there are no features" if self.own is None else "null=None"
            more = " Give the features, choose_k(ensemble, X=X)." if self.own is None else ""
            return f"Not tested: whether there is any structure at all, as {why}.{more}"
        shape = (
            "of another shape than a Gaussian"
            if self.null == "gaussian"
            else "of another shape than the references"
        )
        return f"Not tested: whether one cloud {shape} would show as much, and numbers of clusters above {self.ks[-1]}."


# Small rules -----------------------------------------------------------------------------------------------


def _candidates(k: Any) -> np.ndarray:
    """The numbers of clusters, rising, without 1, which is always among the answers."""
    values = (
        [k]
        if isinstance(k, (int, np.integer))
        else list(k)
        if isinstance(k, Iterable) and not isinstance(k, str)
        else None
    )
    whole = Integer(1)
    if values is None or not all(whole.accepts(value) for value in values):
        raise InputError(f"k={k!r} is not valid: expected whole numbers of at least 1, such as range(2, 11).")
    if not values:
        raise InputError(f"k={k!r} is empty: give the numbers of clusters to look at, such as range(2, 11).")
    ks = np.unique([int(value) for value in values])
    if ks[-1] == 1:
        raise InputError(
            "k=1 alone leaves nothing to compare with: one cluster is always among the answers. Give the others, such as range(2, 11)."
        )
    return ks[ks > 1]


def _check_references(count: int, alpha: float) -> None:
    """Raise where no test could reach its level."""
    needed = int(np.ceil(2 / alpha - 1e-9)) - 1
    if count < needed:
        raise InputError(
            f"n_references={count} can give no p below 1/{count + 1} = {1 / (count + 1):.3f}, but each of the two tests needs {alpha / 2:g} "
            f"(alpha={alpha:g}); take at least {needed}, or a larger alpha."
        )


def _weights(given: Ensemble | None, sample_weight: Any) -> Any:
    """Those of the ensemble, where it has some and none are given."""
    return given.weights if given is not None and sample_weight is None else sample_weight


def _library_of(data: Any) -> Any:
    """The data frame library that the features came in, for the table; None of arrays."""
    import narwhals as nw

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    return frame.implementation if isinstance(frame, nw.DataFrame) else None
