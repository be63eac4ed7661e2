"""What users write and no checker may report; it runs as well."""

import numpy as np

import consilience as cs

rng = np.random.default_rng(0)
truth = np.repeat([0, 1], 15)
X = rng.normal(size=(30, 3)) + 9 * truth[:, None]
base = cs.generate.random_k(X, n_clusterings=6, n_clusters=(None, 4), random_state=0)

weights: np.ndarray = cs.SPCE(n_clusters=2, threshold=0.2).fit(base).clustering_weights_
heights: np.ndarray = cs.consensus.EvidenceAccumulation(2).fit(base, sample_weight=np.ones(30)).heights_
share: float = cs.metrics.ari(cs.consensus.LWEA(2).fit_predict(base), truth)
members: int = cs.ConsensusClustering(2, n_clusterings=5, random_state=0).fit(X).ensemble_.n_clusterings
learned: np.ndarray = cs.ConsensusClustering(2, method="lwea").fit(X).method_.cluster_reliability_
reliability: np.ndarray = cs.MDEC(2, n_clusterings=5, random_state=0).fit(X).cluster_reliability_
found: np.ndarray = cs.consensus.method("sccabg")(n_clusters=2).fit(base).confidence_
told: bool = cs.consensus.LWGP(2).set_params(instability_tolerance=0.5).fit(base).converged_
tasks: list[np.ndarray] = cs.multitask.LSSMTC(2, tol=1e-3, random_state=0).fit([X, X]).task_labels_
study: cs.io.ChooseKResult = cs.choose_k(X, n_clusters=[2], n_clusterings=4, null=None, random_state=0)
number: int = study.n_clusters + len(study.alternatives)
sure: str = cs.ConsensusClustering(2).set_params(n_clusters="auto", random_state=0).fit(X).study_.verdict
together: np.ndarray = cs.Ensemble([[0, 0, 1], ["a", "b", "b"]]).coassociation()
