"""
Methods on toy sets, one of them without clusters
=================================================

Every consensus method answers, whatever the data. On shapes that one run of k-means cannot draw, a consensus
of many fine k-means runs can; and where there is nothing to find, all methods still draw borders. The last
column is there to keep that in mind.
"""

# %%
# Four sets with clusters and one without: a single Gaussian cloud, which has no right answer.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons

import consilience as cs

rng = np.random.default_rng(0)
n = 300
blobs, blob_of = make_blobs(
    [200, 70, 30], centers=[[0, 0], [6, 1], [3, 5]], cluster_std=[1.4, 0.7, 0.4], random_state=1
)
long, long_of = make_blobs(n, random_state=170)
sets = {
    "moons": make_moons(n, noise=0.06, random_state=0),
    "rings": make_circles(n, factor=0.45, noise=0.05, random_state=0),
    "unequal": (blobs, blob_of),
    "long": (long @ [[0.6, -0.6], [-0.4, 0.8]], long_of),
    "no clusters": (rng.normal(size=(n, 2)), None),
}

# %%
# All methods get the same 40 base clusterings: k-means with 15 to 30 clusters each. Every base clustering
# cuts the shapes into small pieces, each time elsewhere; what is cut rarely belongs together.

methods = {
    "EvidenceAccumulation": cs.consensus.EvidenceAccumulation(linkage="single"),
    "LWEA": cs.consensus.LWEA(),
    "LWGP": cs.consensus.LWGP(random_state=0),
    "SCCABG": cs.SCCABG(),
    "SPCE": cs.SPCE(threshold=0.1),
}


def answers(X, k):
    """The labels of one k-means run and of every consensus method."""
    ensemble = cs.generate.random_k(X, n_clusterings=40, n_clusters=(15, 30), random_state=0)
    found = {"k-means, one run": KMeans(k, n_init=1, random_state=0).fit_predict(X)}
    for name, method in methods.items():
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a graph may not fall apart cleanly where there is nothing to find
            found[name] = method.set_params(n_clusters=k).fit_predict(ensemble)
    return found


# %%
# The number in a corner is the adjusted Rand index with the true clusters: 1 is all right, 0 is chance.

fig, axes = plt.subplots(1 + len(methods), len(sets), figsize=(9.5, 11), layout="constrained")
scores = {}
for column, (name, (X, truth)) in zip(axes.T, sets.items()):
    k = 3 if truth is None else truth.max() + 1
    found = answers(X, k)
    first = found["k-means, one run"]
    column[0].set_title(name)
    for ax, (method, labels) in zip(column, found.items()):
        ax.scatter(*X.T, s=7, c=cs.plot.colors(cs.align(labels, first if truth is None else truth)))
        ax.set(xticks=[], yticks=[])
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel(method)
        if truth is not None:
            score = cs.metrics.ari(truth, labels)
            scores.setdefault(method, []).append(score)
            ax.text(
                0.97,
                0.03,
                f"{score:.2f}",
                transform=ax.transAxes,
                ha="right",
                bbox={"fc": "white", "lw": 0, "alpha": 0.8},
            )
plt.show()

# %%
# One run of k-means draws straight borders across the moons, the rings and the long clusters; the consensus
# of many small pieces follows the shapes. Evidence accumulation is shown with single linkage here, which
# follows any chain: a few stray points of the unequal set become a cluster of their own, and two real ones
# are merged.

for method, values in scores.items():
    print(f"{method:22}", "  ".join(f"{value:5.2f}" for value in values), f"  mean {np.mean(values):.2f}")

# %%
# In the last column every method was asked for three clusters and gave three, and no two gave the same. A
# single answer does not tell that the question was wrong; :func:`consilience.choose_k` compares the data with
# clouds that have no clusters, and does.

study = cs.choose_k(sets["no clusters"][0], n_clusters=(2, 5), random_state=0)
print(study)
