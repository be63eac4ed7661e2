"""The iterations of a method: the terms of its objective, and the share of evidence that it admitted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._results.model import pacing_of
from .._results.view import Fitted
from ..errors import InputError
from .style import axes, needs_log, plain


class ConvergenceDisplay:
    """Quantities that a method recorded at each iteration, one curve for each.

    Attributes
    ----------
    terms : dict of arrays (n_iter,)
        Quantities by name, in the order of the method; NaN where an iteration has no value.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.SCCABG(n_clusters=2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.ConvergenceDisplay.from_estimator(model)
    >>> len(display.terms["objective"]) == model.n_iter_
    True
    """

    def __init__(self, terms: dict[str, np.ndarray], name: str = ""):
        self.terms = terms
        self.name = name

    @classmethod
    def from_estimator(cls, model: Any) -> ConvergenceDisplay:
        """Make the display of a fitted method that keeps a history."""
        return cls.from_fitted(Fitted.from_estimator(model))

    @classmethod
    def from_fitted(cls, fitted: Fitted) -> ConvergenceDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        name = type(fitted.method).__name__
        if not fitted.terms:
            raise InputError(f"{name} keeps no history: it does not iterate on an objective.")
        return cls(fitted.terms, name)

    def plot(self, ax: Any = None, *, terms: Any = None) -> ConvergenceDisplay:
        """Draw one panel per quantity, or, into ``ax``, the quantities ``terms`` (default: the objective)."""
        if ax is None and terms is None:
            names = list(self.terms)
            columns = min(3, len(names))
            rows = math.ceil(len(names) / columns)
            grid = np.ravel(
                axes(
                    None,
                    "ConvergenceDisplay.plot()",
                    nrows=rows,
                    ncols=columns,
                    squeeze=False,
                    figsize=(3.1 * columns, 2.2 * rows),
                )
            )
            for name, panel in zip(names, grid):
                self._draw(panel, [name])
                panel.set_title(name, fontsize="medium")
            for panel in grid[len(names) :]:
                panel.set_axis_off()
            self.ax_, self.figure_ = grid, grid[0].figure
            self.figure_.suptitle(f"{self.name}: iterations")
            return self
        ax = axes(ax, "ConvergenceDisplay.plot()", figsize=(6.2, 4))
        chosen = [terms] if isinstance(terms, str) else list(terms or [main_term(self.terms)])
        unknown = [name for name in chosen if name not in self.terms]
        if unknown:
            raise InputError(f"The history has no {unknown[0]!r}; it has {', '.join(self.terms)}.")
        self._draw(ax, chosen)
        if len(chosen) > 1:
            ax.legend(frameon=False)
        else:
            ax.set_ylabel(chosen[0])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, names: list[str]) -> None:
        for name in names:
            values = self.terms[name]
            ax.plot(np.arange(1, len(values) + 1), values, marker="o", ms=3, label=name)
        if needs_log(*(self.terms[name] for name in names)):
            ax.set_yscale("log")
        ax.set_xlabel("iteration")
        plain(ax)


class PacingDisplay:
    """Share of the evidence that a self-paced method works with, easy parts first.

    Attributes
    ----------
    share : array (n_iter,)
        Share admitted, in [0, 1].
    stage : array (n_iter,)
        Number of the stage of each iteration, from 1; the share changes from stage to stage.
    what : str
        What is admitted, such as "pairs of objects".

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.SCCABG(n_clusters=2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.PacingDisplay.from_estimator(model)
    >>> display.what, display.share.round(2).tolist()
    ('edges between objects and base clusters', [1.0, 0.96])
    """

    def __init__(self, share, stage, what: str, name: str = ""):
        self.share = share
        self.stage = stage
        self.what = what
        self.name = name

    @classmethod
    def from_estimator(cls, model: Any) -> PacingDisplay:
        """Make the display of a fitted self-paced method."""
        return cls.from_fitted(Fitted.from_estimator(model))

    @classmethod
    def from_fitted(cls, fitted: Fitted) -> PacingDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        name = type(fitted.method).__name__
        if not fitted.is_paced:
            raise InputError(f"{name} is not self-paced: its history says nothing about admitted evidence.")
        pacing, terms = pacing_of(fitted.method), fitted.terms
        share = pacing.share(terms, fitted.distinct.sample_weight.sum())
        stage = np.arange(1, len(share) + 1)
        if pacing.stage is not None:
            stage = 1 + np.concatenate([[0], np.cumsum(np.diff(terms[pacing.stage]) != 0)])
        return cls(np.clip(share, 0.0, 1.0), stage, pacing.what, name)

    def plot(self, ax: Any = None) -> PacingDisplay:
        """Draw the share as steps, with a line where a stage begins."""
        ax = axes(ax, "PacingDisplay.plot()", figsize=(6.2, 3.2))
        iteration = np.arange(1, len(self.share) + 1)
        ax.step(iteration, self.share, where="mid", color="#0072b2")
        ax.plot(iteration, self.share, "o", ms=3, color="#0072b2")
        starts = np.flatnonzero(np.diff(self.stage)) + 1.5
        if len(starts) < len(self.share) - 1:
            for start in starts:
                ax.axvline(start, color="0.8", lw=0.8)
        low = float(np.nanmin(self.share))
        ax.set(
            ylim=(min(0.0 if low < 0.5 else low - 0.05 * (1 - low) - 1e-3, 0.999), 1.0), xlabel="iteration"
        )
        ax.set_ylabel(f"share of {self.what}", wrap=True)
        ax.set_title(f"{self.name}: admitted evidence")
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def main_term(terms: dict[str, np.ndarray]) -> str:
    return "objective" if "objective" in terms else next(iter(terms))
