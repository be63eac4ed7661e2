"""Mistakes of users, one a line: each is reported there by every checker, and nothing else is."""

import numpy as np

import consilience as cs

X = np.zeros((30, 3))
base = cs.generate.random_k(X)

cs.SPCE(n_cluster=3)  # mistake: a parameter
cs.SPCE("three")  # mistake: its type
cs.consensus.LWEA(3, instability_tolerance="0.4")  # mistake: of another
cs.ConsensusClustering(3, generators="random-k")  # mistake: a parameter of the pipeline
cs.SPCE(3).fit(base).label_.sum()  # mistake: an attribute of all methods
cs.SPCE(3).fit(base).clustering_weigths_.sum()  # mistake: one of its own
cs.consensus.EvidenceAccumulation(3).fit(base).clustering_weights_.sum()  # mistake: one of another method
cs.SCCABG(3).fit_predct(base)  # mistake: a method
cs.SPMTC(3).fit(X, tasks=X)  # mistake: a parameter of a method
cs.SPECE(3)  # mistake: a class
cs.consensus.LWAE(3)  # mistake: a class of a room
cs.generate.random_k(X, n_clustering=3)  # mistake: a parameter of a generator
cs.metrics.ari(X, X, missng="drop")  # mistake: a parameter of a measure
cs.Ensemble(base).n_sample.bit_length()  # mistake: an attribute of an ensemble
cs.MDEC(3).fit(X).ensemble_.coasociation()  # mistake: a method of an ensemble that was learned
cs.report(cs.SPCE(3).fit(base)).sav("page.html")  # mistake: a method of what a function returns
cs.choose_k(X, n_refs=19)  # mistake: a parameter of a study
cs.choose_k(X).verdct.upper()  # mistake: an attribute of a study
