"""
How many clusters, and none
===========================

"How many clusters are there?" has an answer that most tools cannot give: *none*. ``choose_k`` looks at
several numbers of clusters, compares what it finds with clouds that have no clusters, and says how sure it
is.
"""

# %%
# Three generated sets: four clusters, two clusters of two clusters each, and one long cloud without any.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import consilience as cs

rng = np.random.default_rng(2)
nested = np.array([[0, 0], [0, 2.6], [9, 0], [9, 2.6]])
sets = {
    "four clusters": make_blobs(
        200, centers=[[0, 0], [4, 1], [1, 5], [5, 5.5]], cluster_std=0.9, random_state=0
    )[0],
    "two pairs": make_blobs(200, centers=nested, cluster_std=0.5, random_state=0)[0],
    "one long cloud": rng.normal(size=(200, 2)) * [3, 1],
}
studies = {name: cs.choose_k(X, n_clusters=(2, 7), random_state=0) for name, X in sets.items()}
for name, study in studies.items():
    print(f"{name}\n{study}\n")

# %%
# Above, the answers. Below, what decides: how well runs on random subsamples agree (line), and how well they
# agree on clouds without clusters (band: all of them). Only what rises above the band speaks for clusters.
# Two clusters of the long cloud are found again and again, and still mean nothing: a cloud of that shape
# always gives them.

fig, axes = plt.subplots(2, 3, figsize=(9.5, 6), layout="constrained", height_ratios=[1.1, 1])
for (above, below), (name, X) in zip(axes.T, sets.items()):
    study = studies[name]
    above.scatter(*X.T, s=9, c=cs.plot.colors(study.labels()))
    what = f"{study.n_clusters} clusters" if study.n_clusters > 1 else "1 cluster"
    above.set(title=f"{name}: {what} ({study.verdict})", xticks=[], yticks=[], aspect="equal")
    above.set_adjustable("datalim")
    null = study.references.ari
    below.fill_between(
        study.n_clusters_tried,
        null.min(axis=0),
        null.max(axis=0),
        color="0.88",
        label="clouds without clusters",
    )
    below.plot(study.n_clusters_tried, study.columns["ari_null"], color="0.6", ls="--", label="their mean")
    below.plot(
        study.n_clusters_tried, study.columns["ari"], "o-", color=cs.plot.colors([0])[0], label="these data"
    )
    if study.n_clusters > 1:
        below.axvline(study.n_clusters, color="0.4", lw=1, ls=":")
    below.set(xlabel="number of clusters", ylim=(0, 1.03), xticks=study.n_clusters_tried)
    below.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("agreement of runs (ARI)")
axes[1, 2].legend(frameon=False, fontsize=8)
plt.show()

# %%
# The pairs are the harder question: both two and four are true. The study names one and the other as
# plausible.

print(studies["two pairs"])
print(studies["two pairs"].votes)
