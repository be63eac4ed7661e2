"""With little memory left, what needs much is refused beforehand, in our words and with a way around it."""

from __future__ import annotations

import json
import sys

import pytest

from .children import run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of a process as Linux has them")

# Small fits first, which compile and load what is needed; then everything that grows with the square of the
# objects, with 60 MB of address space to go.
LITTLE_MEMORY = """
import json, resource, sys, warnings
import numpy as np
from tests.zoo import random_sparse
import consilience as cs

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)


def attempts(n):
    labels = np.stack([rng.integers(0, max(3, n // 40), n) for _ in range(5)], axis=1)
    holes = np.where(rng.random(labels.shape) < 0.2, -1, labels)
    holes[:, 0] = labels[:, 0]
    X = rng.random((n, 3))
    sparse = random_sparse((n, n // 2), min(1, 12 / n))
    few = {"n_init": 1, "max_iter": 2}
    return {
        "EvidenceAccumulation": lambda: cs.consensus.EvidenceAccumulation(3, n_jobs=1).fit(labels),
        "SPCE": lambda: cs.SPCE(3, threshold=0.2, n_jobs=1).fit(labels % 9),
        "RSEC": lambda: cs.RSEC(3, n_jobs=1, **few).fit(labels),
        "NRSEC": lambda: cs.NRSEC(3, n_jobs=1, **few).fit(labels),
        "SCCABG": lambda: cs.SCCABG(3, n_jobs=1, max_iter=2).fit(labels),
        "LWEA": lambda: cs.consensus.LWEA(3, n_jobs=1).fit(labels),
        "LWSC": lambda: cs.consensus.LWSC(3, n_init=1, n_jobs=1).fit(holes),
        "spectral": lambda: cs.generate.spectral(X, n_clusters=3, bandwidths=[1.0], random_state=0, n_jobs=1),
        "metric_subspace": lambda: cs.generate.metric_subspace(
            sparse, n_clusterings=1, metric="correlation", random_state=0, n_jobs=1
        ),
        "coassociation": lambda: cs.Ensemble(labels).coassociation(n_jobs=1),
        "cooccurrence_counts": lambda: cs.Ensemble(labels).cooccurrence_counts(),
    }


for call in attempts(60).values():
    call()
large = attempts(int(sys.argv[1]))
with open("/proc/self/statm") as handle:
    used = int(handle.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60_000_000,) * 2)
found = {}
for name, call in large.items():
    try:
        call()
        found[name] = "done"
    except BaseException as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def refusals() -> dict[str, str]:
    return json.loads(run(LITTLE_MEMORY, 6000, seconds=300))


DENSE = (
    "EvidenceAccumulation",
    "SPCE",
    "RSEC",
    "NRSEC",
    "SCCABG",
    "LWEA",
    "LWSC",
    "spectral",
    "metric_subspace",
    "coassociation",
    "cooccurrence_counts",
)


@pytest.mark.parametrize("name", DENSE)
def test_refused_beforehand(refusals, name):
    assert refusals[name].startswith("NotEnoughMemoryError: "), refusals[name]
    assert " use " in refusals[name] or " select" in refusals[name]
