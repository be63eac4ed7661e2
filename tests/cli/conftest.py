"""A folder with the files that the examples of the help texts name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import consilience as cs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 4)) + 8 * truth[:, None]
    names = [f"row {i}" for i in range(60)]
    monkeypatch.chdir(tmp_path)
    cs.io.write_features(X, "features.csv", sample_names=names, feature_names=list("abcd"))
    cs.io.write_features(X.T, "genes.tsv", sample_names=list("abcd"), feature_names=names)
    cs.io.write_features(X, "big.parquet", sample_names=names, feature_names=list("abcd"))
    cs.io.write_table({"class": np.array(["x", "y", "z"])[truth]}, "truth.csv", sample_names=names)
    cs.io.write_table({"weight": np.r_[np.ones(30), np.full(30, 2.0)]}, "weights.csv", sample_names=names)
    base = np.column_stack([truth, truth, np.where(rng.random(60) < 0.1, 0, truth)])
    ensemble = cs.Ensemble(base, sample_names=names, clustering_names=["one", "two", "three"])
    for ending in ("csv", "npz", "parquet"):
        cs.io.write_ensemble(ensemble, f"ensemble.{ending}")
    return tmp_path
