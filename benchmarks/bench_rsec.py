"""RSEC and NRSEC against the plain algorithm on the same ensembles.

The plain algorithm takes full SVDs, eigendecompositions and n x n matrices.

100 k-means clusterings from random rows with k in [c, sqrt(n)] of the first ten objects of COIL20, of COIL20
and of 4000 MNIST digits, and 100 of 11,000 USPS digits, on which the plain algorithm is not run. Where both
run, each has one thread, and seconds are those of its processor, so that a busy machine does not count; on
USPS all cores are used, and seconds are those of all threads together. Labels (ARI 1) and objectives are
compared, these after equally many iterations: ours bounds the largest residual by norms of columns, stops
some iterations later, and in these the plain algorithm's own objective moves by up to 2e-6. On MNIST a plain
iteration takes a minute, and both stop at a looser tolerance; with --steps 2 the plain algorithm is stopped
after so many iterations and compared by the time of one.

    python -m benchmarks.bench_rsec [coil10 coil20 mnist4000 pool_usps] [--steps 2]
    python -m benchmarks.bench_rsec pools            the first 20 clusterings of every pool that the plain
                                                     algorithm manages in minutes
    python -m benchmarks.bench_rsec pools --nrsec    with NRSEC beside it, timed alone: "times" is over the
                                                     plain RSEC
    python -m benchmarks.bench_rsec profile [mnist4000]       where the time of RSEC and NRSEC goes
    python -m benchmarks.bench_rsec spared [iris tr11 ...]    what the concave penalties of NRSEC spare, and
                                                              what that moves
"""

from __future__ import annotations

import sys
import time

import numpy as np

from ._measure import SHARED, alone, table
from .reference_rsec import objective, rsec

#: Iterations of the plain algorithm; None runs it to its end.
STEPS: dict[str, int | None] = {"coil10": None, "coil20": None, "mnist4000": None}
CLUSTERS = {"coil10": 10, "coil20": 20, "mnist4000": 10, "pool_usps": 10}
#: Published pools on which the plain algorithm can be run to its end; of these, 20 clusterings are used.
SMALL_POOLS = (
    "pool_allaml",
    "pool_glioma",
    "pool_lung203",
    "pool_yale165",
    "pool_vs",
    "pool_semeion",
    "pool_mf",
    "pool_is",
)
CLUSTERS |= dict(zip(SMALL_POOLS, (2, 4, 5, 15, 4, 10, 10, 7)))
STEPS |= dict.fromkeys(SMALL_POOLS)
WEIGHTS = {"low_rank_weight": 0.5, "error_weight": 0.003}
LOOSER = {"mnist4000": {"tol": 1e-5}}


def options(name: str, method: str = "RSEC") -> dict:
    return (WEIGHTS if method == "RSEC" else {}) | LOOSER.get(name, {})


def ensemble_of(name: str):
    import consilience as cs

    data = np.load(SHARED / "data" / f"{name.replace('coil10', 'coil20')}.npz")
    if "labels" in data:
        return cs.Ensemble(data["labels"][:, : 20 if name in SMALL_POOLS else None])
    X = data["X"].astype(np.float32)
    if name == "coil10":
        X = X[data["y"] <= np.unique(data["y"])[9]]
    return cs.generate.random_k(
        X, n_clusterings=100, n_clusters=(CLUSTERS[name], None), init="random", random_state=0
    )


def ours(method: str, name: str, labels: np.ndarray, max_iter: int = 500) -> dict:
    """Seconds of computing (all threads), peak memory of the process, labels and objective."""
    import consilience as cs

    ensemble = cs.Ensemble(labels)
    small = cs.Ensemble(labels[:300])
    getattr(cs.consensus, method)(2, random_state=0, max_iter=2).fit(small)  # compile
    n_jobs = 1 if name in STEPS else None
    start, begun = time.process_time(), time.perf_counter()
    model = getattr(cs.consensus, method)(
        CLUSTERS[name], random_state=0, max_iter=max_iter, n_jobs=n_jobs, **options(name, method)
    ).fit(ensemble)
    found = {
        "seconds": time.process_time() - start,
        "elapsed": time.perf_counter() - begun,
        "iterations": model.n_iter_,
        "distinct": model.distinct_.n_samples,
        "rank": model.rank_,
        "labels": model.labels_,
    }
    if ensemble.n_samples <= 5000:
        inverse = model.distinct_.inverse
        S = ensemble.coassociation()
        found["objective"] = objective(S, model.representation_[inverse][:, inverse], *WEIGHTS.values())
    return found


def plain(name: str, labels: np.ndarray, steps: int | None) -> dict:
    """The same from the plain algorithm, labels by k-means of its H as ours are."""
    import consilience as cs
    from consilience._kernels.cut.embedding import cut_rows

    ensemble = cs.Ensemble(labels)
    start = time.process_time()
    S = ensemble.coassociation()
    once = {} if steps is None else {"max_iter": 1}
    answer = rsec(S, CLUSTERS[name], **options(name), **once)
    seconds = time.process_time() - start
    found = {"iterations": len(answer["history"]), "distinct": len(S)}
    if steps is not None:  # the time of more iterations, without what is done once
        start = time.process_time()
        answer = rsec(S, CLUSTERS[name], **options(name), max_iter=1 + steps)
        again = time.process_time() - start
        return found | {"seconds": None, "each": (again - seconds) / steps}
    seeds = np.random.default_rng(0).spawn(20)
    found["labels"] = cut_rows(answer["H"], CLUSTERS[name], unit=True, seeds=seeds).labels
    found["objective"] = objective(S, answer["Z"], *WEIGHTS.values())
    return found | {"seconds": seconds, "rank": answer["history"][-1]["rank"]}


def plain_on_one_thread(name: str, labels: np.ndarray, steps: int | None) -> dict:
    from consilience._kernels.runtime.threads import one_blas_thread

    with one_blas_thread():
        return plain(name, labels, steps)


#: Sets on which :func:`spared` looks, with what is done to their features.
SPARED: dict[str, str | None] = {
    "iris": None,
    "ionosphere": None,
    "breast_w": None,
    "yale32": None,
    "lymphoma96": None,
    "tox171": None,
    "tr23": "unit",
    "tr11": "unit",
    "wap": "unit",
    "semeion": None,
}


def spared(name: str, gamma: float = 2.0) -> dict:
    """What NRSEC's linearization about its convex answer does on one ensemble, and what a second one changes.

    "slope" and "weight" are means of (1 - sigma/gamma)_+ and of (1 - |E|/gamma)_+ (over all pairs of
    objects); "moved" is |Z - Z_convex| / |Z_convex|; ARI is between the labels without and with it.
    """
    import consilience as cs
    from reproduction.sets import load_set

    loaded = load_set(name, SHARED / "data", SPARED.get(name))
    c = loaded.n_classes
    ensemble = cs.generate.random_k(
        loaded.features, n_clusterings=100, n_clusters=(c, None), init="random", random_state=0
    )
    convex, once, twice = (
        cs.NRSEC(c, n_linearizations=steps, saturation=gamma, random_state=0, n_jobs=1).fit(ensemble)
        for steps in (1, 2, 3)
    )
    weights = np.outer(convex.distinct_.sample_weight, convex.distinct_.sample_weight)
    sigma, errors = convex.singular_values_, np.abs(convex.error_)

    def moved(model) -> float:
        step = model.representation_ - convex.representation_
        return float(np.sqrt((weights * step**2).sum() / (weights * convex.representation_**2).sum()))

    return {
        "set": name,
        "objects": errors.shape[0],
        "rank": sigma.size,
        "largest sigma": sigma.max(initial=0.0),
        "median sigma": float(np.median(sigma)),
        "spared": int((sigma >= gamma).sum()),
        "slope": float(np.maximum(1 - sigma / gamma, 0).mean()),
        "largest error": errors.max(),
        "errors spared": int((errors >= gamma).sum()),
        "weight": float(np.average(np.maximum(1 - errors / gamma, 0), weights=weights)),
        "moved": moved(once),
        "moved by two": moved(twice),
        "ARI": cs.metrics.ari(once.labels_, convex.labels_),
        "ARI of two": cs.metrics.ari(twice.labels_, convex.labels_),
        "ACC": cs.metrics.accuracy(loaded.truth, convex.labels_),
        "ACC of one": cs.metrics.accuracy(loaded.truth, once.labels_),
        "ACC of two": cs.metrics.accuracy(loaded.truth, twice.labels_),
    }


def run(names: list[str] | None = None, methods: tuple[str, ...] = ("RSEC",)) -> list[dict]:
    """One row per way; `times` is the plain algorithm's time over this way's.

    Objectives are those after equally many iterations.
    """
    from sklearn.metrics import adjusted_rand_score

    rows = []
    for name in names or [name for name in CLUSTERS if name not in SMALL_POOLS]:
        labels = np.asarray(ensemble_of(name).labels)
        _, held, slow = (
            alone(plain_on_one_thread, name, labels, STEPS[name]) if name in STEPS else (0, 0, None)
        )
        for method in methods:
            _, peak, fast = alone(ours, method, name, labels)
            if slow is not None:
                whole = slow["seconds"] or slow["each"] * fast["iterations"]
                comparable = "labels" in slow and method == "RSEC"
                same = adjusted_rand_score(slow["labels"], fast["labels"]) if comparable else ""
                off = _off(name, labels, slow, fast) if comparable else ""
                if method == methods[0]:
                    rows.append(
                        {
                            "set": name,
                            "way": "plain" if slow["seconds"] else "plain (time of one step x ours)",
                            "objects": slow["distinct"],
                            "seconds": float(whole),
                            "elapsed": "",
                            "iterations": slow["iterations"] if slow["seconds"] else "",
                            "rank": slow.get("rank", ""),
                            "peak GB": held / 1e9,
                            "times": 1.0,
                            "ARI": "",
                            "objective off by": "",
                        }
                    )
            else:
                whole, same, off = float("nan"), "", ""
            rows.append(
                {
                    "set": name,
                    "way": method,
                    "objects": fast["distinct"],
                    "seconds": fast["seconds"],
                    "elapsed": fast["elapsed"],
                    "iterations": fast["iterations"],
                    "rank": fast["rank"],
                    "peak GB": peak / 1e9,
                    "times": whole / fast["seconds"],
                    "ARI": same,
                    "objective off by": off,
                }
            )
            print(table(rows[-2:]), flush=True)
    return rows


def pools() -> list[dict]:
    """A row for every pool, RSEC, NRSEC and the plain algorithm side by side."""
    rows = run([*SMALL_POOLS, "coil20"], ("RSEC", "NRSEC"))
    found = []
    for name in dict.fromkeys(row["set"] for row in rows):
        slow, rsec, nrsec = (row for row in rows if row["set"] == name)
        found.append(
            {
                "set": name.removeprefix("pool_"),
                "u": rsec["objects"],
                "plain, CPU s": slow["seconds"],
                "RSEC, CPU s": rsec["seconds"],
                "times": rsec["times"],
                "iterations": f"{slow['iterations']} and {rsec['iterations']}",
                "rank": rsec["rank"],
                "ARI": rsec["ARI"],
                "objective off by": rsec["objective off by"],
                "peak GB, plain": slow["peak GB"],
                "peak GB": rsec["peak GB"],
                "NRSEC, CPU s": nrsec["seconds"],
                "NRSEC / RSEC": nrsec["seconds"] / rsec["seconds"],
            }
        )
    return found


def fit(name: str, method: str, labels: np.ndarray) -> dict:
    """What a user gets: every default, all cores, a process that has compiled code on disk."""
    import consilience as cs

    start, begun = time.process_time(), time.perf_counter()
    model = getattr(cs.consensus, method)(CLUSTERS[name], random_state=0).fit(labels)
    return {
        "seconds": time.perf_counter() - begun,
        "CPU s": time.process_time() - start,
        "u": model.distinct_.n_samples,
        "iterations": model.n_iter_,
        "rank": model.rank_,
        "converged": model.converged_,
    }


def large(names: tuple[str, ...] = ("mnist4000", "pool_usps")) -> list[dict]:
    """Ensembles of 100 that are too large for the plain algorithm, with defaults."""
    rows = []
    for name in names:
        labels = np.asarray(ensemble_of(name).labels)
        for method in ("RSEC", "NRSEC") if len(labels) <= 5000 else ("RSEC",):
            _, peak, found = alone(fit, name, method, labels)
            rows.append(
                {
                    "set": name.removeprefix("pool_"),
                    "n": len(labels),
                    "method": method,
                    **found,
                    "peak GB": peak / 1e9,
                }
            )
    return rows


#: Parts of RSEC and NRSEC and the functions whose time counts as theirs, by the module or class that calls
#: them there.
PARTS = {
    "singular values above the threshold": ("_lagrangian.shrink_singular_values",),
    "Z - J in the original basis, for the graph": ("_lagrangian.Frame.gap_entries",),
    "S (Z - J) in the original basis": ("_lagrangian.EntryErrors._bring_back",),
    "changes of E to the eigenbasis": (
        "_lagrangian.EntryErrors._carry_on",
        "_lagrangian.EntryErrors._refresh",
    ),
    "eigendecomposition of S, once": ("_base.every_eigenpair", "_lagrangian.every_eigenpair"),
    "passes for Z, E and the multipliers": ("_lagrangian.ColumnErrors.step", "_lagrangian.EntryErrors.step"),
    "eigenvectors for H": ("_lagrangian.update_H", "_lagrangian.solve_H"),
    "the graph from J and Z - J": ("_lagrangian.build_graph",),
    "Z, E and labels at the end": (
        "_lagrangian.Frame.original",
        "_lagrangian.ColumnErrors.error",
        "_lagrangian.EntryErrors.error",
        "_base.cut_rows",
    ),
    "certificate": ("_lagrangian.remainder_is_below",),
}


class Clocks:
    """Seconds of the processor and of the clock by part, of each what it does itself."""

    def __init__(self) -> None:
        self.spent = {part: np.zeros(2) for part in [*PARTS, "the rest"]}
        self.running = ["the rest"]
        self.last = self._now()

    @staticmethod
    def _now() -> np.ndarray:
        return np.array([time.process_time(), time.perf_counter()])

    def stop(self) -> None:
        """What has passed is of the part that runs."""
        now = self._now()
        self.spent[self.running[-1]] += now - self.last
        self.last = now

    def watch(self, part: str, function):
        def watched(*args, **options):
            self.stop()
            self.running.append(part)
            try:
                return function(*args, **options)
            finally:
                self.stop()
                self.running.pop()

        return watched


def _parts_of(name: str, method: str, labels: np.ndarray) -> dict[str, np.ndarray]:
    """CPU and clock seconds of each part. Run in a process of its own: the functions stay watched."""
    import importlib

    import consilience as cs

    build = getattr(cs.consensus, method)
    build(2, random_state=0, max_iter=2).fit(labels[:300])  # compile
    clocks = Clocks()
    for part, places in PARTS.items():
        for place in places:
            module, *owner, function = place.split(".")
            home = importlib.import_module(f"consilience.consensus._lowrank.{module}")
            home = getattr(home, owner[0]) if owner else home
            setattr(home, function, clocks.watch(part, getattr(home, function)))
    clocks.last = clocks._now()
    build(CLUSTERS[name], random_state=0).fit(labels)
    clocks.stop()
    return clocks.spent | {"all": sum(clocks.spent.values())}


def profile(name: str = "mnist4000") -> list[dict]:
    """Where the time goes, with every default: CPU and clock seconds by part, the largest first."""
    labels = np.asarray(ensemble_of(name).labels)
    found = {method: alone(_parts_of, name, method, labels)[2] for method in ("RSEC", "NRSEC")}
    parts = sorted([*PARTS, "the rest"], key=lambda part: -found["NRSEC"][part][0])
    return [
        {
            "part": part,
            **{f"{method}, CPU s": float(spent[part][0]) for method, spent in found.items()},
            **{f"{method}, s": float(spent[part][1]) for method, spent in found.items()},
        }
        for part in [*parts, "all"]
    ]


def _off(name: str, labels: np.ndarray, slow: dict, fast: dict) -> float:
    """Relative distance of RSEC's objective from the plain one.

    Both have done as many iterations as the plain one took.
    """
    if fast["iterations"] > slow["iterations"]:
        _, _, fast = alone(ours, "RSEC", name, labels, slow["iterations"])
    return abs(fast["objective"] / slow["objective"] - 1)


if __name__ == "__main__":
    chosen = sys.argv[1:]
    if chosen[:1] == ["spared"]:
        print(table([spared(name) for name in chosen[1:] or SPARED]))
        sys.exit()
    if chosen[:1] == ["profile"]:
        print(table(profile(*chosen[1:])))
        sys.exit()
    if "--steps" in chosen:
        at = chosen.index("--steps")
        STEPS.update({name: int(chosen[at + 1]) for name in STEPS})
        del chosen[at : at + 2]
    both = ("RSEC", "NRSEC") if "--nrsec" in chosen else ("RSEC",)
    names = [
        name for word in chosen if word != "--nrsec" for name in (SMALL_POOLS if word == "pools" else [word])
    ]
    print(table(run(names or None, both)))
