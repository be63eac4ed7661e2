"""
Combining annotators, some of whom guess
========================================

Nine people sorted the same 240 images. They use their own words, some split finer than others, one saw half
of the images, and two hardly looked. A consensus needs no common vocabulary, and methods that weigh their
input find out by themselves whom to trust.
"""

# %%
# The annotators are simulated: each guesses at a rate of its own, and names the groups as it likes.

import matplotlib.pyplot as plt
import numpy as np

import consilience as cs

rng = np.random.default_rng(1)
n, truth = 240, np.arange(240) * 4 // 240
mistakes = {
    "Ada": 0.1,
    "Ben": 0.15,
    "Cleo": 0.15,
    "Dan": 0.2,
    "Eve": 0.25,
    "Finn": 0.3,
    "Gus": 0.35,
    "Hal": 0.85,
    "Ida": 0.95,
}
table = {}
for name, rate in mistakes.items():
    seen = np.where(rng.random(n) < rate, rng.integers(4, size=n), truth)
    words = rng.permutation([f"{name}'s {word}" for word in ("a", "b", "c", "d")])
    table[name] = words[seen].astype(object)
table["Ben"] = np.array(
    [word + rng.choice(["+", "-"]) for word in table["Ben"]], object
)  # splits every group in two
table["Dan"][rng.random(n) < 0.5] = None  # saw half of the images

# %%
# ``WEAC`` trusts a clustering by how well it agrees with the others; it never sees the truth.

model = cs.consensus.WEAC(n_clusters=4).fit(table)
trust = dict(zip(table, model.clustering_weights_))
alone = dict(zip(table, cs.metrics.base_scores(table, truth, missing="ignore")["ari"]))
for name in table:
    print(
        f"{name:5} guesses {mistakes[name]:4.0%}   ARI with the truth {alone[name]:5.2f}   trust "
        f"{trust[name]:.3f}"
    )
print(
    f"consensus: ARI {cs.metrics.ari(truth, model.labels_):.2f}, {(model.confidence_ < 0.6).sum()} images "
    f"doubtful"
)

# %%
# Left: what each annotator said, one color a word, images in the order of the truth; Hal and Ida are
# confetti, Dan has gaps, Ben has twice as many words. The consensus is below. Right: the trust that was
# learned falls as an annotator guesses more.

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", width_ratios=[1.6, 1])
ensemble = cs.Ensemble(table)
rows = [*ensemble.labels.T, cs.align(model.labels_, truth)]
picture = np.array([np.where(row < 0, np.nan, row) for row in rows])
left.pcolormesh(picture, cmap="tab10", vmin=0, vmax=9)
left.axhline(len(table), color="white", lw=6)
left.set_yticks(np.arange(len(rows)) + 0.5, [*table, "consensus"])
left.invert_yaxis()
left.set(xlabel="images", xticks=[])
right.scatter(mistakes.values(), trust.values(), s=40, color=cs.plot.colors([0])[0])
for i, name in enumerate(table):
    right.annotate(
        name, (mistakes[name], trust[name]), xytext=(6, 4 if i % 2 else -11), textcoords="offset points"
    )
right.set(xlabel="share of images guessed", ylabel="trust learned", ylim=(0, 0.2))
right.xaxis.set_major_formatter("{x:.0%}")
right.margins(x=0.15)
right.spines[["top", "right"]].set_visible(False)
plt.show()
