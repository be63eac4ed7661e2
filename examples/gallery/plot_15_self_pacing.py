"""
Self-pacing, seen at work
=========================

When base clusterings contradict each other, which evidence should lead? Self-paced methods begin with what is
easy, pairs of objects or memberships on which nearly all clusterings agree, and admit the contested rest step
by step.

Settings were chosen so that the effect is easy to see: an illustration, not a comparison.
"""

# %%
# Three hundred images of digits and thirty k-means runs with 5 to 20 clusters each.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import consilience as cs

X, digits = load_digits(return_X_y=True)
X, digits = X[:300], digits[:300]
ensemble = cs.generate.random_k(X, n_clusterings=30, n_clusters=(5, 20), random_state=0)

spce = cs.SPCE(n_clusters=10, threshold=0.1).fit(ensemble)
sccabg = cs.SCCABG(n_clusters=10, first_trust=0.4).fit(ensemble)
for model in (spce, sccabg):
    print(
        f"{type(model).__name__}: {model.n_iter_} iterations, ARI {cs.metrics.ari(digits, model.labels_):.2f}"
    )

# %%
# ``SPCE`` trusts pairs of objects. ``PacingDisplay`` reads from ``history_`` how much of them is in; a gray
# line marks a new stage, in which more contradiction is tolerated.
#
# ``SCCABG`` trusts memberships, the edges between objects and base clusters. Its history has the trust in the
# least trusted edge and the number of different objects with any doubted edge.

rounds = np.arange(2, sccabg.n_iter_ + 1)  # nothing is doubted before there is a first answer
least = np.array([step["min_W"] for step in sccabg.history_])[1:]
doubted = np.array([step["rows_weighed"] for step in sccabg.history_])[1:] / sccabg.distinct_.n_samples
print(f"SCCABG, least trusted edge: {least[0]:.2f} in round 2, {least[-1]:.2f} in round {rounds[-1]}")
print(
    f"SCCABG, objects with a doubted edge: {doubted[0]:.0%} in round 2, {doubted[-1]:.0%} in round "
    f"{rounds[-1]}"
)

# %%
# Above: the share of pairs that is in grows stage by stage; the least trusted edge gains trust until nothing
# is doubted. Below: meanwhile the learned graph falls apart, until it has the ten pieces that were asked for.

fig, axes = plt.subplots(2, 2, figsize=(9.5, 5.6), layout="constrained", sharex="col")
pace = cs.plot.PacingDisplay.from_estimator(spce).plot(axes[0, 0])
print(f"SPCE, share of pairs in: {pace.share[0]:.0%} at first, {pace.share[-1]:.0%} at last")
axes[0, 1].plot(
    rounds, least, "o-", ms=3, color=cs.plot.colors([0])[0], label="trust in the least trusted edge"
)
axes[0, 1].plot(
    rounds, doubted, "o-", ms=3, color=cs.plot.colors([1])[0], label="share of objects with a doubted edge"
)
axes[0, 1].set(title="SCCABG: doubt", ylim=(0, 1.05))
axes[0, 1].legend(frameon=False, fontsize=8)
for ax, model in zip(axes[1], (spce, sccabg)):
    pieces = [step["pieces"] for step in model.history_]
    ax.axhline(10, color="0.7", lw=1, ls=":")
    ax.plot(np.arange(1, len(pieces) + 1), pieces, "o-", ms=3, color="0.4")
    ax.set(xlabel="iteration", ylabel="pieces of the graph", ylim=(0, 11))
axes[0, 0].set_xlabel("")
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What was doubted? ``reliability_`` is the mean trust in an object's edges over the rounds. Above, the images
# trusted most, sixes all of them; below, those trusted least.

order = np.argsort(sccabg.reliability_)
fig, axes = plt.subplots(2, 10, figsize=(9.5, 2.5), layout="constrained")
for row, chosen in zip(axes, (order[::-1][:10], order[:10])):
    for ax, i in zip(row, chosen):
        ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{sccabg.reliability_[i]:.2f}", fontsize=9)
axes[0, 0].set_ylabel("trusted")
axes[1, 0].set_ylabel("doubted")
plt.show()
right = cs.align(sccabg.labels_, digits) == digits
for name, which in {"most trusted": order[150:], "least trusted": order[:150]}.items():
    print(f"{name} half: {right[which].mean():.0%} with the right digit")
