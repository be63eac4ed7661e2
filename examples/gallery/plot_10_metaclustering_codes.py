"""
Metaclustering a codebook, with node sizes as weights
=====================================================

With very many objects one often makes a codebook first (a self-organizing map, or k-means with many centers)
and clusters the codes: "metaclustering". A code that stands for 3,000 cells should count for more than one
that stands for 30. ``sample_weight`` says so.
"""

# %%
# Forty thousand cells, simulated: five populations with six markers each, and 3% debris that lies anywhere. A
# k-means codebook of 100 codes stands for the self-organizing map. Debris is rare but spread widely, so it
# takes many codes. That is where weights matter; with clean, equally large populations they can also do harm.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans

import consilience as cs

rng = np.random.default_rng(1)
centers = rng.normal(size=(5, 6)) * 2.2
population = rng.choice(5, size=40_000, p=[0.3, 0.25, 0.2, 0.15, 0.1])
cells = centers[population] + rng.normal(size=(40_000, 6)) * 0.8
debris = rng.random(40_000) < 0.03
cells[debris] = rng.uniform(-9, 9, size=(debris.sum(), 6))

book = MiniBatchKMeans(100, batch_size=4096, n_init=1, random_state=0).fit(cells)
code_of, codes = book.labels_, book.cluster_centers_
sizes = np.bincount(code_of, minlength=100)
of_debris = np.bincount(code_of, debris, minlength=100) / sizes > 0.5
print(
    f"100 codes stand for {sizes.min()} to {sizes.max()} cells each; {of_debris.sum()} of them are mostly "
    f"debris"
)

# %%
# The consensus works on 100 weighted codes instead of 40,000 cells; every cell then gets the cluster of its
# code.

labels = {}
for name, weights in {"all codes alike": None, "node sizes as weights": sizes}.items():
    ensemble = cs.generate.random_k(
        codes, n_clusterings=40, n_clusters=(5, 12), sample_weight=weights, random_state=0
    )
    model = cs.consensus.LWEA(n_clusters=5).fit(ensemble)
    labels[name] = model.labels_
    score = cs.metrics.ari(population[~debris], model.labels_[code_of[~debris]])
    print(f"{name:22} ARI of the cells with the populations {score:.2f}")

# %%
# Left: a sample of the cells, debris in gray. Middle and right: the codes, drawn as large as the number of
# cells they stand for. Where all codes count alike, those of debris claim clusters of their own, and
# populations are merged to make room; with node sizes as weights the five large populations are found.

axis = np.linalg.svd(centers - centers.mean(axis=0), full_matrices=False)[2][:2].T
fig, axes = plt.subplots(1, 3, figsize=(10.5, 4), layout="constrained", sharex=True, sharey=True)
some = rng.choice(len(cells), 4000, replace=False)
axes[0].scatter(*(cells[some] @ axis).T, s=2, c=cs.plot.colors(np.where(debris, -1, population)[some]))
axes[0].set_title("cells, by population")
for ax, (name, of_code) in zip(axes[1:], labels.items()):
    matched = cs.align(of_code[code_of], np.where(debris, -1, population))
    shade = cs.plot.colors([matched[np.argmax(code_of == code)] for code in range(100)])
    ax.scatter(*(codes @ axis).T, s=sizes / 5, c=shade, alpha=0.8, lw=0)
    ax.set_title(name)
for ax in axes:
    ax.set(xticks=[], yticks=[], xlim=(-8, 8), ylim=(-8, 8))
plt.show()
