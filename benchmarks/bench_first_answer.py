"""From `python` to labels: a new process that finds nothing compiled, and one that finds everything.

    python -m benchmarks first-answer

The checkout, a wheel with compiled kernels if dist/ has one for this Python (`make wheel`), and scikit-learn,
hdbscan, fast_hdbscan and umap-learn, as far as the Python that CONSILIENCE_OTHERS names has them.

Each answer is that of a process of its own; CPU seconds of this process and its children, imports included,
and how many times those of scikit-learn's KMeans in the same run.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile

from ._measure import ROOT, table

DATA = """
import numpy as np
from sklearn.datasets import load_digits, load_iris
def few_labels():
    rng = np.random.default_rng(0)
    labels = np.tile(np.arange(300)[:, None] % 3, (1, 10))
    mixed = rng.random(labels.shape) < 0.2
    labels[mixed] = rng.integers(0, 4, mixed.sum())
    return labels
"""
IRIS = DATA + "X = load_iris(return_X_y=True)[0]; k = 3\n"
DIGITS = DATA + "X = load_digits(return_X_y=True)[0]; k = 10\n"
OURS = "import consilience as cs; found = cs.ConsensusClustering(k, random_state=0).fit_predict(X)\n"
KMEANS = "from sklearn.cluster import KMeans; found = KMeans(k, random_state=0).fit_predict(X)\n"
COMPILED = """
import json, sys
module = sys.modules.get("consilience._kernels.compile.cached")
print(json.dumps([len(found), module.times_compiled() if module else None]))
"""
CASES = {
    ("iris", "consilience"): IRIS + OURS,
    ("digits", "consilience"): DIGITS + OURS,
    ("300 x 10 labels", "consilience, LWGP"): DATA
    + "import consilience as cs; found = cs.consensus.LWGP(3, random_state=0).fit_predict(few_labels())\n",
}
#: What is called beside ours, and what it needs.
OTHERS = {
    "scikit-learn KMeans": ("sklearn", KMEANS),
    "hdbscan": ("hdbscan", "import hdbscan; found = hdbscan.HDBSCAN().fit_predict(X)\n"),
    "fast_hdbscan": ("fast_hdbscan", "import fast_hdbscan; found = fast_hdbscan.HDBSCAN().fit_predict(X)\n"),
    "umap-learn + hdbscan": (
        "umap",
        "import hdbscan, umap; U = umap.UMAP(random_state=0).fit_transform(X); "
        "found = hdbscan.HDBSCAN().fit_predict(U)\n",
    ),
}


def timed(code: str, python: str, cache: str, path: str) -> tuple[float, int | None]:
    """CPU seconds of a process that runs ``code``, and how often it compiled a kernel of ours."""
    env = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": path}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([python, "-c", code + COMPILED], env=env, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, json.loads(done.stdout.splitlines()[-1])[1]


def first_and_second(code: str, python: str, path: str) -> dict:
    """A new process with an empty folder of compiled code, and another with what the first has left."""
    with tempfile.TemporaryDirectory() as cache:
        first, compiled = timed(code, python, cache, path)
        second, _ = timed(code, python, cache, path)
    return {"first, CPU s": first, "compiled": compiled, "second, CPU s": second}


def has(python: str, module: str) -> bool:
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code]).returncode == 0


def run() -> list[dict]:
    here, python = str(ROOT / "src"), os.environ.get("CONSILIENCE_OTHERS", sys.executable)
    name = f"*-cp{sys.version_info.major}{sys.version_info.minor}-*.whl"
    wheel = next(iter((ROOT / "dist").glob(name)), None)
    rows = []
    with tempfile.TemporaryDirectory() as unpacked:
        for (data, what), code in CASES.items():
            rows.append(
                {"data": data, "what": f"{what}, checkout"} | first_and_second(code, sys.executable, here)
            )
        if wheel is not None:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
            for (data, what), code in CASES.items():
                row = first_and_second(code, sys.executable, unpacked)
                rows.append({"data": data, "what": f"{what}, wheel"} | row)
        for what, (module, call) in OTHERS.items():
            if not has(python, module):
                continue
            for data, code in (("iris", IRIS), ("digits", DIGITS)):
                rows.append({"data": data, "what": what} | first_and_second(code + call, python, ""))
    reference = {row["data"]: row["first, CPU s"] for row in rows if row["what"] == "scikit-learn KMeans"}
    for row in rows:
        row["times KMeans"] = row["first, CPU s"] / reference.get(row["data"], reference["iris"])
    return rows


if __name__ == "__main__":
    print(table(run()))
