"""The page: numbers from the displays, words from :mod:`._content`, one template."""

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
from ..errors import InputError, need
from ..fitted import Fitted
from ..io import atomic_write, check_writable
from ..plot import AgreementDisplay, ComparisonDisplay, ConfidenceDisplay, HistoryDisplay, PacingDisplay
from ..plot.style import CLUSTER_COLOURS, as_mapping, colour, needs_log
from . import _content, _provenance, _svg
from ._embed import printable, to_json
from ._words import count, number, percent

_RIDGES = 40  # clusters that the picture of confidence has room for


class Report:
    """A page about a consensus.

    Attributes
    ----------
    html : str
        The whole page: no other file, no network.
    path : Path or None
        Where it was last written.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.EvidenceAccumulation(n_clusters=2).fit([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    >>> page = cs.report(model)  # doctest: +SKIP
    >>> page.save("report.html")  # doctest: +SKIP
    """

    def __init__(self, html: str):
        self.html = html
        self.path: Path | None = None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: whole or not at all."""
        with atomic_write(path) as handle:
            handle.write(self.html.encode("utf-8"))
        self.path = Path(path)
        return self.path

    def __repr__(self) -> str:
        where = "not saved" if self.path is None else str(self.path)
        return f"Report({where}, {len(self.html) / 1e6:.2f} MB)"

    def _repr_html_(self) -> str:
        """In a notebook: the page in a frame of its own, so that its style does not leak."""
        from html import escape

        return f'<iframe srcdoc="{escape(self.html)}" title="consilience report" width="100%" height="800" style="border:0"></iframe>'


def report(
    model: Any,
    X: Any = None,
    *,
    path: str | os.PathLike[str] | None = None,
    truth: Any = None,
    title: str | None = None,
    source: Any = None,
    sample_names: Sequence[Any] | None = None,
    command: str | None = None,
    seconds: float | None = None,
    warnings: Sequence[str] = (),
) -> Report:
    """One self-contained page about a consensus: the answer, how sure it is, the evidence, how to reproduce it.

    Parameters
    ----------
    model : fitted consensus method or pipeline, or a dict of them by name, or a list
        With several, the first is reported and the others are compared with it.
    X : array, sparse matrix or data frame (n_samples, n_features), optional
        The features, for a picture of the objects; without them the picture is made from the clusterings.
    path : path, optional
        Where to write the page; checked before any work.
    truth : array (n_samples,), optional
        Known classes, for scores.
    title : str, optional
    source : str, optional
        What the data are, such as the name of a file.
    sample_names : sequence, optional
        Names of the objects, where the model knows none.
    command : str, optional
        The shell command that made the result; shown instead of Python code.
    seconds : float, optional
        How long the work took.
    warnings : sequence of str
        Further remarks to show on top.

    Returns
    -------
    Report
        With ``html``, ``path`` and ``save(path)``.

    Notes
    -----
    O(n m) time beyond the method's own; no array of size n x n. The page stays below 6 MB: pairs are averaged in
    blocks, points are sampled (and it says so), names are left out if they are too long together. Needs the
    extra ``report``.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.EvidenceAccumulation(n_clusters=2).fit([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    >>> page = cs.report(model)  # doctest: +SKIP
    """
    jinja2 = need("jinja2", "report", "A report")
    if path is not None:
        check_writable(path, formats=False)
    fitted = {name: Fitted.from_estimator(each) for name, each in as_mapping(model).items()}
    name, main = next(iter(fitted.items()))
    if sample_names is not None:
        if len(sample_names) != main.n_samples:
            raise InputError(
                f"sample_names has {len(sample_names)} entries for {count(main.n_samples, 'object')}."
            )
        main.names = list(sample_names)
    remarks = list(warnings)
    if X is not None and _left_out(main, X):
        X = None
        remarks.append(
            "Objects of weight 0 took no part and are not on this page; the picture is made from the clusterings."
        )
    values = _content_of(main, name, fitted, X, truth, source, seconds, command)
    values["warnings"] = [*(printable(text, 1000) for text in remarks), *values["warnings"]]
    values["title"] = printable(title or _title(main, source), 200)
    page = _render(jinja2, values)
    result = Report(page)
    if path is not None:
        result.save(path)
    return result


def _content_of(main, name, fitted, X, truth, source, seconds, command) -> dict[str, Any]:
    """Everything the template shows."""
    agreement = AgreementDisplay.from_fitted(main)
    values: dict[str, Any] = {
        "n_clusters": main.n_clusters,
        "lead": _content.lead(main),
        "tiles": _tiles(main),
        "warnings": _content.cautions(main),
        "ridges": _svg.ridges(ConfidenceDisplay.from_fitted(main)) if main.n_clusters <= _RIDGES else None,
        "base": _content.base(main, agreement),
        **_content.clusters(main),
        **_content.doubts(main),
    }
    data: dict[str, Any] = {"colours": list(CLUSTER_COLOURS), "doubtful": values.pop("doubtful_data")}
    values["heat"], data["heat"] = _content.heat(main)
    values["scatter"], data["scatter"] = _content.scatter(main, X)
    values["alluvial"], values["alluvial_note"], data["alluvial"] = _content.alluvial(main, agreement)
    data["objects"], values["payload_notes"] = _content.payload(main)
    values["downloadable"] = data["objects"] is not None
    values |= _history(main)
    values["comparison"] = values["truth"] = None
    if len(fitted) > 1:
        values["comparison"] = _content.comparison(name, ComparisonDisplay.from_fitted(fitted, truth))
    if truth is not None:
        values["truth"] = _content.against_truth(main, truth)
    shape = None if X is None else tuple(np.shape(X)) if not hasattr(X, "shape") else tuple(X.shape)
    values["facts"] = _provenance.facts(main, shape, source, seconds)
    values["reproduce"] = _provenance.reproduce(main, shape, command)
    values["sections"] = _sections(values)
    values["data"] = data
    return values


def _left_out(fitted, X: Any) -> bool:
    """Whether X has rows of objects of weight 0, which the pipeline labels but the consensus does not know."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    return fitted.pipeline is not None and rows == len(fitted.pipeline.labels_) != fitted.n_samples


def _title(fitted, source: Any) -> str:
    text = f"Consensus of {count(fitted.signatures.n_clusterings, 'clustering')}"
    return text if source is None else f"{text}: {source}"


def _tiles(fitted) -> list[tuple[str, str]]:
    within, _ = fitted.togetherness
    doubtful = int((fitted.support < _content.DOUBTFUL).sum())
    return [
        ("Objects", number(fitted.n_samples)),
        ("Clusters", number(fitted.n_clusters)),
        ("Base clusterings", number(fitted.signatures.n_clusterings)),
        ("Mean stability", percent(within)),
        ("Mean confidence", f"{fitted.confidence.mean():.2f}"),
        ("Doubtful objects", number(doubtful)),
    ]


#: Entries of a history that only number it.
_COUNTERS = ("step", "linearisation")


def _history(fitted) -> dict[str, Any]:
    """Curves of what the method recorded; nothing where it records nothing."""
    found: dict[str, Any] = {"history": [], "pacing": None, "pacing_text": "", "history_text": []}
    if not fitted.terms:
        return found
    terms = HistoryDisplay.from_fitted(fitted).terms
    steps = len(next(iter(terms.values())))
    method = fitted.method
    ended = "and then met its stopping rule" if method.converged_ else "and was stopped before it had settled"
    found["history_text"] = [f"{type(method).__name__} took {count(steps, 'iteration')} {ended}."]
    if steps > 1:
        # Curves that never move are said in the table of parameters, not drawn.
        found["history"] = [
            {
                "name": printable(name, 60),
                "svg": _svg.curve(printable(name, 60), curve),
                "log": needs_log(curve),
            }
            for name, curve in sorted(terms.items(), key=lambda term: term[0] != "objective")
            if name not in _COUNTERS and np.nanmax(curve) > np.nanmin(curve)
        ]
    if not fitted.is_paced:
        return found
    pace = PacingDisplay.from_fitted(fitted)
    if len(pace.share) > 1:
        found["pacing"] = _svg.pacing(pace)
        low, high = float(np.nanmin(pace.share)), float(pace.share[-1])
        found["pacing_text"] = (
            f"Self-pacing: easy evidence first. The share of {pace.what} that the method works with: "
            f"{100 * low:.3g}% at the least, {100 * high:.3g}% at the end."
        )
    return found


def _sections(values: dict[str, Any]) -> list[tuple[str, str]]:
    there = [
        ("answer", "Answer", True),
        ("doubt", "Certainty", True),
        ("evidence", "Evidence", True),
        ("base", "Base clusterings", True),
        ("history", "Iterations", values["history"] or values["pacing"]),
        ("comparison", "Other methods", values["comparison"]),
        ("truth", "Known classes", values["truth"]),
        ("done", "Reproduce", True),
    ]
    return [(anchor, name) for anchor, name, exists in there if exists]


def _render(jinja2: Any, values: dict[str, Any]) -> str:
    """The template filled in; text is escaped unless it is our own markup."""
    markup = need("markupsafe", "report", "A report").Markup
    folder = resources.files(__package__) / "templates"
    css = (folder / "report.css").read_text(encoding="utf-8")
    script = (folder / "report.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    own = {
        "css": markup(css),
        "script": markup(script),
        "data": markup(to_json(values["data"])),
        "ridges": None if values["ridges"] is None else markup(values["ridges"]),
        "pacing": None if values["pacing"] is None else markup(values["pacing"]),
        "history": [{**panel, "svg": markup(panel["svg"])} for panel in values["history"]],
    }
    # The page runs this script and no other: whatever slipped through escaping would still not run.
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    created = datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z")
    template = environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8"))
    return template.render(
        {**values, **own}, colour=colour, script_hash=digest, version=__version__, created=created
    )
