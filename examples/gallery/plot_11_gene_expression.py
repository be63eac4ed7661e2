"""
Subtypes from gene expression, end to end
=========================================

From a table of counts to subtypes: normalize, ask how many there are, take the consensus, look at the
evidence, and name the genes. The counts are simulated, so the end can be checked.
"""

# %%
# 120 tumours and 1,000 genes. Three subtypes raise 40 genes each; tumours were sequenced to different depths.

import matplotlib.pyplot as plt
import numpy as np

import consilience as cs

rng = np.random.default_rng(0)
subtype = rng.choice(3, size=120, p=[0.5, 0.3, 0.2])
level = rng.gamma(0.6, 12, size=1000)
raised = np.ones((3, 1000))
for kind in range(3):
    raised[kind, 40 * kind : 40 * kind + 40] = 3.5
depth = rng.uniform(0.4, 2.5, size=(120, 1))
counts = rng.poisson(depth * level * raised[subtype] * rng.gamma(3, 1 / 3, size=(120, 1000)))

# %%
# Counts per 10,000, logarithms, and the 200 genes that vary most about their mean.

X = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
genes = np.argsort(-X.var(axis=0))[:200]
names = [f"gene {gene}" for gene in genes]
X = X[:, genes]

# %%
# How many subtypes? Then the consensus for that many.

study = cs.choose_k(X, n_clusters=(2, 6), random_state=0)
print(study)
model = cs.ConsensusClustering(n_clusters=study.n_clusters, random_state=0).fit(X)
print(f"ARI with the simulated subtypes: {cs.metrics.ari(subtype, model.labels_):.2f}")
for name, values in cs.metrics.compare_with_base(model.ensemble_, model.labels_, subtype).items():
    print(f"  {name:10} ARI {values['ari']:.2f}")

# %%
# How often two tumours are together, ordered by cluster: bright squares are subtypes that the base
# clusterings agree on.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", width_ratios=[1.15, 1])
cs.plot.CoassociationDisplay.from_estimator(model).plot(left)
cs.plot.ConfidenceDisplay.from_estimator(model).plot(right)
plt.show()

# %%
# Which genes make a cluster? The largest effects are those that were raised in the simulation (numbers 0 to
# 119, forty for each subtype).

display = cs.plot.FeaturesDisplay.from_estimator(model, cs.io.Features(X, feature_names=names))
display.plot()
plt.show()
for cluster in range(study.n_clusters):
    top = display.top(cluster, 20)
    print(
        f"cluster {cluster}: of its 20 strongest genes, {sum(genes[g] < 120 for g in top)} were raised in "
        f"the simulation"
    )
