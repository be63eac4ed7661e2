"""
Reading a confidence curve
==========================

``confidence_`` says how sure the base clusterings are of each object's cluster. Can it be relied on? Where
classes are known, a reliability curve answers: of the objects with confidence around 0.9, how many are
rightly placed?
"""

# %%
# Two sets: digits, whose classes are much what clusterings find, and a cloud without clusters whose classes
# are rings around its center, from the inner quarter of the points to the outer one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import consilience as cs

X, digits = load_digits(return_X_y=True)
X, digits = X[:800], digits[:800]
rng = np.random.default_rng(0)
cloud = rng.normal(size=(800, 2))
radius = np.linalg.norm(cloud, axis=1)
ring = np.digitize(radius, np.quantile(radius, [0.25, 0.5, 0.75]))

models = {
    "digits": (cs.ConsensusClustering(10, random_state=0).fit(X), digits),
    "a cloud in four rings": (
        cs.ConsensusClustering(4, generator="random-k", method="lwea", random_state=0).fit(cloud),
        ring,
    ),
}

# %%
# A bar is the share of rightly placed objects in a bin of confidence; the number on it counts the objects,
# and on the dashed line share and confidence are equal. Left, the bars rise: the surest objects are right
# most often. Right, the clusterings agree on sectors, not on rings: the surest objects are hardly more often
# right than the others (the first bar stands for 23 objects and says little).

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", sharey=True)
for ax, (name, (model, truth)) in zip(axes, models.items()):
    display = cs.plot.CalibrationDisplay.from_estimator(
        model, truth, edges=[0, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    ).plot(ax)
    ax.set_title(f"{name}: {cs.metrics.accuracy(truth, model.labels_):.0%} rightly placed")
    print(name)
    for low, high, count, right in zip(display.edges, display.edges[1:], display.counts, display.right):
        if count:
            print(f"  confidence {low:.1f} to {high:.1f}: {count:4} objects, {right:.0%} rightly placed")
axes[1].set_ylabel("")
plt.show()

# %%
# So use it as an order: look first at what is below 0.6. It tells how stable a grouping is, not that it is
# the grouping you want.

model = models["digits"][0]
doubtful = model.confidence_ < 0.6
placed = cs.align(model.labels_, digits) == digits
print(
    f"digits: {doubtful.sum()} doubtful images, {placed[doubtful].mean():.0%} of them rightly placed; ",
    end="",
)
print(f"of the others {placed[~doubtful].mean():.0%}")
