"""What a study found: the answer, the evidence for it, and what else is plausible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from html import escape
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .. import _register
from .._base.parameters import Choice, check, listed
from .._data.ensemble import Ensemble
from ..errors import InputError, need
from .rule import Test
from .statistics import PairShares

#: The meaning of each column of the table, in the order of the columns.
COLUMNS = {
    "n_clusters": "number of clusters",
    "frequency": "share of the clusterings given that have k clusters",
    "ari": "mean adjusted Rand index of every two clusterings with k clusters",
    "ari_null": "mean of the same figure over the references",
    "gain": "ari minus ari_null",
    "gain_error": "standard deviation of ari over the references",
    "eigengap": "log of the k-th over the next eigenvalue of the normalized co-association of the mixed "
    "ensemble",
    "lifetime": "range of heights over which average linkage of the mixed ensemble has k clusters",
    "inertia": "share of the scatter that is left within clusters, geometric mean over clusterings",
    "gap": "mean log inertia of the references minus that of the features",
    "pac": "share of pairs with a co-association between .1 and .9",
    "rcsi": "mean log pac of the references minus log pac of the features, both from as many subsamples",
    "rpac": "pac over the share of pairs that were ever together",
    "dispersion": "mean of 4 (A - 1/2)^2 over pairs",
    "area": "area under the CDF of co-association: 1 - mean(A), whatever the stability",
    "delta_area": "relative change of the area since the k before",
    "silhouette": "mean silhouette of the consensus at distance 1 - A",
    "concordance": "share of base labels that agree with the consensus, names matched",
    "smallest": "share of the weight that is in the smallest cluster of the consensus",
    "doubtful": "share of the weight with a confidence below .6",
    "split": "how stably runs with one cluster more divide one cluster of the consensus",
}

#: Columns that are shown if there is little room: those that decide, and a few others worth a look.
SHOWN = (
    *("n_clusters", "frequency", "ari", "gain", "eigengap", "lifetime", "rcsi", "silhouette"),
    *("gap", "pac", "smallest", "doubtful"),
)


#: The pictures of a study, by the display that draws each.
PICTURES = {
    "evidence": "ChooseKDisplay",
    "cdf": "CDFDisplay",
    "delta_area": "DeltaAreaDisplay",
    "tracking": "TrackingDisplay",
    "spectrum": "SpectrumDisplay",
}

#: Modules of data frames, as narwhals knows them.
FRAMES = ("pandas", "polars", "pyarrow", "modin.pandas", "cudf")


@dataclass
class References:
    """The figures of the references, one row each: arrays (R, K), and their eigenvalues (R, L)."""

    ari: np.ndarray
    loss: np.ndarray
    pac: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.ari)


class CDF(NamedTuple):
    """The distribution of co-association over pairs of objects.

    values : values of co-association, ascending.
    cdf : share of the pairs with at most that value.
    area : under the curve, 1 - mean co-association.
    band : half width of the band that holds the whole curve with 99% probability if pairs were sampled; 0
        if all were counted.
    """

    values: np.ndarray
    cdf: np.ndarray
    area: float
    band: float


@dataclass(repr=False)
class ChooseKResult:
    """The number of clusters with its evidence, as returned by :func:`choose_k`.

    Attributes
    ----------
    n_clusters : int
        The answer; 1 if the data cannot be told from one cloud.
    verdict : str
        "strong": both tests find more structure than the references have, and three of five votes name k.
        "moderate": only one test finds more structure. "weak": a test finds more structure, but fewer votes
        name k. "none": neither test does, and k is 1. "not tested": there were no features or no references,
        so that k = 1 cannot be ruled out.
    alternatives : list of int
        Other numbers of clusters that are plausible: those that a vote names, and smaller ones with hardly
        any ambiguous pairs.
    votes : dict
        The k that each of gain, eigengap, lifetime, rcsi and silhouette ranks first; without references only
        eigengap and lifetime.
    n_clusters_tried : array (K,)
        The numbers of clusters that were compared.
    columns : dict of arrays (K,)
        The columns of the table, by name; the page on choosing k explains each. Columns that could not be
        computed are left out.
    tests : list of Test
        Each with ``name, statistic, p, level, null, references, rejected``.
    spectrum : array (L,)
        Eigenvalues of the normalized co-association of the mixed ensemble, descending from 1.
    references : References or None
        The same figures of the references, one row each.
    notes : list of str
        Remarks on the answer, in sentences; :meth:`__str__` prints them.
    sample : array or None
        Rows of X that were studied, if there were too many to study all.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> study = cs.choose_k(X, n_clusters=(2, 4), n_clusterings=10, random_state=0)
    >>> study
    ChooseKResult: n_clusters=3, verdict 'strong'
    >>> study.labels(3).shape, list(study.votes)
    ((90,), ['gain', 'eigengap', 'lifetime', 'rcsi', 'silhouette'])
    """

    n_clusters: int
    verdict: str
    alternatives: list[int]
    votes: dict[str, int]
    n_clusters_tried: np.ndarray
    columns: dict[str, np.ndarray]
    tests: list[Test]
    spectrum: np.ndarray
    references: References | None
    notes: list[str]
    sample: np.ndarray | None
    n_samples: int
    null: str | None
    not_tested: str
    _ensembles: dict[int, Ensemble] = field(default_factory=dict)
    _mixed: Ensemble | None = None
    _combined: dict[int, Ensemble] = field(default_factory=dict)
    _models: dict[int, Any] = field(default_factory=dict)
    _labels: dict[int, np.ndarray] = field(default_factory=dict)
    _pairs: dict[int, PairShares] = field(default_factory=dict)
    _backend: str | None = None

    # What was found for one number of clusters ----------------------------------------------------------

    def _check(self, k: Any) -> int:
        if k not in self.n_clusters_tried.tolist():
            raise InputError(
                f"n_clusters={k!r} was not studied; choose one of "
                f"{listed(self.n_clusters_tried.tolist(), most=20)}."
            )
        return int(k)

    def model(self, n_clusters: int | None = None) -> Any:
        """The consensus method fitted to the clusterings with this number of clusters, by default the answer.

        With more than 5,000 distinct objects, and in a study that was loaded, it is fitted when first asked
        for. With more than 5,000 distinct objects it may link others than :meth:`labels` did.
        """
        k = self._answer(n_clusters)
        model = self._models[k]
        return model if hasattr(model, "labels_") else model.fit(self._combined[k])

    def labels(self, n_clusters: int | None = None) -> np.ndarray:
        """(n_samples,) the consensus labels of the objects studied, by default for the answer."""
        if n_clusters == 1 or (n_clusters is None and self.n_clusters == 1):
            return np.zeros(self.n_samples if self.sample is None else len(self.sample), np.int64)
        return self._labels[self._answer(n_clusters)]

    def ensemble(self, n_clusters: int | None = None) -> Ensemble:
        """The base clusterings behind the statistics for a number of clusters, by default the answer."""
        return self._held(self._ensembles, n_clusters)

    @property
    def mixed_ensemble(self) -> Ensemble:
        """The base clusterings behind eigengap and lifetime."""
        assert self._mixed is not None
        return self._mixed

    def cdf(self, n_clusters: int | None = None) -> CDF:
        """The distribution of co-association over pairs for a number of clusters, by default the answer."""
        pairs: PairShares = self._held(self._pairs, n_clusters)
        return CDF(*pairs.cdf(), pairs.area, pairs.band)

    def _answer(self, k: int | None) -> int:
        if k is None and self.n_clusters == 1:
            raise InputError(
                f"The answer is one cluster, which has no clusterings; give n_clusters, one of "
                f"{listed(self.n_clusters_tried.tolist(), most=20)}."
            )
        return self._check(self.n_clusters if k is None else k)

    def _held(self, by_k: Mapping[int, Any], n_clusters: int | None) -> Any:
        """What there is for a number of clusters; given clusterings need not have any with that number."""
        k = self._answer(n_clusters)
        if k not in by_k:
            raise InputError(
                f"No clustering of the ensemble has {k} clusters; choose "
                f"{'one of ' if len(by_k) > 1 else ''}{listed(sorted(by_k), most=20)}, or use mixed_ensemble."
            )
        return by_k[k]

    # All of them -------------------------------------------------------------------------------------------

    @property
    def table(self) -> Any:
        """A data frame with one row for each k.

        It belongs to the library that X came in, otherwise to pandas; ``columns`` has the same as arrays.
        """
        import narwhals as nw

        # The module itself is passed: old versions of narwhals do not know names of libraries.
        library = need(self._backend or "pandas", self._backend or "pandas", "ChooseKResult.table")
        return nw.from_dict(dict(self.columns), backend=library).to_native()

    def to_frame(self) -> Any:
        """Return :attr:`table`, a data frame with one row for each k."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """The answer and its evidence as plain data, for JSON."""
        return {
            "n_clusters": self.n_clusters,
            "verdict": self.verdict,
            "alternatives": self.alternatives,
            "votes": self.votes,
            "tests": [{**test._asdict(), "rejected": test.rejected} for test in self.tests],
            "n_samples": self.n_samples,
            "n_studied": self.n_samples if self.sample is None else len(self.sample),
            "table": {name: values.tolist() for name, values in self.columns.items()},
            "text": "\n".join([self.summary(), *self.notes]),
            "notes": self.notes,
        }

    def plot(self, what: str = "evidence", ax: Any = None) -> Any:
        """Draw the study with matplotlib.

        Parameters
        ----------
        what : {"evidence", "cdf", "delta_area", "tracking", "spectrum"}, default "evidence"
            The evidence for each number of clusters, the distribution of co-association, the relative change
            of its area, the cluster of each object for each number of clusters, or the eigenvalues.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display
            The display of :mod:`consilience.plot`, with ``ax_`` and ``figure_``.
        """
        check("what", what, Choice(*PICTURES))
        return _register.offered(PICTURES[what]).from_study(self).plot(ax)

    def report(self, path: Any = None, **options: Any) -> Any:
        """Write a page about the study to ``path``; see :func:`consilience.report` for the options."""
        return _register.offered("report")(self, path=path, **options)

    # Files -------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the study to a file, without pickle; :func:`consilience.load` reads it."""
        _register.offered("save")(self, path)

    def _to_parts(self) -> dict[str, Any]:
        """Its parts by name, for files of models; consensus methods unfitted, as they can be fitted again."""
        parts = {one.name.lstrip("_"): getattr(self, one.name) for one in fields(self)}
        return {**parts, "models": {k: clone(model) for k, model in self._models.items()}}

    @classmethod
    def _from_parts(cls, parts: Mapping[str, Any]) -> ChooseKResult:
        """The study made of these parts; raises unless they fit together."""
        made = cls(**{one.name: parts[one.name.lstrip("_")] for one in fields(cls)})
        ks, studied = (
            made.n_clusters_tried.tolist(),
            made.n_samples if made.sample is None else len(made.sample),
        )
        fit = [
            made.n_clusters in (1, *ks),
            made._backend in (None, *FRAMES),  # it is imported
            all(values.shape == made.n_clusters_tried.shape for values in made.columns.values()),
            all(own.shape == (studied,) for own in made._labels.values()),
            all(
                isinstance(one, Ensemble) and one.n_samples == studied
                for one in (made._mixed, *made._combined.values())
            ),
            *(list(of_k) == ks for of_k in (made._labels, made._combined, made._models)),
            *(set(of_k) <= set(ks) for of_k in (made._ensembles, made._pairs)),
        ]
        if not all(fit) or not made._is_typed():
            raise InputError(f"The parts of a study of k={ks} do not fit together.")
        return made

    def _is_typed(self) -> bool:
        """Whether every part is of its type, as :meth:`_from_parts` asks of parts from a file."""
        arrays: list[Any] = [
            self.n_clusters_tried,
            self.spectrum,
            *self.columns.values(),
            *self._labels.values(),
        ]
        arrays += [pairs.counts for pairs in self._pairs.values()]
        references = self.references
        if references is not None:
            arrays += [getattr(references, one.name) for one in fields(references)]
        if self.sample is not None:
            arrays.append(self.sample)
        texts = [self.verdict, self.not_tested, *self.columns, *self.votes, *self.notes]
        texts += [text for test in self.tests for text in (test.name, test.null)]
        whole = [self.n_clusters, self.n_samples, *self.alternatives, *self.votes.values()]
        numbers = [number for test in self.tests for number in (test.statistic, test.p, test.level)]
        numbers += [number for pairs in self._pairs.values() for number in (pairs.unseen, pairs.band)]
        return (
            all(isinstance(one, np.ndarray) and one.dtype.kind in "if" for one in arrays)
            and all(isinstance(one, str) for one in texts)
            and isinstance(self.null, (str, type(None)))
            and all(type(one) is int for one in whole)
            and all(isinstance(one, (int, float)) for one in numbers)
            and all(isinstance(one, list) for one in (self.alternatives, self.notes, self.tests))
            and all(isinstance(one, dict) for one in (self.votes, self.columns))
            and isinstance(references, (References, type(None)))
            and self.n_clusters_tried.ndim == self.spectrum.ndim == 1
            and all(
                pairs.counts.ndim == 2 and pairs.counts.shape[0] == pairs.counts.shape[1]
                for pairs in self._pairs.values()
            )
            and all(own.dtype.kind == "i" for own in self._labels.values())
            and all(isinstance(own, Ensemble) for own in self._ensembles.values())
            and all(hasattr(model, "fit") for model in self._models.values())
        )

    # In words ----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """The summary and the notes, in lines of at most 80 columns."""
        return "\n".join(
            fill(part, 80, break_long_words=False, break_on_hyphens=False)
            for part in (*self._parts(), *self.notes)
        )

    def summary(self) -> str:
        """The answer, its evidence, other plausible numbers, and what was not tested, in a few sentences."""
        return " ".join(self._parts())

    def _parts(self) -> list[str]:
        return [self._what(), self._why(), *self._else(), self.not_tested]

    def _what(self) -> str:
        tried = self.n_clusters_tried
        first, last = int(tried[0]), int(tried[-1])
        if len(tried) == 1:
            looked = f"only {last} was compared"
        elif len(tried) == last - first + 1:
            looked = f"{first} to {last} were compared"
        else:
            looked = f"{len(tried)} numbers from {first} to {last} were compared"
        clusters = "1 cluster" if self.n_clusters == 1 else f"{self.n_clusters} clusters"
        return f"{clusters} (verdict: {self.verdict}; {looked})."

    def _why(self) -> str:
        p = ", ".join(f"{test.name} p = {test.p:.3f}" for test in self.tests)
        if self.verdict == "not tested":
            return "How sure: not tested against data without clusters."
        found = [test.name for test in self.tests if test.rejected]
        cloud = _cloud(self.null)
        if not found:
            return f"Nothing shows more structure than {cloud} ({p}; each test at {self.tests[0].level:g})."
        both = "Both tests show" if len(found) == len(self.tests) else f"The {found[0]} test shows"
        shape = (
            " A uniform or skewed cloud without clusters passes that test, too."
            if found == ["inertia"]
            else ""
        )
        return (
            f"{both} more structure than {cloud} ({p}; each test at {self.tests[0].level:g}).{shape} "
            f"{self._say_votes()}"
        )

    def _say_votes(self) -> str:
        names: dict[int, list[str]] = {}
        for name, k in self.votes.items():
            names.setdefault(k, []).append(name)
        said = "; ".join(
            f"{listed(which)} {'names' if len(which) == 1 else 'name'} {k}"
            for k, which in sorted(names.items())
        )
        return f"{said[:1].upper()}{said[1:]}."

    def _else(self) -> list[str]:
        if self.verdict == "none":
            return []
        if not self.alternatives:
            return ["No other number stands out."]
        return [f"Also plausible: {listed(self.alternatives)}."]

    def __repr__(self) -> str:
        also = f", alternatives {self.alternatives}" if self.alternatives else ""
        return f"ChooseKResult: n_clusters={self.n_clusters}, verdict {self.verdict!r}{also}"

    def _repr_html_(self) -> str:
        """For notebooks: the sentences, and the columns that decide."""
        names = [name for name in SHOWN if name in self.columns]
        head = "".join(f'<th title="{escape(COLUMNS[name])}">{name}</th>' for name in names)
        rows = []
        for i, k in enumerate(self.n_clusters_tried.tolist()):
            cells = "".join(f"<td>{self.columns[name][i]:.3g}</td>" for name in names)
            bold = ' style="font-weight:bold"' if k == self.n_clusters else ""
            rows.append(f"<tr{bold}>{cells}</tr>")
        said = "".join(f"<p>{escape(line)}</p>" for line in (self.summary(), *self.notes))
        return f"{said}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cloud(null: str | None) -> str:
    """The null in words."""
    return {
        "gaussian": "one Gaussian cloud of the same covariance",
        "uniform": "one uniform cloud in the box of the principal components",
    }.get(null or "", f"the references of {null}")


def with_pairs(study: ChooseKResult) -> list[int]:
    """The numbers of clusters with clusterings of their own, whose pairs were counted."""
    return [k for k in study.n_clusters_tried.tolist() if k in study._pairs]
