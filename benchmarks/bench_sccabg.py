"""SCCABG: against row problems solved one by one, on digits, and time against the number of objects.

    python -m benchmarks.bench_sccabg                 everything
    python -m benchmarks.bench_sccabg plain growth    some parts: plain, usps, mnist, growth, missing

plain    pool_semeion (n = 1593, m = 20): the authors' algorithm with W = 1, where a plain version hands every
         object's problem (14) to scipy's L-BFGS-B, all objects in all rounds, on one thread, with the inputs
         that our own run had in that round (so its other steps, and the W problems, come free).
usps     usps11000, the paper's protocol: 20 runs of k-means with k = 10 (k = 200 in all).
mnist    mnist70000, the same.
growth   one ensemble (10,000 objects, m = 20, k = 200) repeated to n objects, each label replaced at random
         with probability 0.005: time against n and against distinct signatures u.
missing  0 to 50% of each base clustering removed, six sets: ACC of SCCABG, evidence accumulation on what is
left,
         and evidence accumulation after random filling (mean of three ensembles of 20).

Seconds are wall clock; "cpu s" adds up all threads. Peak memory is that of a process of its own.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.optimize import minimize

import consilience as cs
from consilience._kernels.runtime.threads import one_blas_thread
from consilience.consensus._bipartite import _graph as graphs
from consilience.metrics import accuracy, nmi

from ._measure import SHARED, alone, resident, table


def pool(name: str, first: int = 0, m: int = 20) -> tuple[np.ndarray, np.ndarray]:
    with np.load(SHARED / "data" / f"pool_{name}.npz") as archive:
        return archive["labels"][:, first : first + m].astype(int), archive["y"]


def clocked(call):
    start, cpu = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - start, time.process_time() - cpu, result


# Against a plain version
# --------------------------------------------------------------------------------------


def plain_row(s, y, linear, E):
    """Eq. (14) for one object with W = 1, by a generic solver."""
    laplacian = np.diag(E.sum(axis=1)) - E

    def value(s):
        pulled = laplacian @ s
        return (s - y) @ (s - y) + linear @ s + s @ pulled, 2 * (s - y) + linear + 2 * pulled

    found = minimize(
        value, s, jac=True, bounds=[(0.0, 1.0)] * s.size, options={"ftol": 1e-12, "maxiter": 1000}
    )
    return found.x


def against_plain() -> list[dict]:
    labels, truth = pool("semeion")
    settings = {
        "similarity_weight": 1e-4,
        "overlap_weight": 5e-5,
        "weighting": "none",
        "mode": "authors",
        "n_jobs": 1,
    }
    cs.SCCABG(n_clusters=10, **settings).fit(labels)  # compile
    seconds, cpu, model = clocked(lambda: cs.SCCABG(n_clusters=10, **settings).fit(labels))
    ensemble = cs.Ensemble(labels).distinct()
    graph = graphs.Graph(
        ensemble,
        similarity_weight=1e-4,
        mu=1.0,
        self_paced=False,
        missing_counts=True,
        scale_free=False,
        n_jobs=1,
    )
    rounds, spent, worst = len(model.history_) - 1, 0.0, 0.0
    # The plain version knows nothing of equal objects or equal base clusters: every object, all columns.
    Y, every = ensemble.indicator().toarray(), graph.column
    with one_blas_thread():
        for t in range(rounds):
            right, sigma, _ = graphs.update_F(graph.total, graph.copies, 10)
            settings = {"lam": 0.5, "rho": 2.0 ** (t + 1), "weigh": False, "floor": 0.0, "tol": 1e-10}
            state = graphs.State(right=right, sigma=sigma, **graph.shared() | settings)
            before = graph.rows(lambda block: block.S)
            linear = state.rho * graphs.pull_apart(before, state)
            E = 2e-4 * graph.C
            np.fill_diagonal(E, 0.0)
            E = E[every][:, every]
            graph.advance(state)
            after = graph.rows(lambda block: block.S)
            start = time.process_time()
            for i in ensemble.inverse:
                s = plain_row(before[i, every], Y[i], linear[i, every], E)
                worst = max(worst, float(np.abs(s - after[i, every]).max()))
            spent += time.process_time() - start
    n, note = labels.shape[0], f"{spent / cpu:.0f} times in CPU; S differs by {worst:.0e} at most"
    ours = {"s": seconds, "cpu s": cpu, "ACC": accuracy(truth, model.labels_), "note": note}
    return [
        {"what": f"pool_semeion, plain, {rounds} rounds", "n": n, "cpu s": spent},
        {"what": "pool_semeion, ours, the whole fit, 1 thread", "n": n, **ours},
    ]


# Digits
# -------------------------------------------------------------------------------------------------------


def digits(name: str) -> dict:
    """Fit on an ensemble made beforehand, in this process; the peak then includes the data."""
    with np.load(SHARED / "data" / f"{name}.npz") as archive:
        X, truth = archive["X"], archive["y"]
    ensemble = cs.generate.kmeans(X, n_clusterings=20, n_clusters=10, random_state=0)
    del X
    cs.SCCABG(n_clusters=10).fit(ensemble.take(np.arange(500)))  # compile
    before = resident()
    seconds, cpu, model = clocked(lambda: cs.SCCABG(n_clusters=10).fit(ensemble))
    return {
        "what": f"{name}, m=20, k=200",
        "n": ensemble.n_samples,
        "u": model.distinct_.n_samples,
        "s": seconds,
        "cpu s": cpu,
        "held before MB": before / 1e6,
        "ACC": accuracy(truth, model.labels_),
        "NMI (max)": nmi(truth, model.labels_, normalization="max"),
        "base ACC": float(np.mean([accuracy(truth, column) for column in ensemble.labels.T])),
        "note": f"{model.n_iter_} rounds, converged {model.converged_}",
    }


def measured(name: str) -> dict:
    _, peak, row = alone(digits, name)
    return row | {"peak MB": peak / 1e6}


# Growth
# -------------------------------------------------------------------------------------------------------


def repeated(n: int, seed: int = 0) -> np.ndarray:
    """n noisy copies of the rows of one synthetic ensemble."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(10, size=10_000)
    base = np.where(
        rng.random((truth.size, 20)) < 0.2, rng.integers(10, size=(truth.size, 20)), truth[:, None]
    )
    labels = base[np.arange(n) % truth.size].astype(np.int16)
    changed = rng.random(labels.shape) < 0.005
    labels[changed] = rng.integers(10, size=int(changed.sum()))
    return labels


def grown(n: int) -> dict:
    ensemble = cs.Ensemble(repeated(n))
    cs.SCCABG(n_clusters=10).fit(ensemble.take(np.arange(500)))
    seconds, cpu, model = clocked(lambda: cs.SCCABG(n_clusters=10).fit(ensemble))
    u = model.distinct_.n_samples
    note = f"{1e6 * cpu / u / model.n_iter_:.0f} us of CPU per signature and round, {model.n_iter_} rounds"
    return {"what": "growth", "n": n, "u": u, "s": seconds, "cpu s": cpu, "note": note}


def growth() -> list[dict]:
    rows = []
    for n in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        _, peak, row = alone(grown, n)
        rows.append(row | {"peak MB": peak / 1e6})
    return rows


# Missing labels
# -----------------------------------------------------------------------------------------------


def hide(labels: np.ndarray, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(labels with a share of each column removed, randomly filled labels)."""
    gone = np.zeros(labels.shape, bool)
    for j in range(labels.shape[1]):
        gone[rng.choice(labels.shape[0], int(share * labels.shape[0]), replace=False), j] = True
    gone[gone.all(axis=1), rng.integers(labels.shape[1])] = False
    filled = labels.copy()
    for j in range(labels.shape[1]):
        filled[gone[:, j], j] = rng.choice(np.unique(labels[:, j]), gone[:, j].sum())
    return np.where(gone, -1, labels), filled


def missing(names=("glioma", "lung203", "yale165", "vs", "semeion", "mf"), repeats: int = 3) -> list[dict]:
    rows = []
    for name in names:
        for share in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
            scores: dict[str, list[float]] = {
                "SCCABG": [],
                "EAC": [],
                "EAC, random filling": [],
                "filled": [],
            }
            for i in range(repeats):
                labels, truth = pool(name, 20 * i)
                c = np.unique(truth).size
                hidden, filled = hide(labels, share, np.random.default_rng(i))
                model = cs.SCCABG(n_clusters=c).fit(hidden)
                accumulation = cs.consensus.EvidenceAccumulation(n_clusters=c)
                scores["SCCABG"].append(accuracy(truth, model.labels_))
                scores["EAC"].append(accuracy(truth, accumulation.fit_predict(hidden)))
                scores["EAC, random filling"].append(accuracy(truth, accumulation.fit_predict(filled)))
                if share:
                    gone = hidden < 0
                    scores["filled"].append(float((model.filled_labels()[gone] == labels[gone]).mean()))
            means = {key: float(np.mean(value)) if value else "" for key, value in scores.items()}
            rows.append({"what": name, "missing": share} | means)
    return rows


PARTS = {
    "plain": against_plain,
    "usps": lambda: [measured("usps11000")],
    "mnist": lambda: [measured("mnist70000")],
    "growth": growth,
    "missing": missing,
}


def run(parts=("plain", "usps", "mnist", "growth")) -> list[dict]:
    """Rows with the same keys."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [row for part in parts for row in PARTS[part]()]
    keys = list(dict.fromkeys(key for row in rows for key in row))
    return [{key: row.get(key, "") for key in keys} for row in rows]


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"\n{part}\n\n{table(run((part,)))}", flush=True)
