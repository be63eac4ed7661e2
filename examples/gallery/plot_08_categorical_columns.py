"""
Categorical columns are clusterings
===================================

A column of categories ("how do you travel?": car, train, bicycle) sorts people into groups, and that is all a
clustering does. So a table of categories *is* an ensemble: no dummy variables, no scaling, no made-up
distance between train and bicycle.
"""

# %%
# A survey of 300 people and 8 questions, generated: four types of people, each with its favorite answers,
# given seven times in ten; some questions were not answered.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import OneHotEncoder

import consilience as cs

questions = {
    "travels by": ["car", "train", "bicycle", "bus"],
    "lives in": ["city", "suburb", "village"],
    "pays with": ["cash", "card", "phone"],
    "reads": ["paper", "screen", "books", "nothing"],
    "holiday": ["beach", "mountains", "cities", "at home"],
    "shops": ["market", "supermarket", "online"],
    "music": ["radio", "streaming", "records", "live", "silence"],
    "pet": ["dog", "cat", "no pet"],
}
rng = np.random.default_rng(5)
kind = rng.integers(4, size=300)
survey = {}
for question, words in questions.items():
    favorite = rng.permutation(np.arange(4) % len(words))[kind]
    answer = np.where(rng.random(300) < 0.7, favorite, rng.integers(len(words), size=300))
    survey[question] = np.array(words, object)[answer]
    survey[question][rng.random(300) < 0.08] = None  # not answered

# %%
# The dict of columns goes in as it is. None means that the question was not answered, and so does the word
# "none": an answer that means "I have no pet" needs another word.

ensemble = cs.Ensemble(survey)
print(ensemble)
methods = {
    "ECC": cs.consensus.ECC(4, random_state=0),
    "KCC": cs.consensus.KCC(4, random_state=0),
    "LWGP": cs.consensus.LWGP(4, random_state=0),
    "MixtureConsensus": cs.consensus.MixtureConsensus(4, random_state=0),
}
scores = {name: cs.metrics.ari(kind, method.fit_predict(ensemble)) for name, method in methods.items()}
filled = np.array([["?" if word is None else word for word in column] for column in survey.values()]).T
dummies = OneHotEncoder(sparse_output=False).fit_transform(filled)
scores["k-means on dummies"] = cs.metrics.ari(kind, KMeans(4, n_init=10, random_state=0).fit_predict(dummies))
best = cs.metrics.base_scores(ensemble, kind, missing="ignore")["ari"].max()
scores["best single question"] = best
for name, score in scores.items():
    print(f"{name:22} ARI {score:.2f}")

# %%
# Left: how well the four types are found again. All eight questions together say far more than any one of
# them, and nothing had to be turned into numbers; k-means on dummy variables needs that, and is no better
# here to speak of. Right: what the clusters of the mixture answer most often, with the share of the cluster
# that does; this is read off the table, nothing is a "feature".

model = methods["MixtureConsensus"]
fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained", width_ratios=[1, 1.7])
shade = [cs.plot.colors([0])[0] if name in methods else "0.7" for name in scores]
left.barh(list(scores), list(scores.values()), color=shade)
left.invert_yaxis()
left.set(xlabel="ARI with the four types", xlim=(0, 1))
left.spines[["top", "right"]].set_visible(False)
share = np.zeros((len(survey), 4))
for i, column in enumerate(survey.values()):
    for cluster in range(4):
        words, counts = np.unique(
            [word for word in column[model.labels_ == cluster] if word], return_counts=True
        )
        share[i, cluster] = counts.max() / counts.sum()
        right.text(cluster, i, words[counts.argmax()], ha="center", va="center")
image = right.imshow(share, cmap="Blues", alpha=0.6, vmin=0.3, vmax=1, aspect="auto")
right.set_xticks(range(4), [f"cluster {j}\n{(model.labels_ == j).sum()} people" for j in range(4)])
right.set_yticks(range(len(survey)), survey)
fig.colorbar(image, ax=right, label="share with this answer")
plt.show()
