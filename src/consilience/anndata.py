"""AnnData in and out.

Features come from ``X``, a layer or an embedding, and base clusterings from columns of ``obs``. Results are
written back under a key. The functions work on objects of the package ``anndata`` without importing it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._base.parameters import listed
from ._data.ensemble import Ensemble
from ._data.features import Features
from ._pipeline.consensus_clustering import ConsensusClustering
from .consensus import BaseConsensus
from .consensus import method as by_name
from .errors import InputError, need

__all__ = ["cluster", "consensus", "ensemble_of", "features_of", "write"]


def features_of(adata: Any, *, use_rep: str | None = None, layer: str | None = None) -> Features:
    """Return the features of the cells: an embedding of ``obsm``, a layer, or by default ``X``.

    Parameters
    ----------
    adata : AnnData
    use_rep : str, optional
        Key of ``obsm``, such as "X_pca"; "X" is ``adata.X``.
    layer : str, optional
        Key of ``layers``.
    """
    _check(adata)
    if use_rep is not None and layer is not None:
        raise InputError(f"use_rep={use_rep!r} and layer={layer!r} are both given: give only one of them.")
    names = None
    if layer is not None:
        X, names = _item(adata.layers, layer, "layer"), list(map(str, adata.var_names))
    elif use_rep in (None, "X"):
        X, names = adata.X, list(map(str, adata.var_names))
        if X is None:
            raise InputError(
                f"adata.X is empty. Name an embedding (use_rep=...; it has {_held(adata.obsm)}) or a layer "
                f"({_held(adata.layers)})."
            )
    else:
        X = _item(adata.obsm, use_rep, "use_rep")
    if getattr(adata, "isbacked", False) and not sp.issparse(X) and not isinstance(X, np.ndarray):
        X = X[:]  # from the file
    return Features(X, sample_names=list(adata.obs_names), feature_names=names)


def ensemble_of(adata: Any, columns: Sequence[str]) -> Ensemble:
    """Return the base clusterings in columns of ``obs``; NaN where a cell was not clustered."""
    _check(adata)
    if isinstance(columns, str):
        columns = [columns]
    unknown = [column for column in columns if column not in adata.obs.columns]
    if unknown:
        raise InputError(
            f"adata.obs has no column {listed(map(repr, unknown))}; it has {_held(adata.obs.columns)}."
        )
    if not len(columns):
        raise InputError(
            f"columns is empty: name columns of adata.obs, which has {_held(adata.obs.columns)}."
        )
    return Ensemble(adata.obs[list(columns)], sample_names=list(adata.obs_names))


def cluster(
    adata: Any,
    n_clusters: int | str = "auto",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str = "consilience",
    must_link: Any = None,
    **params: Any,
) -> ConsensusClustering:
    """Cluster the cells by consensus, and write labels, confidence and membership to ``adata`` under a key.

    Parameters
    ----------
    adata : AnnData
        Changed in place, see :func:`write`.
    n_clusters : int or "auto", default "auto"
        Number of clusters; "auto" chooses it by a study, see :class:`~consilience.ConsensusClustering`.
    use_rep, layer : str, optional
        Where the features are: see :func:`features_of`.
    key_added : str, default "consilience"
        Key of what is written.
    must_link : optional
        As in ``fit`` of every consensus method.
    params : optional
        Further parameters of :class:`~consilience.ConsensusClustering`: ``generator``, ``method``,
        ``min_cluster_size``, ``random_state``, ...

    Returns
    -------
    ConsensusClustering
        Fitted; its ``ensemble_`` holds the base clusterings.
    """
    features = features_of(adata, use_rep=use_rep, layer=layer)
    model = ConsensusClustering(n_clusters, **params)
    model.fit(features, must_link=must_link)
    source = {"use_rep": use_rep or ("" if layer else "X"), "layer": layer or ""}
    write(adata, model, key_added=key_added, source=source)
    return model


def consensus(
    adata: Any,
    columns: Sequence[str],
    n_clusters: int | None = None,
    *,
    method: Any = "lwgp",
    key_added: str = "consilience",
    must_link: Any = None,
    **params: Any,
) -> BaseConsensus:
    """Combine clusterings in columns of ``obs``, and write the result to ``adata`` under a key.

    Parameters
    ----------
    adata : AnnData
        Changed in place, see :func:`write`.
    columns : list of str
        Columns of ``obs``: clusterings of several resolutions, methods or annotators. NaN marks a cell that a
        clustering did not see.
    n_clusters : int
        Number of clusters.
    method : str or consensus estimator, default "lwgp"
        A name listed by ``consilience methods``, or an estimator, which is fitted with its own parameters.
    key_added : str, default "consilience"
        Key of what is written.
    must_link : optional
        As in ``fit`` of every consensus method.
    params : optional
        Further parameters of a method given by name, such as ``min_cluster_size``.
    """
    ensemble = ensemble_of(adata, columns)
    if isinstance(method, BaseConsensus):
        if n_clusters is not None or params:
            raise InputError(
                f"method is a {type(method).__name__} with parameters of its own: leave out "
                f"{listed(['n_clusters'] * (n_clusters is not None) + list(params))}, or give its name."
            )
        model = method
    else:
        model = by_name(method)(n_clusters, **params)
    model.fit(ensemble, must_link=must_link)
    write(adata, model, key_added=key_added, source={"columns": list(ensemble.clustering_names)})
    return model


def write(
    adata: Any, model: Any, *, key_added: str = "consilience", source: Mapping[str, Any] | None = None
) -> None:
    """Write the results of a fitted model to ``adata`` under one key.

    These are the categories ``obs[key]`` ("0", "1", ... from the largest cluster down), ``obs[key +
    "_confidence"]``, ``obsm[key + "_membership"]`` (cells by clusters, rows add up to 1), and ``uns[key]``
    with the method, its parameters and where the input came from. ``write_h5ad`` can store all of them.
    """
    _check(adata)
    pandas = need("pandas", "anndata", "consilience.anndata")
    fitted = getattr(model, "method_", model)
    if len(model.labels_) != adata.n_obs:
        raise InputError(
            f"The model was fitted to {len(model.labels_)} objects, and adata has {adata.n_obs} cells. "
            f"Pass the AnnData it was fitted to."
        )
    labels = np.asarray(model.labels_)
    names = [str(j) for j in range(int(labels.max()) + 1)]
    adata.obs[key_added] = pandas.Categorical.from_codes(labels, categories=names)
    adata.obs[f"{key_added}_confidence"] = np.asarray(model.confidence_)
    adata.obsm[f"{key_added}_membership"] = np.asarray(getattr(model, "membership_", fitted.membership_))
    adata.uns[key_added] = {
        "method": type(fitted).__name__,
        "estimator": type(model).__name__,
        "params": {
            name: _plain(value) for name, value in model.get_params(deep=False).items() if value is not None
        },
        "source": dict(source or {}),
        "consensus_nmi": float(fitted.consensus_nmi_),
    }


def _check(adata: Any) -> None:
    missing = [name for name in ("obs", "obsm", "layers", "uns") if not hasattr(adata, name)]
    if missing:
        raise InputError(
            f"adata is a {type(adata).__name__}, not an AnnData object: it has no {listed(missing)}. "
            "Features go to ConsensusClustering, labels to a consensus method."
        )


def _item(held: Any, key: str, argument: str) -> Any:
    if key not in held:
        raise InputError(f"{argument}={key!r} is not there; adata has {_held(held)}.")
    return held[key]


def _held(names: Any) -> str:
    return listed([repr(str(name)) for name in names], 8) or "none"


def _plain(value: Any) -> Any:
    """A parameter in a form that a file of AnnData can hold."""
    if isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
