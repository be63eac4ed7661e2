"""AnnData in and out, against the real package (skipped, saying so, where it is not installed)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError

anndata = pytest.importorskip(
    "anndata", reason="the package anndata is not installed: pip install 'consilience[anndata]'"
)


@pytest.fixture
def adata():
    rng, truth = np.random.default_rng(0), np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 8)) + 6 * np.eye(3, 8)[truth]
    made = anndata.AnnData(X.astype(np.float32))
    made.obs_names = [f"cell {i}" for i in range(60)]
    made.obs["truth"] = truth.astype(str)
    made.obsm["X_pca"] = X[:, :3].copy()
    made.layers["counts"] = sp.csr_matrix(np.abs(X).round().astype(np.float32))
    for j in range(4):
        wrong = rng.random(60) < 0.1
        made.obs[f"leiden_{j}"] = np.where(wrong, rng.integers(0, 3, 60), truth).astype(str)
    made.obs["leiden_3"] = made.obs["leiden_3"].astype("category")
    made.obs.loc[made.obs_names[5], "leiden_0"] = None
    return made


def check_written(adata, key, c=3):
    labels = adata.obs[key]
    assert list(labels.cat.categories) == [str(j) for j in range(c)]
    assert cs.metrics.ari(adata.obs["truth"].to_numpy(str), labels.to_numpy(str)) > 0.8
    assert adata.obs[f"{key}_confidence"].between(0, 1).all()
    membership = adata.obsm[f"{key}_membership"]
    assert membership.shape == (adata.n_obs, c)
    np.testing.assert_allclose(membership.sum(axis=1), 1)
    assert (membership.argmax(axis=1).astype(str) == labels.to_numpy(str)).all()


@pytest.mark.parametrize("where", [{}, {"use_rep": "X"}, {"use_rep": "X_pca"}, {"layer": "counts"}])
def test_cluster(adata, where, tmp_path):
    model = cs.anndata.cluster(adata, 3, n_clusterings=10, random_state=0, **where)
    assert model.method_.sample_names_ == list(adata.obs_names)
    check_written(adata, "consilience")
    said = adata.uns["consilience"]
    assert said["estimator"] == "ConsensusClustering"
    assert said["params"]["n_clusters"] == 3
    assert said["source"]["layer"] == where.get("layer", "")
    adata.write_h5ad(tmp_path / "a.h5ad")
    again = anndata.read_h5ad(tmp_path / "a.h5ad")
    check_written(again, "consilience")
    assert again.uns["consilience"]["method"] == said["method"]


def test_consensus_of_columns(adata, tmp_path):
    columns = [f"leiden_{j}" for j in range(4)]
    model = cs.anndata.consensus(adata, columns, 3, key_added="joint", method="lwgp", random_state=0)
    assert isinstance(model, cs.consensus.LWGP)
    assert model.distinct_.clustering_names == columns
    assert (model.distinct_.labels < 0).sum() == 1
    check_written(adata, "joint")
    assert adata.uns["joint"]["source"]["columns"] == columns
    given = cs.consensus.EvidenceAccumulation(3)
    assert cs.anndata.consensus(adata, columns, method=given) is given
    check_written(adata, "consilience")
    adata.write_h5ad(tmp_path / "a.h5ad")


def test_links_and_sizes_by_name_of_the_cell(adata):
    columns = [f"leiden_{j}" for j in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        cs.anndata.consensus(adata, columns, 6, must_link=[("cell 0", "cell 1")], min_cluster_size=10)
    assert adata.obs["consilience"].iloc[0] == adata.obs["consilience"].iloc[1]
    assert adata.obs["consilience"].value_counts().min() >= 10


def test_a_view_becomes_an_object_of_its_own(adata):
    part = adata[adata.obs["truth"] != "2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cs.anndata.consensus(part, ["leiden_1", "leiden_2"], 2)
    assert "consilience" in part.obs
    assert "consilience" not in adata.obs


def test_backed_files(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    features = cs.anndata.features_of(backed)
    np.testing.assert_array_equal(features.X, adata.X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a: cs.anndata.cluster(a, 3, use_rep="X_umap"),
            "use_rep='X_umap' is not there; adata has 'X_pca'",
        ),
        (lambda a: cs.anndata.cluster(a, 3, layer="raw"), "layer='raw' is not there; adata has 'counts'"),
        (lambda a: cs.anndata.cluster(a, 3, layer="counts", use_rep="X_pca"), "are both given"),
        (
            lambda a: cs.anndata.consensus(a, ["louvain"], 3),
            "no column 'louvain'; it has 'truth', 'leiden_0'",
        ),
        (lambda a: cs.anndata.consensus(a, [], 3), "columns is empty"),
        (
            lambda a: cs.anndata.consensus(a, ["leiden_0"], 3, method=cs.consensus.LWEA(3)),
            "leave out n_clusters",
        ),
        (
            lambda a: cs.anndata.write(a, cs.consensus.LWEA(2).fit([[0, 0], [1, 1]])),
            "2 objects, and adata has 60 cells",
        ),
        (lambda a: cs.anndata.cluster(a.X, 3), "not an AnnData object: it has no obs"),
    ],
)
def test_refusals(adata, call, message):
    with pytest.raises(InputError, match=message):
        call(adata)


def test_no_features():
    with pytest.raises(InputError, match="adata.X is empty"):
        cs.anndata.features_of(anndata.AnnData(obs={"a": [1, 2]}))
