"""
Past one machine's memory: Dask
===============================

The same estimators take Dask collections. Blocks of objects stay where they are; each sends only its
different rows of labels, which are few, and the consensus is made of those. The answer is that of one
machine, label for label. (``pip install 'consilience[dask]'``)
"""

# %%
# Features in eight blocks, each made inside its task when it is needed: they are never in one place. With
# files it would be ``da.from_zarr`` or a data frame of Parquet files.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import consilience as cs

n, rows = 160_000, 20_000
centers = np.array([[0, 0], [5, 1], [2, 5], [-4, 4], [-5, -2], [3, -5]])
draw = da.random.default_rng(0)
kind = draw.integers(0, 6, size=n, chunks=rows)
X = kind.map_blocks(lambda one: centers[one], new_axis=1, chunks=(rows, 2)) + 1.1 * draw.normal(
    size=(n, 2), chunks=(rows, 2)
)
print(f"{X.npartitions} blocks of {rows:,} rows")

# %%
# Members are fitted to a sample and label every row where it is; then a method as always. ``labels_`` is
# lazy, with the chunks of X.

ensemble = cs.dask.make_ensemble(
    X,
    "kmeans",
    n_clusterings=10,
    generator_params={"n_clusters": (6, 12)},
    max_samples=20_000,
    random_state=0,
)
model = cs.consensus.LWGP(n_clusters=6, random_state=0).fit(ensemble)
print("labels_ is a", type(model.labels_).__name__, "with chunks", model.labels_.chunks[0])
print(f"ARI with the simulated clusters: {cs.metrics.ari(kind, model.labels_):.2f}")

# %%
# How little has to travel: the different rows of labels in each block, and in all of them together.

labels = ensemble.labels
each = [cs.Ensemble(labels.blocks[i].compute()).distinct().n_samples for i in range(labels.numblocks[0])]
together = ensemble.distinct()
print(f"different rows: {min(each)} to {max(each)} a block, {together.n_samples} in all, for {n:,} objects")

# One machine, all labels in memory, the same method: the same answer.
alone = cs.consensus.LWGP(n_clusters=6, random_state=0).fit(labels.compute())
print("equal to one machine:", bool((alone.labels_ == model.labels_.compute()).all()))

# %%
# Left: what all blocks together look like; each block was counted by itself, and the counts were added up.
# Right: objects of a block, different rows of each block, and of all blocks together.


def count(points, clusters):
    """How many points of each cluster are in each spot, of one block."""
    grid = [np.linspace(-10, 10, 161)] * 2
    return np.stack([np.histogram2d(*points[clusters == j].T, bins=grid)[0].T for j in range(6)])


counts = sum(count(X.blocks[i].compute(), model.labels_.blocks[i].compute()) for i in range(X.numblocks[0]))
shade = np.array([plt.matplotlib.colors.to_rgb(one) for one in cs.plot.colors(range(6))])[
    counts.argmax(axis=0)
]
depth = (np.log1p(counts.sum(axis=0)) / np.log1p(counts.sum(axis=0).max()))[..., None]
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", width_ratios=[1, 1.2])
left.imshow(1 - depth * (1 - shade), origin="lower")
left.set(xticks=[], yticks=[], title=f"{n:,} objects in {X.numblocks[0]} blocks")
right.bar(range(8), each, color="0.7", label="different rows of the block")
right.bar([9], [together.n_samples], color=cs.plot.colors([0])[0], label="of all blocks together")
right.axhline(rows, color="0.4", ls="--", label="objects of a block")
right.set_yscale("log")
right.set_xticks([*range(8), 9], [*range(8), "all"])
right.set(xlabel="block", ylabel="rows", ylim=(10, 5e5))
right.legend(frameon=False, fontsize=8, loc="upper left")
right.spines[["top", "right"]].set_visible(False)
plt.show()
