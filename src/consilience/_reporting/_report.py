"""The page: numbers from the displays, text from one file for each section, and one template."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._choosing import ChooseKResult
from .._data.annotations import read_annotations
from .._data.features import Features
from .._data.frames import in_order_of
from .._results.view import Fitted
from ..errors import InputError, need
from ..io import atomic_write, check_writable
from ..plot import (
    AgreementDisplay,
    CoassociationDisplay,
    ComparisonDisplay,
    ConfidenceDisplay,
    ConvergenceDisplay,
    PacingDisplay,
)
from ..plot.style import CLUSTER_COLORS, as_mapping, color, needs_log
from . import (
    _annotations,
    _answer,
    _bases,
    _certainty,
    _compared,
    _features,
    _how_many,
    _payload,
    _pictures,
    _provenance,
    _svg,
)
from ._embed import printable, to_json
from ._methods import words_of
from ._words import count, number, percent

_RIDGES = 40  # number of clusters that the picture of confidence has room for


class Report:
    """A page about a consensus.

    Attributes
    ----------
    html : str
        The whole page, which needs no other file and no network.
    path : Path or None
        Where it was last written.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> page = cs.report(model)  # doctest: +SKIP
    >>> page.save("report.html")  # doctest: +SKIP
    """

    def __init__(self, html: str):
        self.html = html
        self.path: Path | None = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all."""
        with atomic_write(path) as handle:
            handle.write(self.html.encode("utf-8"))
        self.path = Path(path)
        return self.path

    def __repr__(self) -> str:
        where = "not saved" if self.path is None else str(self.path)
        return f"Report({where}, {len(self.html) / 1e6:.2f} MB)"

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own in a notebook, so that its style does not leak."""
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html)}" title="consilience report" '
            'width="100%" height="800" style="border:0"></iframe>'
        )


def report(
    model: Any,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    labels_true: Any = None,
    annotations: Any = None,
    title: str | None = None,
    source: Any = None,
    sample_names: Sequence[Any] | None = None,
    feature_names: Sequence[Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
    warnings: Sequence[str] = (),
) -> Report:
    """Make one self-contained page about a consensus.

    The page shows the answer, how sure it is, the evidence, and how to reproduce it.

    Parameters
    ----------
    model : fitted consensus method or pipeline, dict or list of them, or ChooseKResult
        The first of several models is reported, and the others are compared with it; a dict names them. For
        a study, which :func:`choose_k` returns, its consensus with the chosen number of clusters is reported,
        or the study alone if the answer is one cluster. For labels from elsewhere, ``consilience report
        ensemble.csv labels.csv`` writes the page.
    X : array, sparse matrix or data frame (n_samples, n_features), optional
        The features, to draw the objects and to show what distinguishes the clusters. Without them, objects
        are drawn by the clusterings.
    path : path, optional
        Where to write the page; this is checked before any work.
    labels_true : array (n_samples,), optional
        Known classes, for scores, a strip beside the heat map, and colors of the points.
    annotations : data frame or dict of columns, optional
        Further facts about the objects, such as batch, age or treatment. Each column, of at most 12, becomes
        a strip beside the heat map and colors of the points. Rows of a data frame are matched by name where
        it and the objects have names.
    title : str, optional
        The heading of the page.
    source : str, optional
        What the data are, such as the name of a file.
    sample_names : sequence, optional
        Names of the objects, if the model has none.
    feature_names : sequence, optional
        Names of the features, if X has none.
    command : str, optional
        The shell command that made the result; shown instead of Python code.
    seconds : float, optional
        How long the work took.
    warnings : sequence of str
        Further remarks to show at the top.

    Returns
    -------
    Report
        With ``html``, ``path`` and ``save(path)``.

    Notes
    -----
    The page takes O(n m) time beside that of the method, and no array of size n x n. It stays below 6 MB:
    pairs are averaged in blocks, points are sampled (and the page says so), and names are left out if they
    are too long together. It needs the extra ``report``.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> page = cs.report(model)  # doctest: +SKIP
    """
    jinja2 = need("jinja2", "report", "A report")
    if path is not None:
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(
                f"path is {type(path).__name__}, expected the name of a file: report(model, X, 'page.html') "
                "or model.report('page.html', X)."
            )
        check_writable(path, formats=False)
    remarks = list(warnings)
    if feature_names is not None:
        if X is None:
            raise InputError("feature_names is given without X: pass the features, report(model, X).")
        X = Features(X, feature_names=feature_names)
    study = _study_of(model)
    if isinstance(model, ChooseKResult):
        X, labels_true, annotations, sample_names = (
            _rows(each, model) for each in (X, labels_true, annotations, sample_names)
        )
        if model.n_clusters == 1:
            return _of_study(jinja2, model, path, title, source, command, seconds, remarks)
        model = {type(model.model()).__name__: model.model()}
    fitted = {
        name: each if isinstance(each, Fitted) else Fitted.from_estimator(each)
        for name, each in as_mapping(model).items()
    }
    name, main = next(iter(fitted.items()))
    if sample_names is not None:
        if len(sample_names) != main.n_samples:
            raise InputError(
                f"sample_names has {len(sample_names)} entries for {count(main.n_samples, 'object')}."
            )
        main.names = list(sample_names)
    X, labels_true = in_order_of(main.names, X), in_order_of(main.names, labels_true)
    if X is not None and _left_out(main, X):
        X = None
        remarks.append(
            "Objects of weight 0 took no part and are not on this page; the picture is made from the "
            "clusterings."
        )
    notes = [] if annotations is None else read_annotations(annotations, main.n_samples, main.names)
    values = _content_of(main, name, fitted, X, labels_true, notes, source, seconds, command)
    values["how_many"] = None if study is None else _how_many.how_many(study)
    values["sections"] = _sections(values)
    values["warnings"] = [*(printable(text, 1000) for text in remarks), *values["warnings"]]
    values["title"] = printable(title or _title(main, source), 200)
    page = _render(jinja2, values)
    result = Report(page)
    if path is not None:
        result.save(path)
    return result


def _content_of(main, name, fitted, X, labels_true, notes, source, seconds, command) -> dict[str, Any]:
    """Everything the template shows."""
    agreement = AgreementDisplay.from_fitted(main)
    values: dict[str, Any] = {
        "n_clusters": main.n_clusters,
        "lead": _answer.lead(main),
        "tiles": _tiles(main),
        "warnings": _answer.cautions(main),
        "ridges": _svg.ridges(ConfidenceDisplay.from_fitted(main)) if main.n_clusters <= _RIDGES else None,
        "base": _bases.base(main, agreement),
        **_answer.clusters(main),
        **_certainty.doubts(main),
    }
    data: dict[str, Any] = {
        "n": main.n_samples,
        "colors": list(CLUSTER_COLORS),
        "doubtful": values.pop("doubtful_data"),
    }
    cells = CoassociationDisplay.from_fitted(main, _pictures.HEAT_CELLS)
    values["heat"], data["heat"] = _pictures.heat(main, cells)
    values["items"], data["items"] = _pictures.items(main, cells) or (None, None)
    first = _pictures.plane(main, X)
    values["scatter"], data["scatter"] = _pictures.scatter(main, first)
    values["around"] = data["around"] = None
    if X is not None:
        values["around"], data["around"] = _pictures.scatter(main, _pictures.plane(main, None))
    data["points"] = _pictures.points(main, first.index)
    known = (
        [] if labels_true is None else read_annotations({"known classes": labels_true}, main.n_samples, None)
    )
    data["strips"] = [_annotations.strip(each, cells, first.index) for each in (*known, *notes)]
    values["strips"] = [strip["name"] for strip in data["strips"]]
    values["annotations"] = _annotations.table(notes, main)
    values["features"] = _features.distinguishing(main, X)
    values["similarity"], data["similarity"] = _bases.similarity(main) or (None, None)
    values["alluvial"], values["alluvial_note"], data["alluvial"] = _bases.alluvial(main, agreement)
    data["objects"], values["payload_notes"] = _payload.payload(main)
    values["downloadable"] = data["objects"] is not None
    values |= _history(main)
    values["comparison"] = values["truth"] = None
    if len(fitted) > 1:
        values["comparison"] = _compared.comparison(name, ComparisonDisplay.from_fitted(fitted, labels_true))
    if labels_true is not None:
        values["truth"] = _compared.against_truth(main, labels_true)
    shape = None if X is None else tuple(np.shape(X)) if not hasattr(X, "shape") else tuple(X.shape)
    values["facts"] = _provenance.facts(main, shape, source, seconds)
    data["members"] = None if command or main.pipeline is not None else _payload.members(main)
    values["members"] = held = data["members"] is not None
    data["clusterings"] = [printable(each, 60) for each in main.distinct.clustering_names] if held else None
    given = {"X": shape, "labels_true": labels_true, "annotations": notes or None}
    values["reproduce"] = _provenance.reproduce(main, given, command, held=held)
    values["data"] = data
    return values


def _left_out(fitted, X: Any) -> bool:
    """Whether X has objects of weight 0, which the pipeline labels but the consensus does not know."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    return fitted.pipeline is not None and rows == len(fitted.pipeline.labels_) != fitted.n_samples


def _title(fitted, source: Any) -> str:
    text = f"Consensus of {count(fitted.distinct.n_clusterings, 'clustering')}"
    return text if source is None else f"{text}: {source}"


def _tiles(fitted) -> list[tuple[str, str]]:
    within, _ = fitted.togetherness
    doubtful = int(fitted.doubtful.sum())
    firm = fitted.mean_firmness
    return [
        ("Objects", number(fitted.n_samples)),
        ("Clusters", number(fitted.n_clusters)),
        ("Base clusterings", number(fitted.distinct.n_clusterings)),
        ("Together", percent(within)) if np.isnan(firm) else ("Firmness", percent(max(firm, 0.0))),
        (
            "Doubtful objects",
            f"{number(doubtful)} ({percent(doubtful / fitted.n_samples)})" if doubtful else "none",
        ),
        ("Mean confidence", f"{fitted.confidence.mean():.2f}"),
    ]


def _history(fitted) -> dict[str, Any]:
    """Curves of the recorded quantities that a reader can use; empty if there are none."""
    found: dict[str, Any] = {"history": [], "pacing": None, "pacing_text": "", "history_text": []}
    if not fitted.terms:
        return found
    terms = ConvergenceDisplay.from_fitted(fitted).terms
    steps = len(next(iter(terms.values())))
    method = fitted.method
    ended = " without converging" if fitted.shortfall else " and then met its stopping rule"
    found["history_text"] = [f"{type(method).__name__} took {count(steps, 'iteration')}{ended}."]
    quantities = words_of(method).quantities
    if steps > 1:
        found["history"] = [
            {
                "name": title,
                "meaning": meaning,
                "svg": _svg.curve(title, terms[name]),
                "log": needs_log(terms[name]),
            }
            for name, (title, meaning) in quantities.items()
            if name in terms
        ]
    if not fitted.is_paced:
        return found
    pace = PacingDisplay.from_fitted(fitted)
    if len(pace.share) > 1:
        found["pacing"] = _svg.pacing(pace)
        low, high = float(np.nanmin(pace.share)), float(pace.share[-1])
        found["pacing_text"] = (
            f"Self-pacing: easy evidence first. The share of {pace.what} that the method works with: "
            f"{100 * low:.3g}% at least, {100 * high:.3g}% at the end."
        )
    return found


def _sections(values: dict[str, Any]) -> list[tuple[str, str]]:
    there = [
        ("answer", "Answer", True),
        ("how-many", "How many", values["how_many"]),
        ("doubt", "Certainty", True),
        ("evidence", "Evidence", True),
        ("features", "Features", values["features"]),
        ("base", "Base clusterings", True),
        ("history", "Iterations", values["history"] or values["pacing"]),
        ("comparison", "Other methods", values["comparison"]),
        ("truth", "Known classes", values["truth"]),
        ("done", "Reproduce", True),
    ]
    return [(anchor, name) for anchor, name, exists in there if exists]


def _study_of(model: Any) -> ChooseKResult | None:
    """The study itself, or the one by which a pipeline chose its number of clusters.

    Of several models, the first counts.
    """
    if isinstance(model, ChooseKResult):
        return model
    first = model if not isinstance(model, (dict, list, tuple)) else next(iter(as_mapping(model).values()))
    return getattr(first, "study_", None)


def _rows(values: Any, study: ChooseKResult) -> Any:
    """The values of the objects that were studied; values given for these objects alone stay unchanged."""
    if values is None or study.sample is None:
        return values
    if isinstance(values, dict):
        return {name: _rows(column, study) for name, column in values.items()}
    rows = values.shape[0] if hasattr(values, "shape") else len(values)
    if rows != study.n_samples:
        return values
    if isinstance(values, (list, tuple)):
        return [values[i] for i in study.sample]
    return values.iloc[study.sample] if hasattr(values, "iloc") else values[study.sample]


def _of_study(jinja2, study, path, title, source, command, seconds, remarks) -> Report:
    """A page about a study that found no clusters, so that there is no consensus to report."""
    values = {
        "title": printable(title or ("How many clusters" + ("" if source is None else f": {source}")), 200),
        "lead": ["Nothing distinguishes these data from a single cloud: no clusters are reported."],
        "warnings": [printable(text, 1000) for text in remarks],
        "how_many": _how_many.how_many(study),
        "facts": _provenance.study_facts(study, source, seconds),
        "reproduce": [] if command is None else [{"text": "In a shell:", "code": printable(command, 5000)}],
    }
    result = Report(_render(jinja2, values, "study.html.j2"))
    if path is not None:
        result.save(path)
    return result


def _render(jinja2: Any, values: dict[str, Any], name: str = "report.html.j2") -> str:
    """Fill in a template; text is escaped unless it is our own markup."""
    markup = need("markupsafe", "report", "A report").Markup
    folder = resources.files(__package__) / "templates"
    script = (folder / "report.js").read_text(encoding="utf-8") if "data" in values else ""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        loader=jinja2.FunctionLoader(lambda each: (folder / each).read_text(encoding="utf-8")),
    )
    own: dict[str, Any] = {"css": markup((folder / "report.css").read_text(encoding="utf-8"))}
    if "data" in values:
        own |= {
            "script": markup(script),
            "data": markup(to_json(values["data"])),
            "ridges": None if values["ridges"] is None else markup(values["ridges"]),
            "pacing": None if values["pacing"] is None else markup(values["pacing"]),
            "history": [{**panel, "svg": markup(panel["svg"])} for panel in values["history"]],
        }
    if values["how_many"] is not None:
        section = values["how_many"]
        own["how_many"] = section | {
            "figures": [{**figure, "svg": markup(figure["svg"])} for figure in section["figures"]],
            "tracking": markup(section["tracking"]),
            "delta": None if section["delta"] is None else markup(section["delta"]),
        }
    # The page runs this script and no other: whatever slipped through escaping would still not run.
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    created = datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z")
    return environment.get_template(name).render(
        {**values, **own}, color=color, script_hash=digest, version=__version__, created=created
    )
