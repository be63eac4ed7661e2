"""The same estimators for data larger than memory: ensembles and features that are Dask collections.

>>> import dask.array as da
>>> import consilience as cs
>>> labels = da.from_array([[0, 0], [0, 0], [1, 1], [1, 1], [1, 0]], chunks=(2, 2))
>>> model = cs.consensus.LWGP(n_clusters=2, random_state=0).fit(cs.dask.DaskEnsemble(labels))
>>> model.labels_.compute().tolist()
[1, 1, 0, 0, 0]

:class:`DaskEnsemble` holds base clusterings as a Dask array or data frame, and :func:`make_ensemble` makes
them from features. Every consensus method takes the ensemble in ``fit``;
:class:`~consilience.ConsensusClustering` takes Dask features. What they learn about objects is lazy and has
the chunks of the input; ``model.to_local()`` is the same model without anything lazy. The page docs/dask.md
has more.
"""

from __future__ import annotations

from ..errors import need

need("dask.array", "dask", "consilience.dask")

from .ensemble import DaskEnsemble  # noqa: E402  (the error for a missing package comes first)
from .generation import make_ensemble  # noqa: E402

__all__ = ["DaskEnsemble", "make_ensemble"]
