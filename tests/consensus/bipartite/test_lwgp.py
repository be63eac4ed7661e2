"""LWGP against the authors' programs; its cut is tested with the kernels."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.metrics import scores


def test_more_clusters_than_base_clusters():
    """Two clusterings of 3 know 9 kinds of objects: 7 clusters from 6 vectors."""
    base = np.array([[i, j] for i in range(3) for j in range(3)])
    assert np.unique(cs.consensus.LWGP(7, random_state=0).fit_predict(base)).size == 7


@pytest.mark.parametrize(
    "name",
    ["allaml_auth_21-40", "coil20_km", "gen_MF_M30_run1", "lung_auth_1-20", "pool_VS_full_1-20", "tox171_km"],
)
def test_golden_up_to_k_means(shared_dir, name):
    held = np.load(shared_dir / "golden" / f"{name}.npz")
    c = int(held["n_clusters"]) if "n_clusters" in held else np.unique(held["truth"]).size
    for key, theta in (("MDEC_BG", 1.0), ("LWGP", 0.4)):
        if f"{key}__labels" not in held:
            continue
        found = cs.consensus.LWGP(c, instability_tolerance=theta, random_state=0).fit_predict(
            held["labels_base"]
        )
        theirs = held[f"{key}__labels"].T
        among = [scores(theirs[0], labels)["ari"] for labels in theirs[1:]] or [1.0]
        ours = max(scores(found, labels)["ari"] for labels in theirs)
        assert ours >= min(0.99, np.median(among) - 0.05), (key, ours)
