"""
Why delta area misleads
=======================

A widespread way to choose the number of clusters is to draw the consensus CDF for each k, take the area under
it, and stop where the area no longer grows much ("delta area"). The curve looks much the same whether there
are clusters or not.
"""

# %%
# One set with three clusters and one Gaussian cloud without any, each of 150 objects in 10 dimensions.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import consilience as cs

rng = np.random.default_rng(0)
centers = 3.5 * np.eye(3, 10)
sets = {
    "three clusters": make_blobs(150, centers=centers, cluster_std=1.0, random_state=0)[0],
    "no clusters": rng.normal(size=(150, 10)),
}
studies = {name: cs.choose_k(X, n_clusters=(2, 8), random_state=0) for name, X in sets.items()}

# %%
# Top: the consensus CDFs (how many pairs are together in at most such a share of the runs). Middle: delta
# area. In both columns it falls and levels off from four on, as if both sets had three or four clusters.
# Bottom: the gain over clouds without clusters, which is high for three in the left column and stays near
# zero in the right one.

fig, axes = plt.subplots(3, 2, figsize=(8.5, 8.5), layout="constrained", sharey="row")
shades = plt.colormaps["viridis"](np.linspace(0, 0.9, 7))
for column, (name, study) in zip(axes.T, studies.items()):
    top, middle, bottom = column
    top.set_title(name)
    for shade, k in zip(shades, study.n_clusters_tried):
        found = study.cdf(k)
        top.step(found.values, found.cdf, where="post", color=shade, label=f"k = {k}")
    top.set_xlabel("share of runs together")
    middle.plot(study.n_clusters_tried, study.columns["delta_area"], "o-", color="0.4")
    bottom.axhline(0, color="0.7", lw=1)
    bottom.errorbar(
        study.n_clusters_tried,
        study.columns["gain"],
        study.columns["gain_error"],
        fmt="o-",
        color=cs.plot.colors([0])[0],
    )
    for ax in (middle, bottom):
        ax.set(xlabel="number of clusters", xticks=study.n_clusters_tried)
    for ax in column:
        ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylabel("share of pairs")
axes[1, 0].set_ylabel("delta area")
axes[2, 0].set_ylabel("gain in agreement (ARI)")
axes[0, 1].legend(frameon=False, fontsize=8, ncols=2)
plt.show()

# %%
# The numbers behind the two lower rows, and the answers.

for name, study in studies.items():
    print(name)
    print("  delta area", *(f"{value:5.2f}" for value in study.columns["delta_area"]))
    print("  gain      ", *(f"{value:5.2f}" for value in study.columns["gain"]))
    print(f"  answer: k = {study.n_clusters}, {study.verdict}")
