"""Cluster handwritten digits: k-means, the library's default and its five published systems in one table, and
a page.

The data set (images of digits, 64 pixels) comes with scikit-learn. Nothing here uses the true digits until
the scores are printed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import consilience as cs
from consilience._warmup.first_use import compiling_beside

OUT = Path("demo")
#: Few enough for every method to be done in seconds.
N = 600


def of_two_tasks(X: np.ndarray) -> np.ndarray:
    """The first half of the images and the second, by other writers, are two tasks.

    Clusters are numbered alike.
    """
    tasks = np.arange(len(X)) * 2 // len(X)
    return cs.SPMTC(n_clusters=10, random_state=0).fit(X, task=tasks).labels_


def show(ways: dict[str, Callable[[], np.ndarray]], digits: np.ndarray) -> None:
    """Scores and seconds of each way, as soon as it is done."""
    print(f"{'':20}  ACC    NMI    ARI   seconds")
    for name, fit in ways.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what did not converge is on the page of each method
            labels = fit()
        seconds = time.perf_counter() - start
        found = cs.metrics.scores(digits, labels)
        print(
            f"{name:20} {found['accuracy']:.3f}  {found['nmi']:.3f}  {found['ari']:.3f}  {seconds:6.1f}",
            flush=True,
        )


def main() -> None:
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:N], digits[:N]
    print(f"{N} images of handwritten digits, {X.shape[1]} pixels each (bundled with scikit-learn)\n")

    default = cs.ConsensusClustering(n_clusters=10, random_state=0)
    ways = {
        "k-means, best of 10": lambda: KMeans(10, n_init=10, random_state=0).fit(X).labels_,
        "ConsensusClustering": lambda: default.fit(X).labels_,
        "MDEC": lambda: cs.MDEC(10, n_clusterings=50, random_state=0).fit(X).labels_,
        "SPCE": lambda: cs.SPCE(10).fit(default.ensemble_).labels_,
        "SCCABG": lambda: cs.SCCABG(10).fit(default.ensemble_).labels_,
        "RSEC": lambda: cs.RSEC(10, random_state=0).fit(default.ensemble_).labels_,
        "SPMTC, two tasks": lambda: of_two_tasks(X),
    }
    # Nothing is compiled on a new machine: say how long that takes, and let a second process help.
    with compiling_beside(
        ["ConsensusClustering", "MDEC", "SPCE", "SCCABG", "RSEC", "SPMTC", "measures"], print
    ):
        show(ways, digits)
    print(
        "\nSPCE, SCCABG and RSEC combine the base clusterings that the default made. The seconds of a "
        "first run include compiling."
    )

    OUT.mkdir(exist_ok=True)
    cs.io.write_labels(default.labels_, OUT / "labels.csv", confidence=default.confidence_)
    print(f"{(default.confidence_ < 0.6).sum()} images are doubtful (confidence below 0.6).")
    print(f"Labels and confidence of every image: {OUT / 'labels.csv'}")
    page = cs.report(default, X, path=OUT / "report.html", labels_true=digits, source="handwritten digits")
    print(f"The whole story, in your browser: {page.path.resolve().as_uri()}")


if __name__ == "__main__":
    main()
