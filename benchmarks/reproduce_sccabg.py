"""The printed table of the SCCABG paper with the grid of the authors' demo, beside that of the paper.

    python -m benchmarks.reproduce_sccabg                      sets that take seconds to minutes
    python -m benchmarks.reproduce_sccabg tr41 usps11000

The table itself, with the paper's grid (gamma1 from 1e-5 to 1, gamma2 from 1e-3 to 1e3), comes from the protocols
``sccabg`` and ``sccabg-mnist`` of ``consilience bench run``. The authors' demo varies mu = gamma1 / (2 gamma2) from
1e-3 to 1e3 instead, and the paper does not say which of the two is behind its table; this is the other one.

Protocol of the paper: 200 runs of k-means with k = number of classes, cut into ten ensembles of 20; mean ACC and
NMI (max) over the ten. Columns: the three variants with default parameters, which never see the truth; "best" is
SCCABG in the authors' mode with the best of the 42 settings for each ensemble and measure, chosen by the truth, as
the printed figures are; "printed" is the paper's SCCABG row.

Differences in protocol: allaml uses the authors' own 200 runs, the other sets our own k-means (rows of term counts
as tf-idf of unit length); mnist70000 and tdt2 take two ensembles, not ten.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import scipy.sparse as sp

import consilience as cs
from consilience.metrics import accuracy, nmi

from ._measure import SHARED, table

PRINTED = {
    "allaml": (0.7139, 0.1459),
    "glioma": (0.4620, 0.3107),
    "tr41": (0.7244, 0.6920),
    "tdt2": (0.8350, 0.8391),
    "tox171": (0.4427, 0.2642),
    "k1b": (0.8881, 0.7559),
    "medical": (0.4720, 0.4205),
    "usps11000": (0.4620, 0.4655),
    "mnist70000": (0.5583, 0.4943),
}
QUICK = ("allaml", "glioma", "tox171")
VARIANTS = {
    "SCCBG-W": {"similarity": "fixed", "self_paced": False},
    "SCCBG": {"similarity": "fixed"},
    "SCCABG": {},
}
GRID = [
    {"gamma1": gamma1, "gamma2": gamma1 / (2 * mu), "mode": "authors"}
    for gamma1 in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    for mu in (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
]


def features(name: str):
    with np.load(SHARED / "data" / f"{name}.npz") as archive:
        if "X" in archive:
            return archive["X"].astype(np.float32), archive["y"]
        X = sp.csr_array((archive["data"], archive["indices"], archive["indptr"]), shape=archive["shape"])
        y = archive["y"]
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(X.astype(np.float32)), y


def ensembles(name: str):
    """(ten ensembles of 20, truth)."""
    if name == "allaml":
        with np.load(SHARED / "data" / "pool_allaml.npz") as archive:
            labels, truth = archive["labels"], archive["y"]
        return [cs.Ensemble(labels[:, i : i + 20]) for i in range(0, 200, 20)], truth
    X, truth = features(name)
    repeats = 2 if name in ("mnist70000", "tdt2") else 10
    c = np.unique(truth).size
    pool = cs.generate.kmeans(X, 20 * repeats, c, init="random", random_state=0)
    return [pool.select(np.arange(i, i + 20)) for i in range(0, 20 * repeats, 20)], truth


def scores(labels, truth) -> tuple[float, float]:
    return accuracy(labels, truth), nmi(labels, truth, normalisation="max")


def reproduce(name: str) -> dict:
    parts, truth = ensembles(name)
    c = np.unique(truth).size
    row: dict = {"set": name, "n": truth.size, "classes": c}
    base = [scores(column, truth) for part in parts for column in part.labels.T]
    row["k-means"] = _cell(np.mean(base, axis=0))
    for variant, settings in VARIANTS.items():
        found = [scores(cs.SCCABG(n_clusters=c, **settings).fit_predict(part), truth) for part in parts]
        row[variant] = _cell(np.mean(found, axis=0))
    grid = [[scores(cs.SCCABG(n_clusters=c, **s).fit_predict(part), truth) for s in GRID] for part in parts]
    row["best"] = _cell(np.max(grid, axis=1).mean(axis=0))
    row["printed"] = _cell(PRINTED[name])
    return row


def _cell(pair) -> str:
    return "{:.4f} / {:.4f}".format(*pair)


def run(names=QUICK) -> list[dict]:
    """Rows with the same keys."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [reproduce(name) for name in names]


if __name__ == "__main__":
    for name in sys.argv[1:] or QUICK:
        print(table(run([name])), flush=True)
