"""
The diversity of MDEC, seen
===========================

A consensus of copies is a copy. Base clusterings must differ, and still know something. ``MDEC`` lets every
member see another half of the features, by another randomly scaled metric, with another number of clusters.
This picture shows what that buys.
"""

# %%
# Six hundred images of digits, and three ways to make 30 base clusterings of them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import consilience as cs

X, digits = load_digits(return_X_y=True)
X, digits = X[:600], digits[:600]
mdec = cs.MDEC(n_clusters=10, n_clusterings=30, random_state=0).fit(X)
ensembles = {
    "k-means, k = 10": cs.generate.kmeans(X, n_clusterings=30, n_clusters=10, random_state=0),
    "k-means, random k": cs.generate.random_k(X, n_clusterings=30, random_state=0),
    "MDEC": mdec.ensemble_,
}

# %%
# For every two members: how far they differ (one minus their NMI), and how much both know on average (NMI
# with the digits). All three are combined by the same method.

pairs = np.triu_indices(30, 1)
far, know, ari = {}, {}, {}
for name, ensemble in ensembles.items():
    far[name] = 1 - ensemble.clustering_similarity("nmi")[pairs]
    nmi = cs.metrics.base_scores(ensemble, digits)["nmi"]
    know[name] = (nmi[pairs[0]] + nmi[pairs[1]]) / 2
    ari[name] = cs.metrics.ari(digits, cs.consensus.LWEA(10, instability_tolerance=1.0).fit_predict(ensemble))
    print(
        f"{name:18} members differ by {far[name].mean():.2f}, know {nmi.mean():.2f}; consensus ARI "
        f"{ari[name]:.2f}"
    )

# %%
# Left: a dot for every two members, a cross for the mean. Members of MDEC differ most and know a little less
# each; together they know more. Right: the consensus made of each.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", width_ratios=[1.7, 1])
for i, name in enumerate(ensembles):
    shade = cs.plot.colors([i])[0]
    left.scatter(far[name], know[name], s=6, alpha=0.35, color=shade, lw=0)
    left.plot(far[name].mean(), know[name].mean(), "X", ms=11, color=shade, mec="black", label=name)
    right.bar(name.replace(", ", ",\n"), ari[name], color=shade)
    right.text(i, ari[name], f"{ari[name]:.2f}", ha="center", va="bottom")
left.set(xlabel="how far two members differ (1 - NMI)", ylabel="how much they know (NMI with the digits)")
left.legend(frameon=False, loc="lower right")
right.set(ylabel="ARI of the consensus with the digits", ylim=(0, 1))
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
