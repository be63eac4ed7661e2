"""
The report, embedded
====================

One call writes the whole story of a fit to a page: the answer, how sure it is, the evidence, what
distinguishes the clusters. The page is one file that opens offline; a notebook shows it in place.
"""

# %%
# Fit the wine data and write the page.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

import consilience as cs

wine = load_wine()
model = cs.ConsensusClustering(n_clusters=3, random_state=0).fit(wine.data)
features = cs.io.Features(wine.data, feature_names=wine.feature_names)
with tempfile.TemporaryDirectory() as folder:
    page = cs.report(
        model,
        features,
        labels_true=wine.target_names[wine.target],
        path=Path(folder) / "wine.html",
        title="Wines",
    )
    print(f"one file of {page.path.stat().st_size / 1e3:.0f} kB")

# %%
# Its parts can be had one by one as displays. How often two wines are together; how sure the clusterings are,
# by cluster; and what distinguishes the clusters, in units of the spread inside.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", width_ratios=[1.2, 1, 1])
cs.plot.CoassociationDisplay.from_estimator(model).plot(axes[0])
cs.plot.ConfidenceDisplay.from_estimator(model).plot(axes[1])
cs.plot.FeaturesDisplay.from_estimator(model, features).plot(axes[2])
plt.show()

# %%
# Two of the numbers on it, in words: how many wines are doubtful, and what the consensus gained over its
# members.

print(f"{(model.confidence_ < 0.6).sum()} of {len(wine.data)} wines are doubtful")
for name, values in cs.metrics.compare_with_base(model.ensemble_, model.labels_, wine.target).items():
    print(f"{name:10} ARI {values['ari']:.2f}")

# %%
# And the page itself, as a notebook shows it:

page
