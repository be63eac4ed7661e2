"""
A map and HDBSCAN, over eight seeds
===================================

A popular recipe: squeeze the data into a two-dimensional map (t-SNE, UMAP), then let HDBSCAN find the dense
regions. The map depends on the seed, so the clusters do. Do it eight times and take the consensus of the
eight, instead of the run that looks nicest.

Settings were chosen so that the effect is easy to see: an illustration, not a comparison.
"""

# %%
# Four hundred images of the digits 0 to 4. Each seed gives another map, and HDBSCAN another number of
# clusters and other noise (label -1). The installed map is t-SNE; with UMAP only the line that makes the map
# changes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

import consilience as cs

X, digits = load_digits(n_class=5, return_X_y=True)
X, digits = X[:400], digits[:400]
Z = PCA(20, random_state=0).fit_transform(X)

maps = [
    TSNE(perplexity=10, max_iter=300, init="random", random_state=seed).fit_transform(Z) for seed in range(8)
]
runs = [HDBSCAN(min_cluster_size=20, copy=True).fit_predict(Y) for Y in maps]
ensemble = cs.Ensemble.from_clusterings(runs)
print(ensemble)
print("clusters found by each seed:", ensemble.n_clusters_per_clustering.tolist())
print("noise, images of 400:", [(run == -1).sum().item() for run in runs])

# %%
# HDBSCAN's -1 is simply a missing label: that seed has no opinion about that image. An image that is noise
# for one seed is placed by the others. Only what is noise for every seed stays out: nobody knows anything
# about it.

unseen = ensemble.unseen
placed = np.setdiff1d(np.arange(400), unseen)
labels = np.full(400, -1)
labels[placed] = cs.consensus.LWEA(n_clusters=5).fit_predict(ensemble.drop_unseen())
print(f"noise for every seed: {unseen.size} images")
print(
    f"consensus of the other {placed.size}: ARI with the true digits "
    f"{cs.metrics.ari(digits[placed], labels[placed]):.2f}"
)
alone = cs.metrics.base_scores(ensemble, digits, missing="ignore")["ari"]
print("single seeds, on the images they labeled:", alone.round(2).tolist())

# %%
# Above, the worst, a middling and the best seed with the clusters that HDBSCAN found on each map (gray is
# noise); below, the same maps colored by the one consensus. The five clusters have the same colors on all
# three, and far less is left gray.

fig, axes = plt.subplots(2, 3, figsize=(9.5, 6), layout="constrained")
for column, seed in zip(axes.T, np.argsort(alone)[[0, 4, 7]]):
    column[0].set_title(
        f"seed {seed}: {ensemble.n_clusters_per_clustering[seed]} clusters, {(runs[seed] == -1).sum()} noise"
    )
    column[0].scatter(*maps[seed].T, s=8, c=cs.plot.colors(cs.align(runs[seed], labels)))
    column[1].scatter(*maps[seed].T, s=8, c=cs.plot.colors(labels))
    for ax in column:
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("HDBSCAN on this map")
axes[1, 0].set_ylabel("consensus of eight maps")
plt.show()
