"""From the table to the answer, with remarks for its reader."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .description import Description
from .material import Objects
from .null import far_from_gaussian, is_far
from .rule import Answer, Test, decide, run_tests
from .runs import Measured
from .study import COLUMNS, ChooseKResult, References

#: A cluster with a smaller share of the weight than this is remarked on.
_TINY = 0.01


def conclude(
    found: Description,
    objects: Objects | None,
    own: Measured | None,
    references: list[Measured],
    *,
    alpha: float,
    null: str | None,
    backend: str | None,
) -> ChooseKResult:
    """The study: tests, votes, verdict, and remarks."""
    base, ks = found.base, found.settings.ks
    tests: list[Test] = []
    if references:
        assert own is not None
        assert null is not None
        tests = run_tests(own, references, alpha, null)
    answer = decide(found.columns, tests)
    notes = [*(objects.notes if objects is not None else []), *base.notes, *found.notes]
    # Given clusterings cover all objects, even if features were sampled for the tests.
    studied = None if base.given else objects
    return ChooseKResult(
        **answer._asdict(),
        n_clusters_tried=ks,
        columns={name: found.columns[name] for name in COLUMNS if name in found.columns},
        tests=tests,
        spectrum=found.spectrum,
        references=References(*(np.stack(rows) for rows in zip(*references))) if references else None,
        notes=[*notes, *_remarks(answer, found, objects if null == "gaussian" else None)],
        sample=None if studied is None else studied.sample,
        n_samples=base.mixed.n_samples if studied is None else studied.n_samples,
        null=null,
        not_tested=_not_tested(null, with_features=objects is not None, most=int(ks[-1])),
        _ensembles=base.ensembles,
        _mixed=base.mixed,
        _combined=found.combined,
        _models=found.models,
        _labels=found.labels,
        _pairs=found.pairs,
        _backend=backend,
    )


def _remarks(answer: Answer, found: Description, compared: Objects | None) -> list[str]:
    """Remarks for the reader; ``compared`` are the objects compared with Gaussian references, if any."""
    if answer.n_clusters == 1:
        return []
    ks = found.settings.ks
    said = list(getattr(found.models[answer.n_clusters], "messages_", []))
    smallest = found.columns["smallest"][int(np.flatnonzero(ks == answer.n_clusters)[0])]
    if smallest < _TINY:
        said.append(
            f"With {answer.n_clusters} clusters the smallest holds {100 * smallest:.1g}% of the weight: it "
            f"may be outliers."
        )
    if compared is not None and not sp.issparse(compared.features.X):
        labels = found.labels[answer.n_clusters]
        if found.base.given and compared.sample is not None:  # labels of all objects, features of a sample
            labels = labels[compared.sample]
        far = far_from_gaussian(compared.features.X, labels)
        if is_far(far):
            said.append(
                f"Within clusters, {100 * far:.0f}% of the columns are skewed or heavy-tailed. A single "
                "cloud of that shape also has more structure than a Gaussian one: transform the columns "
                "(logarithm, ranks) and study again."
            )
    return said


def _not_tested(null: str | None, *, with_features: bool, most: int) -> str:
    """What this study leaves open."""
    if null is None:
        why = "null=None" if with_features else "there are no features"
        more = "" if with_features else " Give the features, choose_k(X, ensemble=ensemble)."
        return f"Not tested: whether there is any structure at all, as {why}.{more}"
    shape = "a Gaussian" if null == "gaussian" else "the references"
    return (
        f"Not tested: whether one cloud of another shape than {shape} would show as much, and numbers of "
        f"clusters above {most}."
    )
