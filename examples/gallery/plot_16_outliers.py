"""
Objects that the clusterings contradict themselves about
========================================================

Some objects belong nowhere: a broken sample, a mixture of two kinds. Base clusterings throw them here and
there. ``RSEC`` writes the co-association matrix as a low-rank part plus an error, and the error of an object
is its ``outlier_score_``.
"""

# %%
# Three clusters in 8 dimensions, and 15 objects that are far from all of them, each in a direction of its
# own.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import consilience as cs

rng = np.random.default_rng(0)
X, kind = make_blobs(180, n_features=8, centers=3, cluster_std=2.0, random_state=5)
strays = rng.normal(size=(15, 8))
strays = X.mean(axis=0) + 14 * strays / np.linalg.norm(strays, axis=1, keepdims=True)
X = np.vstack([X, strays])
stray = np.arange(len(X)) >= 180

ensemble = cs.generate.random_features(
    X, n_clusterings=40, n_clusters=(3, 6), feature_fraction=0.4, random_state=0
)
model = cs.RSEC(n_clusters=3, random_state=0).fit(ensemble)
print(f"ARI of the 180 regular objects: {cs.metrics.ari(kind, model.labels_[~stray]):.2f}")

# %%
# The score of the strays against that of the rest, and how many of the 15 highest scores are strays.

score = model.outlier_score_
top = np.argsort(-score)[:15]
print(f"outlier score: strays {np.median(score[stray]):.2f}, others {np.median(score[~stray]):.2f} (medians)")
print(f"of the 15 highest scores, {stray[top].sum()} are strays")

# %%
# Left: the objects by their first two principal components, the 15 with the highest score ringed; a stray
# need not lie far out in this picture. Right: the scores, cluster by cluster; strays are drawn dark.

Z = X - X.mean(axis=0)
Z = Z @ np.linalg.svd(Z, full_matrices=False)[2][:2].T
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
left.scatter(*Z[~stray].T, s=12, c=cs.plot.colors(model.labels_[~stray]))
left.scatter(*Z[stray].T, s=22, c=cs.plot.colors(model.labels_[stray]), marker="X", label="strays")
left.scatter(*Z[top].T, s=90, facecolor="none", edgecolor="0.2", label="15 highest scores")
left.set(xlabel="first principal component", ylabel="second", xticks=[], yticks=[])
left.legend(frameon=False, fontsize=8)
place = model.labels_ + rng.uniform(-0.3, 0.3, len(X))
right.scatter(place[~stray], score[~stray], s=12, c=cs.plot.colors(model.labels_[~stray]))
right.scatter(place[stray], score[stray], s=26, c="0.15", marker="X", label="strays")
right.set(ylabel="outlier score")
right.set_xticks(range(3), [f"cluster {j}" for j in range(3)])
right.legend(frameon=False, fontsize=8)
right.spines[["top", "right"]].set_visible(False)
plt.show()
