"""
Missing labels, and filling them in
===================================

Not every clustering has seen every object: panels differ, samples failed, a run worked on a subsample.
Consensus works with what is there. ``SCCABG`` can also say which label an object would have had in the
clusterings that missed it.
"""

# %%
# The wine data, and twelve k-means runs that each miss a share of the objects.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import consilience as cs

X, cultivar = load_wine(return_X_y=True)
X = scale(X)
whole = cs.generate.random_k(X, n_clusterings=12, n_clusters=(3, 6), random_state=0)


def with_gaps(share, seed):
    """The base labels with a share of them hidden, at least one left of every object."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(whole.shape) < share
    hidden[np.arange(len(X)), rng.integers(whole.n_clusterings, size=len(X))] = False
    return np.where(hidden, -1, whole.labels)


# %%
# How much can be missing before the answer suffers? Three sets of gaps for each share.

shares = [0, 0.2, 0.4, 0.6, 0.8]
methods = {
    "LWEA": cs.consensus.LWEA(3),
    "SCCABG": cs.SCCABG(3),
    "Voting": cs.consensus.Voting(3, random_state=0),
}
curves = {name: [] for name in methods}
for share in shares:
    gaps = [with_gaps(share, seed) for seed in range(3)]
    for name, method in methods.items():
        curves[name].append(
            np.mean([cs.metrics.ari(cultivar, method.fit_predict(labels)) for labels in gaps])
        )
print("missing     ", *(f"{share:6.0%}" for share in shares))
for name, curve in curves.items():
    print(f"{name:12}", *(f"{value:6.2f}" for value in curve))

# %%
# With 40% hidden, ``filled_labels`` restores the table: each gap gets the cluster of that clustering to which
# the learned graph ties the object most.

gaps = with_gaps(0.4, 0)
model = cs.SCCABG(n_clusters=3).fit(gaps)
filled = model.filled_labels()
hidden = gaps < 0
right = filled[hidden] == whole.labels[hidden]
guess = np.mean([(labels == np.bincount(labels).argmax()).mean() for labels in whole.labels.T])
print(
    f"{hidden.sum()} gaps filled, {right.mean():.0%} as they had been; always the largest cluster: "
    f"{guess:.0%}"
)

# %%
# Left: the answer holds while most labels are gone. Right: the table of base labels, one color a base
# cluster, as given (gaps white) and as filled; objects are ordered by their consensus cluster.

fig, (left, middle, last) = plt.subplots(
    1, 3, figsize=(9.5, 4), layout="constrained", width_ratios=[1.5, 1, 1]
)
for i, (name, curve) in enumerate(curves.items()):
    left.plot(shares, curve, "o-", color=cs.plot.colors([i])[0], label=name)
left.set(xlabel="share of labels missing", ylabel="ARI with the cultivars", ylim=(0, 1))
left.xaxis.set_major_formatter("{x:.0%}")
left.legend(frameon=False, loc="lower left")
left.spines[["top", "right"]].set_visible(False)
order = np.lexsort((whole.labels[:, 0], model.labels_))
for ax, table, title in ((middle, gaps, "base labels, 40% missing"), (last, filled, "filled in")):
    shown = np.ma.masked_less(table[order], 0)
    ax.imshow(shown, aspect="auto", cmap="tab10", vmin=0, vmax=9, interpolation="none")
    ax.set(xlabel="base clustering", title=title, xticks=[], yticks=[])
middle.set_ylabel("wines, by consensus cluster")
plt.show()
