"""The five published systems, each on a problem like those of its paper, beside plain k-means; and a page.

Images of digits come with scikit-learn. The multi-task problem is the documentation of numpy and scipy that
is on this machine: four subjects, described by two projects. Nothing here uses the truth before scores are
printed.
"""

from __future__ import annotations

import importlib
import inspect
import re
import time
import warnings
from collections import Counter
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
#: Subject: the modules of numpy and scipy about it.
SUBJECTS = {
    "linear algebra": ("numpy.linalg", "scipy.linalg"),
    "Fourier transforms": ("numpy.fft", "scipy.fft"),
    "chance": ("numpy.random", "scipy.stats"),
    "curves": ("numpy.polynomial.polynomial", "scipy.interpolate"),
}
#: Texts of a subject that are taken of each project: numpy is the small task.
MOST = 20, 60


def texts(module: str, most: int) -> list[str]:
    """The first longer texts about public names of a module."""
    names = importlib.import_module(module)
    found = {
        inspect.getdoc(thing): None
        for name, thing in sorted(vars(names).items())
        if not name.startswith("_") and callable(thing) and len(inspect.getdoc(thing) or "") >= 300
    }
    return [text for text in found if text][:most]


def documentation() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Counts of words of numpy's and of scipy's texts, and the subjects of each."""
    of_tasks = [[texts(pair[t], MOST[t]) for pair in SUBJECTS.values()] for t in (0, 1)]
    subjects = [np.repeat(np.arange(4), [len(own) for own in groups]) for groups in of_tasks]
    words = [
        [Counter(re.findall("[a-z]{3,}", text.lower())) for own in groups for text in own]
        for groups in of_tasks
    ]
    texts_with = Counter(word for task in words for counts in task for word in counts)
    # Words of a single text tell nothing, nor do words that most texts have.
    most = sum(map(len, words)) / 2
    known = sorted(word for word, n in texts_with.items() if 2 <= n <= most)
    return [
        np.array([[counts[word] for word in known] for counts in task], float) for task in words
    ], subjects


def heading(text: str) -> None:
    print(f"\n{text}\n{'':34}  ACC    ARI   seconds")


def show(name: str, truth: list[np.ndarray], fit: Callable[[], list[np.ndarray]]) -> None:
    """Mean scores over tasks, and seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what did not converge is on the page of each method
        labels = fit()
    line(name, truth, labels, f"{time.perf_counter() - start:6.1f}")


def line(name: str, truth: list[np.ndarray], labels: list[np.ndarray], seconds: str = "") -> None:
    found = [cs.metrics.scores(*each) for each in zip(truth, labels)]
    means = [np.mean([one[measure] for one in found]) for measure in ("accuracy", "ari")]
    print(f"{name:34} {means[0]:.3f}  {means[1]:.3f}  {seconds}", flush=True)


def show_members(ensemble: cs.Ensemble, truth: np.ndarray) -> None:
    """The yardsticks: what its base clusterings reach on average, and the best of them by the truth."""
    found = [cs.metrics.scores(truth, column) for column in ensemble.labels.T]
    for name, of in (("mean base clustering", np.mean), ("best base clustering, by the truth", np.max)):
        print(f"{name:34} {of([s['accuracy'] for s in found]):.3f}  {of([s['ari'] for s in found]):.3f}")


def show_digits(X: np.ndarray, digits: np.ndarray) -> None:
    """Four systems on images of digits."""
    truth = [digits]
    heading(f"{N} images of digits, {X.shape[1]} pixels each. 100 k-means of 10 to {N**0.5:.0f} clusters:")
    many = cs.generate.random_k(X, n_clusterings=100, n_clusters=(10, None), init="random", random_state=0)
    show_members(many, digits)
    show("RSEC", truth, lambda: [cs.RSEC(10, random_state=0).fit(many).labels_])

    heading("20 k-means of 10 clusters, as SPCE and SCCABG were published with:")
    few = cs.generate.kmeans(X, n_clusterings=20, n_clusters=10, init="random", random_state=0)
    show_members(few, digits)
    show("SPCE", truth, lambda: [cs.SPCE(10).fit(few).labels_])
    show("SCCABG", truth, lambda: [cs.SCCABG(10).fit(few).labels_])

    heading("From the images themselves:")
    show("k-means, best of 10", truth, lambda: [KMeans(10, n_init=10, random_state=0).fit(X).labels_])
    show("MDEC", truth, lambda: [cs.MDEC(10, n_clusterings=50, random_state=0).fit(X).labels_])


def show_tasks() -> None:
    """The fifth system on two related tasks."""
    Xs, subjects = documentation()
    sizes = " and ".join(str(len(X)) for X in Xs)
    heading(f"{sizes} texts of numpy and scipy about 4 subjects, mean of the two tasks:")
    # As SPMTC does by itself: words are weighed by how rare they are in their task, texts have length one.
    own = [X * (1 + np.log(len(X) / np.maximum((X > 0).sum(axis=0), 1))) for X in Xs]
    own = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in own]
    together = KMeans(4, n_init=10, random_state=0)
    show(
        "k-means of each task",
        subjects,
        lambda: [KMeans(4, n_init=10, random_state=0).fit(X).labels_ for X in own],
    )
    show(
        "k-means of both together",
        subjects,
        lambda: np.split(together.fit(np.vstack(own)).labels_, [len(own[0])]),
    )
    show("SPMTC", subjects, lambda: cs.SPMTC(n_clusters=4, random_state=0).fit(Xs).task_labels_)


def main() -> None:
    X, digits = load_digits(return_X_y=True)
    X, digits = X[:N], digits[:N]
    # Nothing is compiled on a new machine: say how long that takes, and let a second process help.
    with compiling_beside(
        ["ConsensusClustering", "MDEC", "SPCE", "SCCABG", "RSEC", "SPMTC", "measures"], print
    ):
        show_digits(X, digits)
        show_tasks()
        default = cs.ConsensusClustering(n_clusters=10, random_state=0).fit(X)
    print("\nThe seconds of a first run include compiling. The images by ConsensusClustering, the default:")

    OUT.mkdir(exist_ok=True)
    cs.io.write_labels(default.labels_, OUT / "labels.csv", confidence=default.confidence_)
    print(f"{(default.confidence_ < 0.6).sum()} images are doubtful (confidence below 0.6).")
    print(f"Labels and confidence of every image: {OUT / 'labels.csv'}")
    page = cs.report(default, X, path=OUT / "report.html", labels_true=digits, source="handwritten digits")
    print(f"The whole story, in your browser: {page.path.resolve().as_uri()}")


if __name__ == "__main__":
    main()
