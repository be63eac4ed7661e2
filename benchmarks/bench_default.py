"""The time a user waits for ``ConsensusClustering(c).fit(X)`` with defaults, from the first object to labels.

    python -m benchmarks.bench_default                  all but the largest
    python -m benchmarks.bench_default digits mnist     only cases whose name starts with one of these words
    python -m benchmarks.bench_default ten              the largest, 10^7 objects, which is not among "all"

Each case runs in a process of its own, with as many threads as there are cores. "load" is the mean number of
processes that wanted a core in the last minute, as the run ended: where it is above the number of cores, CPU
seconds are the fairer figure. "GB" is the most that the process held, X included. Real data come from beside
the checkout (CONSILIENCE_SHARED, or ../shared); a case without its data is left out. Blobs: twenty normal
clusters and one object in fifty uniform noise, float32. Sheets: ten curved surfaces that touch each other, of
unequal sizes, whose nearest neighbors tell them apart and whose means do not.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from ._measure import SHARED, alone, table

#: name -> (data, objects, features, clusters, seconds and GB to stay within on two free cores)
CASES = {
    "digits": ("digits", 1_797, 64, 10, 2, None),
    "usps11000": ("usps11000", 11_000, 256, 10, None, None),
    "usps, 10,000 of them": ("usps11000", 10_000, 256, 10, 15, None),
    "sheets": ("sheets", 10_000, 16, 10, 15, None),
    "mnist70000": ("mnist70000", 70_000, 784, 10, 90, 3),
    "million": ("blobs", 10**6, 16, 20, 30, None),
    "ten million": ("blobs", 10**7, 16, 20, 600, 12),
}


def blobs(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, (c, d)).astype(np.float32)
    y = rng.integers(c, size=n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X *= 2.0
    X += centers[y]
    noise = rng.random(n) < 0.02
    X[noise] = rng.uniform(-12, 12, (int(noise.sum()), d))
    return X, y


def sheets(n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.choice(c, n, p=rng.dirichlet(np.full(c, 3.0)))
    X = np.empty((n, d))
    for cluster in range(c):
        place = rng.uniform(-1, 1, ((y == cluster).sum(), 2))  # on the surface
        waves, phases = rng.normal(0, 1.6, (2, 6)), rng.uniform(0, 2 * np.pi, 6)
        X[y == cluster] = np.sin(place @ waves + phases) @ rng.normal(0, 0.57, (6, d)) + rng.normal(
            0, 0.33, d
        )
    return X + rng.normal(0, 0.16, X.shape), y


def data(name: str, n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "blobs":
        return blobs(n, d, c)
    if name == "sheets":
        return sheets(n, d, c)
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    with np.load(SHARED / "data" / f"{name}.npz") as held:
        X, y = held["X"], held["y"].ravel()
    chosen = np.sort(np.random.default_rng(0).choice(len(X), n, replace=False))
    return X[chosen], y[chosen]


def fit(name: str, n: int, d: int, c: int, seed: int = 0) -> dict:
    """One row, measured here."""
    import consilience as cs
    from consilience.metrics import scores

    X, y = data(name, n, d, c)
    wall, cpu = time.perf_counter(), time.process_time()
    model = cs.ConsensusClustering(c, random_state=seed).fit(X)
    row = {"seconds": time.perf_counter() - wall, "CPU": time.process_time() - cpu}
    found = scores(y, model.labels_)
    plan = f"{model.plan_.generator}, {model.plan_.method}"
    return row | {
        "load": os.getloadavg()[0],
        "NMI": found["nmi"],
        "ACC": found["accuracy"],
        "plan": plan,
    }


def run(words: list[str] | None = None):
    for case, (name, n, d, c, seconds, gigabytes) in CASES.items():
        if not any(case.startswith(word) for word in words) if words else case == "ten million":
            continue
        if name not in ("digits", "blobs", "sheets") and not (SHARED / "data" / f"{name}.npz").is_file():
            continue
        _, held, row = alone(fit, name, n, d, c)
        wanted = " and ".join(
            f"{value} {unit}" for value, unit in ((seconds, "s"), (gigabytes, "GB")) if value
        )
        yield {"case": case, "objects": f"{n:,} x {d}", **row, "GB": held / 1e9, "wanted": wanted}


if __name__ == "__main__":
    print(table(run(sys.argv[1:])))
