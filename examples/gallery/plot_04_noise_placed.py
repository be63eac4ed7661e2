"""
Placing what one run calls noise
================================

Density methods leave objects unlabeled. How many depends on a setting nobody knows beforehand. Several
settings together know more: an object that is noise at one setting is labeled at another, and the consensus
places it.
"""

# %%
# Three clusters of different density and a sprinkle of points between them. DBSCAN at one radius either drops
# the thin cluster or merges the dense ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

import consilience as cs

X, truth = make_blobs(
    [150, 150, 150], centers=[[0, 0], [0, 3.2], [6, 1.6]], cluster_std=[0.45, 0.45, 1.2], random_state=3
)
radii = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
runs = {f"radius {radius:g}": DBSCAN(eps=radius, min_samples=6).fit_predict(X) for radius in radii}

ensemble = cs.Ensemble(runs)
for name, labels in runs.items():
    print(f"{name}: {labels.max() + 1} clusters, {(labels == -1).sum()} points without a label")

# %%
# -1 means "no opinion". A point that no radius ever labeled cannot be placed: it is dropped by name, not
# silently. The others are.

print(f"never labeled: {ensemble.unseen.size} points")
seen = np.setdiff1d(np.arange(len(X)), ensemble.unseen)
model = cs.consensus.LWEA(n_clusters=3).fit(ensemble.drop_unseen())
labels = np.full(len(X), -1)
labels[seen] = model.labels_
rescued = seen[(ensemble.labels[seen] < 0).any(axis=1)]
print(f"labeled by some radii only: {rescued.size} points")
print(f"ARI of the consensus, on the points it placed: {cs.metrics.ari(truth[seen], labels[seen]):.2f}")

# %%
# Gray points have no label. A small radius tears the thin cluster apart, a large one merges the dense two. On
# the right, only a few points are left without a label; a dark rim marks those that some of the radii had
# left out.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained", sharex=True, sharey=True)
for ax, name in zip(axes, ("radius 0.3", "radius 0.8")):
    ax.scatter(*X.T, s=10, c=cs.plot.colors(cs.align(runs[name], labels)))
    ax.set_title(f"DBSCAN, {name}:\n{(runs[name] == -1).sum()} points unlabeled")
axes[2].scatter(*X.T, s=10, c=cs.plot.colors(labels))
axes[2].scatter(*X[rescued].T, s=20, facecolor="none", edgecolor="0.2", lw=0.6)
axes[2].set_title(f"consensus of {len(radii)} radii:\n{(labels == -1).sum()} points unlabeled")
for ax in axes:
    ax.set(xticks=[], yticks=[], aspect="equal")
plt.show()
