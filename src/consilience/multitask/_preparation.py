"""How the features of a task are prepared, from the examples of that task alone.

    tf-idf    x_j (1 + log(n / n_j)), then unit; n_j of the n examples of the task have word j           (1)
    unit      x / |x|, an example of zeros stays                                                         (2)

Frequencies of words differ between tasks. Weights from all tasks together would make the words of the largest
task the rare ones of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InputError

#: What estimators accept as ``preprocess``.
PREPARATIONS = ("auto", "none", "tf-idf", "unit")
# Counts are whole numbers, few of which are not zero, or many of which are zero while the others are small.
_FEW, _MANY, _SMALL = 0.1, 0.5, 3.0


@dataclass(frozen=True)
class Preparation:
    """What was learned from the examples of a task: the same for those and for new ones."""

    name: str
    weights: np.ndarray | None = None  #: (d,) of "tf-idf"

    def apply(self, X: Any) -> Any:
        """The rows of X (n, d), prepared; each by itself."""
        if self.name == "none":
            return X
        if self.weights is not None:
            X = sp.csr_array(X @ sp.diags_array(self.weights)) if sp.issparse(X) else X * self.weights
        return unit_rows(X)


def learn(name: str, X: Any) -> Preparation:
    """The preparation of that name for the task with these examples (n, d)."""
    if name != "tf-idf":
        return Preparation(name)
    if _values(X).min(initial=0.0) < 0:
        raise InputError(
            "preprocess='tf-idf' needs counts, but X has negative numbers; use preprocess='unit' or 'none'."
        )
    found = np.asarray((X != 0).sum(axis=0)).ravel()
    return Preparation(name, 1.0 + np.log(X.shape[0] / np.maximum(found, 1)))


def chosen(X: Any) -> str:
    """What "auto" does with the examples of all tasks (n, d): "tf-idf" for counts, else "none"."""
    values = _values(X)
    values = values[values != 0]
    share = values.size / max(1, X.shape[0] * X.shape[1])
    if not values.size or share > _MANY or values.min() < 0 or (values != np.rint(values)).any():
        return "none"
    return "tf-idf" if share <= _FEW or (values.max() > 1 and values.mean() <= _SMALL) else "none"


def unit_rows(X: Any) -> Any:
    """(2)."""
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(np.asarray(squares).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sp.csr_array(sp.diags_array(scale) @ X) if sp.issparse(X) else X * scale[:, None]


def _values(X: Any) -> np.ndarray:
    return X.data if sp.issparse(X) else X.ravel()
