"""Sparse matrices as compiled loops take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Entries(NamedTuple):
    """The values of a CSR matrix, and where they stand: those of row i are indptr[i]..indptr[i + 1]."""

    data: np.ndarray
    indices: np.ndarray  # their columns
    indptr: np.ndarray
