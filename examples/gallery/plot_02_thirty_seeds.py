"""
Thirty seeds, one answer
========================

Run k-means twice with different seeds and you may get two different stories about the same data. Run it
thirty times and let a consensus speak for all thirty: its answer hardly depends on luck any more, and it says
which objects it is unsure of.
"""

# %%
# Images of handwritten digits (bundled with scikit-learn), seen as 64 gray values each. Nothing below uses
# the true digits until the scores are printed.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import consilience as cs

X, digits = load_digits(return_X_y=True)
runs = [KMeans(10, n_init=1, random_state=seed).fit(X) for seed in range(30)]

# %%
# Fitted clusterers go in as they are. To see how far the *answer* depends on luck, the same is done with
# three other sets of thirty.

model = cs.consensus.EvidenceAccumulation(n_clusters=10).fit(runs)
again = [
    cs.consensus.EvidenceAccumulation(10).fit_predict(
        cs.generate.kmeans(X, n_clusterings=30, n_clusters=10, random_state=seed)
    )
    for seed in (1, 2, 3)
]

alone = cs.Ensemble(runs).clustering_similarity("ari")
consensus = np.array(
    [[cs.metrics.ari(b, a) for b in [model.labels_, *again]] for a in [model.labels_, *again]]
)
base = cs.metrics.base_scores(runs, digits)["ari"]
print(
    f"agreement of two runs (ARI): lowest {alone.min():.2f}, mean {alone[np.triu_indices(30, 1)].mean():.2f}"
)
print(
    f"agreement of two consensuses: lowest {consensus.min():.2f}, mean "
    f"{consensus[np.triu_indices(4, 1)].mean():.2f}"
)
print(f"against the true digits: runs {base.min():.2f} to {base.max():.2f}, mean {base.mean():.2f}; ", end="")
print(
    f"consensus {cs.metrics.ari(digits, model.labels_):.2f}, above "
    f"{(base < cs.metrics.ari(digits, model.labels_)).sum()} of 30 runs"
)

# %%
# Left: each cell compares two of the thirty runs. They fall into a few camps, bright squares on the diagonal,
# that agree within and not with each other. Right: the runs against the true digits; the one answer made of
# them is among the better ones, and nobody had to know which run to pick.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", width_ratios=[1, 1.1])
order = np.argsort(-base)
image = left.imshow(alone[np.ix_(order, order)], cmap="cividis", vmin=0.5, vmax=1)
left.set(xlabel="run, best first", ylabel="run, best first", title="agreement between runs (ARI)")
fig.colorbar(image, ax=left, shrink=0.85)
right.hist(base, bins=np.arange(0.54, 0.88, 0.02), color="0.7", label="30 runs of k-means")
right.axvline(base.mean(), color="0.35", ls="--", label="their mean")
right.axvline(
    cs.metrics.ari(digits, model.labels_), color=cs.plot.colors([0])[0], lw=3, label="consensus of the 30"
)
right.set(xlabel="ARI with the true digits", ylabel="runs")
right.legend(frameon=False, loc="upper right")
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``confidence_`` says how sure the runs are of each image. Above, the surest image of each of the ten
# clusters; below, the ten images of which the runs are least sure.

sure = [np.where(model.labels_ == cluster, model.confidence_, 0).argmax() for cluster in range(10)]
unsure = np.argsort(model.confidence_)[:10]
fig, axes = plt.subplots(2, 10, figsize=(9.5, 2.5), layout="constrained")
for row, chosen in zip(axes, (sure, unsure)):
    for ax, i in zip(row, chosen):
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{model.confidence_[i]:.2f}", fontsize=9)
axes[0, 0].set_ylabel("sure")
axes[1, 0].set_ylabel("unsure")
plt.show()
