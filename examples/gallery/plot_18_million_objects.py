"""
A million objects in seconds
============================

Objects that all base clusterings treat alike are the same to every consensus method, so they are merged first
and carried as weights. A million objects often have only some thousand different rows of labels, and those
are what the work grows with.
"""

# %%
# A million points in four dimensions, ten clusters. ``CONSILIENCE_EXAMPLE_OBJECTS`` in the environment asks
# for another number.

import os
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans

import consilience as cs

n = int(os.environ.get("CONSILIENCE_EXAMPLE_OBJECTS", 1_000_000))
rng = np.random.default_rng(0)
centers = 4 * rng.normal(size=(10, 4))
kind = rng.integers(10, size=n)
X = (centers[kind] + rng.normal(size=(n, 4))).astype(np.float32)

# %%
# Ten base clusterings, each learned from a sample of 20,000 points and applied to all of them; any clusterer
# will do.

start = time.perf_counter()
runs = []
for seed, k in enumerate(range(10, 20)):
    sample = X[rng.choice(n, min(n, 20_000), replace=False)]
    runs.append(
        MiniBatchKMeans(k, batch_size=4096, n_init=1, max_iter=5, random_state=seed).fit(sample).predict(X)
    )
labels = np.column_stack(runs)
made = time.perf_counter() - start

start = time.perf_counter()
model = cs.consensus.LWGP(n_clusters=10, random_state=0).fit(labels)
fitted = time.perf_counter() - start
print(f"{n:,} objects, of which {model.distinct_.n_samples:,} differ in their base labels")
print(f"ten base clusterings {made:.1f} s, consensus {fitted:.1f} s")
alone = cs.metrics.base_scores(labels, kind)["ari"]
print(
    f"ARI: base clusterings {alone.mean():.2f} on average, consensus "
    f"{cs.metrics.ari(kind, model.labels_):.2f}"
)

# %%
# The same with fewer objects: the number of different rows, which the method works on, grows far more slowly
# than the number of objects.

sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= n]
distinct, seconds = [], []
for size in sizes:
    start = time.perf_counter()
    part = cs.consensus.LWGP(n_clusters=10, random_state=0).fit(labels[:size])
    seconds.append(time.perf_counter() - start)
    distinct.append(part.distinct_.n_samples)
    print(f"{size:9,} objects: {distinct[-1]:6,} differ, {seconds[-1]:.2f} s")

# %%
# Left: all points on two of the four axes, each spot in the color of the cluster that most points there have,
# paler where there are few. Right: objects and different objects.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", width_ratios=[1.3, 1])
box = np.quantile(X[:: max(1, n // 1000), :2], [0, 1], axis=0).T
counts = np.stack([np.histogram2d(*X[model.labels_ == j, :2].T, bins=200, range=box)[0].T for j in range(10)])
shade = np.array([plt.matplotlib.colors.to_rgb(one) for one in cs.plot.colors(range(10))])[
    counts.argmax(axis=0)
]
depth = np.clip(np.log1p(counts.sum(axis=0)) / np.log1p(counts.sum(axis=0).max()), 0, 1)[..., None]
left.imshow(1 - depth * (1 - shade), origin="lower", extent=box.ravel())
left.set(xticks=[], yticks=[], title=f"{n:,} objects, 10 clusters")
right.loglog(sizes, sizes, "--", color="0.6", label="objects")
right.loglog(sizes, distinct, "o-", color=cs.plot.colors([0])[0], label="different rows of labels")
right.set(xlabel="objects")
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)
plt.show()
