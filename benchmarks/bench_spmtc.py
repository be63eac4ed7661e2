"""SPMTC on comp_vs_sci (3,702 documents, 2,000 words, two tasks): a whole fit against plain dense code.

Both run in the same process.

    python -m benchmarks.bench_spmtc            whole fits of both; the plain one takes minutes
    python -m benchmarks.bench_spmtc --rounds 5 only so many rounds of the plain one, and no score for it

The plain code does what is printed, with the misprints corrected: dense arrays, the losses and centers by
their formulas, and the l smallest eigenvectors of the d x d matrix (25) in every round. It gets the same
start, trade-off, pace and weights, and stops each stage by the same rule. The data come from
CONSILIENCE_SHARED or ../shared; else synthetic counts of the same shape.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

import consilience as cs
from consilience._kernels.labels.distinct import row_keys, uniforms_by_key

from ._measure import SHARED, table, timed

TRADE_OFF, WARM_UP, MAX_ITER, TOL = 0.25, 20, 50, 1e-5


def data():
    """(X, truth, task, a word on what it is)."""
    file = SHARED / "data" / "comp_vs_sci.npz"
    if file.is_file():
        with np.load(file) as z:
            X = sp.csr_array((z["data"].astype(float), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
            return X, z["y"], z["task"], "comp_vs_sci"
    rng = np.random.default_rng(0)
    truth, task = rng.integers(2, size=3702), rng.integers(2, size=3702)
    rates = 50 * rng.dirichlet(np.full(2000, 0.05), size=4)[2 * task + truth]
    return sp.csr_array(rng.poisson(rates).astype(float)), truth, task, "synthetic (comp_vs_sci not found)"


class Enough(Exception):
    """As many rounds as asked for."""


def plain(Xs, Ps, *, l: int = 2, max_rounds: int | None = None):
    """SPMTC with hard weights as printed; X^t (d, n_t) dense, as in the paper.

    Returns labels by task and rounds.
    """
    X = np.hstack(Xs)
    split = np.cumsum([x.shape[1] for x in Xs])[:-1]
    v = np.ones(X.shape[1])
    W = np.eye(X.shape[0], l)
    done = 0

    def centers(P, v):
        v2 = (v**2)[:, None]
        return X @ (v2 * P) @ np.linalg.inv(P.T @ (v2 * P))

    def losses(P, v, W):
        M = W.T @ centers(P, v)
        L = []
        for x, p, w in zip(Xs, np.split(P, split), np.split(v, split)):
            w2 = (w**2)[:, None]
            own = x @ (w2 * p) @ np.linalg.inv(p.T @ (w2 * p))
            L.append(
                TRADE_OFF * ((x - own @ p.T) ** 2).sum(axis=0)
                + (1 - TRADE_OFF) * ((W.T @ x - M @ p.T) ** 2).sum(axis=0)
            )
        return L

    def one_round(P, v, W):
        nonlocal done
        M = W.T @ centers(P, v)
        new = []
        for x, p, w in zip(Xs, np.split(P, split), np.split(v, split)):
            w2 = (w**2)[:, None]
            own = x @ (w2 * p) @ np.linalg.inv(p.T @ (w2 * p))
            A = TRADE_OFF * x.T @ own + (1 - TRADE_OFF) * x.T @ W @ M
            B = TRADE_OFF * own.T @ own + (1 - TRADE_OFF) * M.T @ M
            up, down = np.maximum(A, 0) + p @ np.maximum(-B, 0), np.maximum(-A, 0) + p @ np.maximum(B, 0)
            new.append(p * np.sqrt(up / np.maximum(down, 1e-300)))
        P = np.vstack(new)
        XV, VP = X * v, v[:, None] * P
        K = XV @ XV.T - XV @ VP @ np.linalg.inv(VP.T @ VP) @ VP.T @ XV.T
        _, vectors = eigh(K, subset_by_index=(0, l - 1))
        done += 1
        if max_rounds is not None and done >= max_rounds:
            raise Enough
        return P, vectors

    def stage(P, v, W, most):
        before = None
        for _ in range(most):
            P, W = one_round(P, v, W)
            value = float(v**2 @ np.concatenate(losses(P, v, W)))
            if before is not None and before - value <= TOL * before:
                break
            before = value
        return P, W

    P = np.vstack(Ps)
    try:
        P, W = stage(P, v, W, WARM_UP)
        for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
            L = losses(P, v, W)
            v = np.concatenate([(own <= np.quantile(own, share)).astype(float) for own in L])
            P, W = stage(P, v, W, MAX_ITER)
    except Enough:
        return None, done
    return [p.argmax(axis=1) for p in np.split(P, split)], done


def accuracy(labels, truth, task) -> str:
    return "/".join(f"{100 * cs.metrics.accuracy(truth[task == t], labels[task == t]):.1f}" for t in (0, 1))


def run(max_rounds: int | None = None) -> list[dict]:
    """One row for each estimator, one for the plain code."""
    X, truth, task, what = data()
    rows = []
    for name, model in {
        "SPMTC soft": cs.SPMTC(2, random_state=0),
        "SPMTC hard": cs.SPMTC(2, weighting="hard", random_state=0),
        "LSSMTC": cs.multitask.LSSMTC(2, random_state=0),
    }.items():
        model.fit(X[:200], task=task[:200] if len(set(task[:200])) > 1 else None)  # compile
        seconds, fitted = timed(lambda model=model: model.fit(X, task=task), repeat=3)
        rows.append(
            {"data": what, "code": name, "seconds": seconds, "rounds": fitted.n_iter_, "times": 1.0}
            | {"ACC of the tasks": accuracy(fitted.labels_, truth, task)}
        )
    P = uniforms_by_key(row_keys(X), 2, np.random.default_rng(0))
    dense = [X[task == t].toarray().T for t in (0, 1)]
    start = time.perf_counter()
    found, rounds = plain(dense, [P[task == t] for t in (0, 1)], max_rounds=max_rounds)
    seconds = time.perf_counter() - start
    score = ""
    if found is not None:
        labels = np.empty(task.size, int)
        for t in (0, 1):
            labels[task == t] = found[t]
        score = accuracy(labels, truth, task)
    for row in rows:
        row["times"] = seconds / row["seconds"]
    rows.append(
        {"data": what, "code": "plain dense", "seconds": seconds, "rounds": rounds, "times": 1.0}
        | {"ACC of the tasks": score or f"(stopped after {rounds} rounds)"}
    )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=None)
    print(table(run(parser.parse_args(sys.argv[1:]).rounds)))
