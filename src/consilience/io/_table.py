"""Features as a file holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._data.features import Features


class Table(Features):
    """Features that were read from a file.

    It is a :class:`~consilience.io.Features` with further facts from the file, and can be passed wherever
    features can.

    Attributes
    ----------
    X : array or CSR array (n_samples, n_features)
        Finite numbers, float32 where that holds them without loss, else float64.
    sample_names, feature_names : list of str, or None
        Names of rows and of columns, as found in the file. ``values`` is another name of X.
    column : array (n_samples,) or None
        The cells of the column that was asked for: whole numbers if all are, else text.
    decisions : list of str
        What the reader decided about separators, header and row names, one sentence each.

    Examples
    --------
    >>> import io, consilience as cs
    >>> table = cs.io.read_features(io.BytesIO(b"a,site,b\\n1,x,2\\n3,y,4\\n"), column="site")
    >>> table.feature_names, table.X.tolist(), table.column.tolist()
    (['a', 'b'], [[1.0, 2.0], [3.0, 4.0]], ['x', 'y'])
    """

    decisions: list[str]
    column: np.ndarray | None

    @classmethod
    def _of(
        cls,
        values: Any,
        sample_names: list[str] | None,
        feature_names: list[str] | None,
        decisions: list[str],
        column: np.ndarray | None = None,
    ) -> Table:
        """A table of numbers and names that have been checked."""
        self = cls.__new__(cls)
        self._set(values, sample_names, feature_names)
        self._squares_checked = False
        self.decisions, self.column = decisions, column
        return self

    @property
    def values(self) -> Any:
        """X."""
        return self.X
