"""Whether a change left every answer as it was: labels of all methods on real base clusterings.

    python -m benchmarks.answers --write before.json      # at the old state
    python -m benchmarks.answers --compare before.json    # at the new one; exit code 1 where an answer
                                                          differs

Each pool of the reference data is read with its first 20 base clusterings; pools of more than ``--rows``
objects are thinned evenly, and fast methods also see the whole pool. An answer is the digest of ``labels_``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from consilience.consensus import methods

from ._measure import SHARED

SEEDS = (0, 1)
CLUSTERINGS = 20
#: Methods that take less than a minute on the largest pool.
FAST = (
    "LWGP",
    "HBGF",
    "LCE",
    "MCLA",
    "SEC",
    "KCC",
    "ECC",
    "Voting",
    "SoftVote",
    "LWSC",
    "LWEA",
    "MixtureConsensus",
)


def pools(rows: int) -> Iterator[tuple[str, np.ndarray, int, bool]]:
    """(name, labels, number of classes, whether it is whole) of each pool, thinned and whole."""
    for path in sorted((SHARED / "data").glob("pool_*.npz")):
        data = np.load(path)
        labels, k = data["labels"][:, :CLUSTERINGS], len(np.unique(data["y"]))
        name = path.stem.removeprefix("pool_")
        if len(labels) > rows:
            yield f"{name}-{rows}", labels[np.linspace(0, len(labels) - 1, rows).astype(int)], k, False
        yield name, labels, k, len(labels) > rows


def answer(cls: Any, labels: np.ndarray, k: int, seed: int) -> str:
    """The digest of the labels, or the name of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cls(n_clusters=k)
            if "random_state" in model.get_params():
                model.set_params(random_state=seed)
            found = np.ascontiguousarray(model.fit(labels).labels_, dtype=np.int64)
    except (ValueError, MemoryError) as error:
        return type(error).__name__
    return hashlib.sha256(found.tobytes()).hexdigest()[:16]


def answers(rows: int, only: list[str]) -> dict[str, str]:
    """Digest by ``pool/method/seed``."""
    found = {}
    for pool, labels, k, large in pools(rows):
        start = time.perf_counter()
        for cls in methods().values():
            if (only and cls.__name__ not in only) or (large and cls.__name__ not in FAST):
                continue
            for seed in SEEDS:
                found[f"{pool}/{cls.__name__}/{seed}"] = answer(cls, labels, k, seed)
        print(f"{pool}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Write the answers, or compare them with those that were written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    parser.add_argument("--rows", type=int, default=300, help="objects of a thinned pool")
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD")
    args = parser.parse_args()
    found = answers(args.rows, args.only)
    if args.write:
        args.write.write_text(json.dumps(found, indent=0) + "\n", "utf-8")
    if not args.compare:
        return 0
    former = json.loads(args.compare.read_text("utf-8"))
    other = sorted(key for key in found if key in former and found[key] != former[key])
    print(f"{len(found)} answers, {len(other)} differ", *other, sep="\n")
    return int(bool(other))


if __name__ == "__main__":
    sys.exit(main())
