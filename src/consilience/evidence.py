"""What base clusterings say about a partition, and how far each of them is trusted."""

from __future__ import annotations

import numpy as np

from .ensemble import Ensemble


def trust_by_reliability(ensemble: Ensemble, reliability: np.ndarray) -> np.ndarray:
    """(m,) trust in every clustering, adding up to 1, from the reliability (k,) of all clusters.

    The mean reliability of its clusters by their weight: that of the cluster a random object is in.
    """
    sizes, starts = ensemble.cluster_sizes(), ensemble.offsets[:-1]
    return share_out(np.add.reduceat(sizes * reliability, starts) / np.add.reduceat(sizes, starts))


def share_out(trust: np.ndarray) -> np.ndarray:
    """Trust of any scale as shares that add up to 1."""
    return trust / trust.sum()
