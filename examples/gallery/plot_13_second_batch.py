"""
Predicting a second batch
=========================

Clusters were found in January; in February more objects arrive. Clustering everything again would give other
clusters under other numbers. ``predict`` places the new objects in the clusters there are, and
``score_samples`` tells which of them are unlike anything seen before.
"""

# %%
# Batch one has four kinds of objects. Batch two has the same four and a fifth that is new.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import consilience as cs

centers = np.array([[0, 0, 0, 0], [5, 1, 0, 2], [1, 5, 2, 0], [5, 5, 1, 3], [11, -2, 8, -4]])
first, kind_one = make_blobs(400, centers=centers[:4], cluster_std=1.0, random_state=0)
second, kind_two = make_blobs([50, 50, 50, 50, 20], centers=centers, cluster_std=1.0, random_state=1)
new = kind_two == 4

# %%
# Fit once, keep the model in a file, and use it next month. The file holds arrays and words, no code.

model = cs.ConsensusClustering(n_clusters=4, random_state=0).fit(first)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "january.consilience"
    model.save(path)
    print(f"model file: {path.stat().st_size / 1e3:.0f} kB")
    january = cs.load(path)

labels = january.predict(second)
reach = january.score_samples(second)
print(f"first batch: ARI of the clusters {cs.metrics.ari(kind_one, january.labels_):.2f}")
print(f"known kinds: ARI of the prediction {cs.metrics.ari(kind_two[~new], labels[~new]):.2f}")
print(
    f"reach below one half: {(reach[~new] < 0.5).sum()} of {(~new).sum()} known, "
    f"{(reach[new] < 0.5).sum()} of {new.sum()} new"
)
again = (january.predict(first) == january.labels_).all()
print(f"objects of the first batch keep their cluster: {again}")

# %%
# Left: the first batch. Middle: the second one in the same colors. Every object gets a cluster, also the new
# kind far off. Right: how many of the members have seen the like of an object; the new kind stands out.

axis = np.linalg.svd(np.vstack([first, second]) - first.mean(axis=0), full_matrices=False)[2][:2].T
fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.8), layout="constrained", sharex=True, sharey=True)
axes[0].scatter(*(first @ axis).T, s=10, c=cs.plot.colors(january.labels_))
axes[0].set_title("first batch, clustered")
axes[1].scatter(*(second @ axis).T, s=10, c=cs.plot.colors(labels))
axes[1].set_title("second batch, predicted")
shade = axes[2].scatter(*(second @ axis).T, s=10, c=reach, cmap="cividis", vmin=0, vmax=1)
axes[2].set_title("second batch, reach")
fig.colorbar(shade, ax=axes[2], label="share of members that saw the like")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()
