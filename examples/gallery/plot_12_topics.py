"""
Topics that all runs agree on
=============================

A topic model gives every document a share in every topic, and another seed gives other topics in another
order. ``SoftEnsemble`` takes the shares as they are; ``SoftVote`` matches the topics of all runs and averages
them.
"""

# %%
# Three hundred short documents about four themes, generated word by word; every document mixes its theme with
# a little of the others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

import consilience as cs

themes = {
    "garden": "soil seed rain root leaf spade bloom hedge compost lawn",
    "kitchen": "flour oven salt butter pan dough simmer spoon recipe taste",
    "harbour": "boat tide net sail rope gull mast anchor wave crew",
    "music": "chord song drum tune string choir note stage beat voice",
}
words = np.array(" ".join(themes.values()).split())
rng = np.random.default_rng(3)
topics = np.kron(np.eye(4), np.full(10, 1 / 10)) * 0.75 + 0.25 / words.size
mixture = rng.dirichlet(np.full(4, 0.12), size=300)
counts = np.stack([rng.multinomial(25, share @ topics) for share in mixture])
main = mixture.argmax(axis=1)

# %%
# Eight runs, with 4 to 6 topics each: nobody knows the right number, and no two runs need the same.

runs = [
    LatentDirichletAllocation(k, learning_method="batch", max_iter=8, random_state=seed).fit(counts)
    for seed, k in enumerate([4, 4, 4, 5, 5, 5, 6, 6])
]
soft = cs.SoftEnsemble([run.transform(counts) for run in runs])
model = cs.consensus.SoftVote(n_clusters=4, random_state=0).fit(soft)
single = [cs.metrics.ari(main, labels) for labels in soft.harden().labels.T]
print("single runs, ARI with the main theme:", np.round(single, 2).tolist())
print(f"consensus: {cs.metrics.ari(main, model.labels_):.2f}")

# %%
# The answer is soft as well: ``membership_`` holds the shares of the four consensus topics in every document.
# Below, twenty documents by the simulated mixture and by the consensus, one color a topic: mixed documents
# stay mixed.

aligned = cs.align(model.labels_, main)
found = np.empty_like(mixture)
found[:, [aligned[model.labels_ == j][0] for j in range(4)]] = model.membership_
error = np.abs(found - mixture).mean()
hard = np.abs(np.eye(4)[found.argmax(axis=1)] - mixture).mean()
print(f"mean distance from the simulated shares: memberships {error:.3f}, labels alone {hard:.3f}")

shown = np.argsort(-mixture.max(axis=1))[np.linspace(0, 299, 20).astype(int)]
fig, axes = plt.subplots(2, 1, figsize=(9.5, 4), layout="constrained", sharex=True)
for ax, shares, title in zip(axes, (mixture, found), ("simulated mixture", "consensus of eight runs")):
    base = np.zeros(20)
    for j, theme in enumerate(themes):
        ax.bar(range(20), shares[shown, j], bottom=base, color=cs.plot.colors([j])[0], width=0.9, label=theme)
        base += shares[shown, j]
    ax.set(title=title, ylim=(0, 1), yticks=[0, 0.5, 1], xticks=[])
    ax.spines[["top", "right"]].set_visible(False)
axes[1].set_xlabel("twenty documents, from pure to mixed")
axes[0].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# The words of a consensus topic: those that its documents use more often than all documents do.

rate = model.membership_.T @ counts / (model.membership_.T @ counts).sum(axis=1, keepdims=True)
lift = rate / (counts.sum(axis=0) / counts.sum())
for j in range(4):
    print(f"topic {j}:", " ".join(words[np.argsort(-lift[j])[:8]]))
