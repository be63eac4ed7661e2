"""Baselines: consensus functions against plain numpy versions of the same, and on a million objects.

    python -m benchmarks.bench_baselines             everything
    python -m benchmarks.bench_baselines plain       only rows whose case starts with this word

plain      2,000 x 20 labels (Multiple Features: 714 distinct rows, 508 base clusters), CPU seconds of one
           thread, against the method written down plainly for all objects: a dense matrix of pairs (CSPA,
           SEC, WEAC, ECPCS, PTA, PTGP, NMFC, DREC, CESHL), one for each clustering (RCE, TRCE), of objects
           and clusters (HBGF, LCE, PTGP), or of objects by base clusters (the others), with as many starts.
           The plain RCE and CESHL are measured for two rounds, and the second counted for all others that
           ours took. Plain PTA and PTGP walk among all objects, of which equal ones are then each other's
           neighbors: another graph, and another answer. MCLA and ECPCS-MC have no matrix of pairs of objects,
           however plainly they are written: at 2,000 objects both sides are busy with 508 x 508 base
           clusters, and what ours saves is in the passes over the objects.
larger     The same for these and Voting on 20,000 x 20 labels (Letter Recognition: 1,472 base clusters).
million    1,000,000 x 20 synthetic labels: 10 planted clusters, members of 5 to 15, one label in five
           scrambled, so that all rows differ. In a process of its own: peak GB holds the labels too (0.16
           GB).

NMI is by the larger entropy.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from . import reference_methods
from ._measure import SHARED, alone, table
from .reference_methods import best_k_means, indicator, starts_of

LINEAR = ("HBGF", "MCLA", "SEC", "KCC", "ECC", "Voting", "MixtureConsensus", "ECPCS-MC", "NMFC")
#: Settings in which a method is measured, beside the defaults; a variant has a name of its own.
SETTINGS = {"Voting": {"algorithm": "iterative"}, "ECPCS-MC": {"variant": "mc"}}


#: Whose plain versions take too long to be measured whole, and have rounds of equal work.
IN_ROUNDS = ("RCE", "CESHL")


def pool(name: str = "mf") -> tuple[np.ndarray, np.ndarray]:
    file = SHARED / "data" / f"pool_{name}.npz"
    if file.is_file():
        with np.load(file) as held:
            return held["labels"][:, :20], held["y"]
    return synthetic({"mf": 2_000, "lr": 20_000}[name])


def synthetic(n: int, m: int = 20, c: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, c, n)
    labels = np.empty((n, m), np.int32)
    for j in range(m):
        k = int(rng.integers(c // 2, 3 * c // 2 + 1))
        column = rng.permutation(max(k, c))[truth] % k
        noisy = rng.random(n) < 0.2
        column[noisy] = rng.integers(0, k, noisy.sum())
        labels[:, j] = column
    return labels, truth


# Plain versions, on all objects
# ------------------------------------------------------------------------------


def plain_cspa(labels: np.ndarray, c: int) -> np.ndarray:
    Y = indicator(labels)
    A = Y @ Y.T / labels.shape[1]
    root = 1 / np.sqrt(A.sum(axis=1))
    return best_k_means(np.linalg.eigh(root[:, None] * A * root)[1][:, -c:], c)


def plain_hbgf(labels: np.ndarray, c: int) -> np.ndarray:
    Y = indicator(labels)
    n, k = Y.shape
    G = np.block([[np.zeros((n, n)), Y], [Y.T, np.zeros((k, k))]])
    root = 1 / np.sqrt(G.sum(axis=1))
    return best_k_means(np.linalg.eigh(root[:, None] * G * root)[1][:n, -c:], c)


def plain_mcla(labels: np.ndarray, c: int) -> np.ndarray:
    Y = indicator(labels)
    K = Y.T @ Y
    J = K / (np.add.outer(np.diag(K), np.diag(K)) - K)
    root = 1 / np.sqrt(J.sum(axis=1))
    groups = best_k_means(np.linalg.eigh(root[:, None] * J * root)[1][:, -c:], c)
    return np.stack([Y[:, groups == j].mean(axis=1) for j in range(c)], 1).argmax(axis=1)


def plain_sec(labels: np.ndarray, c: int) -> np.ndarray:
    """Weighted kernel k-means of the matrix of pairs."""
    Y = indicator(labels)
    S = Y @ Y.T
    d = S.sum(axis=1)

    def loss(R: np.ndarray) -> np.ndarray:
        SR, volumes = S @ R, np.maximum(d @ R, 1e-300)
        inside = np.einsum("pj,pj->j", R, SR) / volumes**2
        return inside - 2 * SR / (d[:, None] * volumes) + (np.diag(S) / d**2)[:, None]

    return _lloyd(loss, len(labels), c, d)


def _lloyd(loss: Any, n: int, c: int, mass: np.ndarray | float = 1.0) -> np.ndarray:
    best, least = None, np.inf
    for start in range(10):
        groups, before = np.random.default_rng(start).integers(0, c, n), np.inf
        for _ in range(100):
            costs = loss(np.eye(c)[groups])
            now = float((mass * costs[np.arange(n), groups]).sum())
            groups = costs.argmin(axis=1)
            if before - now <= 1e-6 * abs(now):
                break
            before = now
        if now < least:
            best, least = groups, now
    assert best is not None
    return best


def _shares(Y: np.ndarray, R: np.ndarray, starts: np.ndarray) -> np.ndarray:
    T = Y.T @ R + 1e-12
    return T / np.repeat(np.add.reduceat(T, starts, axis=0), np.diff([*starts, len(T)]), axis=0)


def plain_kcc(labels: np.ndarray, c: int) -> np.ndarray:
    Y, starts = indicator(labels), starts_of(labels)

    def loss(R: np.ndarray) -> np.ndarray:
        M = _shares(Y, R, starts)
        return (M**2).sum(axis=0) - 2 * Y @ M + labels.shape[1]

    return _lloyd(loss, len(labels), c)


def plain_ecc(labels: np.ndarray, c: int) -> np.ndarray:
    Y, starts = indicator(labels), starts_of(labels)
    return _lloyd(lambda R: -(Y @ np.log2(_shares(Y, R, starts))), len(labels), c)


def plain_voting(labels: np.ndarray, c: int) -> np.ndarray:
    Y, starts = indicator(labels), starts_of(labels)
    ends = [*starts[1:], Y.shape[1]]

    def loss(R: np.ndarray) -> np.ndarray:
        T = Y.T @ R
        same = np.zeros(T.shape)
        for first, last in zip(starts, ends):
            same[first + T[first:last].argmax(axis=0), np.arange(c)] = 1
        return 1 - Y @ same / labels.shape[1]

    return _lloyd(loss, len(labels), c)


def plain_mixture(labels: np.ndarray, c: int) -> np.ndarray:
    from scipy.special import logsumexp

    Y, starts = indicator(labels), starts_of(labels)
    best, most = None, -np.inf
    for start in range(10):
        R, before = np.random.default_rng(start).dirichlet(np.ones(c), len(labels)), -np.inf
        for _ in range(500):
            logs = np.log(R.mean(axis=0)) + Y @ np.log(_shares(Y, R, starts))
            sums = logsumexp(logs, axis=1)
            R = np.exp(logs - sums[:, None])
            if sums.mean() - before <= 1e-7 * abs(sums.mean()):
                break
            before = sums.mean()
        if before > most:
            best, most = R.argmax(axis=1), before
    assert best is not None
    return best


def plain_bce(labels: np.ndarray, c: int) -> np.ndarray:
    """Fifty rounds, about as many as ours takes, from each of five starts.

    alpha is held fixed and no bound is computed.
    """
    from scipy.special import psi

    Y, starts = indicator(labels), starts_of(labels)
    codes = np.stack(
        [first + np.unique(labels[:, i], return_inverse=True)[1] for i, first in enumerate(starts)], axis=1
    )
    g = np.empty(0)
    for start in range(5):
        b = _shares(Y, np.random.default_rng(start).dirichlet(np.ones(c), len(labels)), starts)
        g = np.full((len(labels), c), 1 / c + labels.shape[1] / c)
        for _ in range(50):
            likely = b[codes]
            for _ in range(100):
                phi = np.exp(psi(g))[:, None, :] * likely
                phi /= phi.sum(axis=2, keepdims=True)
                before, g = g, 1 / c + phi.sum(axis=1)
                if np.abs(g - before).max() < 1e-4:
                    break
            T = np.zeros(b.shape)
            np.add.at(T, codes, phi)
            T += 1e-6
            b = T / np.repeat(np.add.reduceat(T, starts, axis=0), np.diff([*starts, len(T)]), axis=0)
    return g.argmax(axis=1)


PLAIN = {
    "CSPA": plain_cspa,
    "HBGF": plain_hbgf,
    "MCLA": plain_mcla,
    "SEC": plain_sec,
    "KCC": plain_kcc,
    "ECC": plain_ecc,
    "Voting": plain_voting,
    "MixtureConsensus": plain_mixture,
    "BCE": plain_bce,
    **reference_methods.PLAIN,
}


# Cases
# -------------------------------------------------------------------------------------------------------


def build(name: str, c: int, **more: Any) -> Any:
    import consilience as cs

    cls = getattr(cs.consensus, name.partition("-")[0])
    seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    return cls(c, **seed, **SETTINGS.get(name, {}), **more)


def nmi(labels: np.ndarray, truth: np.ndarray) -> str:
    import consilience as cs

    return f"{cs.metrics.scores(truth, labels)['nmi_max']:.3f}"


def time_plain(name: str, labels: np.ndarray, c: int, rounds: int) -> tuple[float, np.ndarray | None]:
    """(CPU seconds, labels): without labels where only two of its ``rounds`` were run."""

    def timed(**more: int) -> tuple[float, np.ndarray]:
        start = time.process_time()
        found = PLAIN[name](labels, c, **more)
        return time.process_time() - start, found

    if name not in IN_ROUNDS:
        return timed()
    one, two = timed(rounds=1)[0], timed(rounds=2)[0]
    return one + (rounds - 1) * (two - one), None


def plain(name: str, file: str = "mf") -> dict:
    from consilience._kernels.runtime.threads import one_blas_thread

    labels, truth = pool(file)
    c = np.unique(truth).size
    build(name, 2, n_jobs=1).fit(labels[:200])
    model = build(name, c, n_jobs=1)
    start = time.process_time()
    found = model.fit_predict(labels)
    ours = time.process_time() - start
    with one_blas_thread():
        theirs, other = time_plain(name, labels, c, model.n_iter_)
    return {
        "case": f"{'plain' if file == 'mf' else 'larger'}: {name}",
        "objects": len(labels),
        "CPU": ours,
        "their CPU": theirs,
        "CPU ratio": theirs / ours,
        "NMI": nmi(found, truth),
        "their NMI": "" if other is None else nmi(other, truth),
    }


def larger(name: str) -> dict:
    return plain(name, "lr")


def fit_million(name: str) -> tuple[float, float, int, str]:
    small, _ = synthetic(2000)
    build(name, 10).fit(small)
    labels, truth = synthetic(1_000_000)
    begun, worked = time.perf_counter(), time.process_time()
    model = build(name, 10).fit(labels)
    used = time.perf_counter() - begun, time.process_time() - worked
    return *used, model.distinct_.n_samples, nmi(model.labels_, truth)


def million(name: str) -> dict:
    _, held, (seconds, worked, distinct, score) = alone(fit_million, name)
    return {
        "case": f"million: {name} ({distinct} distinct)",
        "objects": 1_000_000,
        "seconds": seconds,
        "CPU": worked,
        "peak GB": held / 1e9,
        "NMI": score,
    }


CASES = {
    "plain": (plain, tuple(PLAIN)),
    "larger": (larger, ("MCLA", "ECPCS-MC", "Voting")),
    "million": (million, LINEAR),
}
HEADS = ("case", "objects", "seconds", "CPU", "their CPU", "CPU ratio", "peak GB", "NMI", "their NMI")


def run(wanted: str = "") -> list[dict]:
    rows = []
    for case, (measure, names) in CASES.items():
        for name in names:
            if f"{case} {name}".startswith(wanted):
                found = measure(name)
                rows.append({head: found.get(head, "") for head in HEADS})
                print(table(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    os.environ.setdefault("CONSILIENCE_SHARED", str(SHARED))
    print(table(run(" ".join(sys.argv[1:]))))
