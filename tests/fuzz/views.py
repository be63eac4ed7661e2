"""What is derived from an ensemble: dense, sparse and by blocks, against plain loops and scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import consilience as cs
from consilience._data.labels import Clusterings
from consilience._data.pairs import pattern_size
from consilience.errors import ConsilienceError

from . import ensembles
from .properties import Case, Suite, require


def make(rng: np.random.Generator) -> dict[str, Any]:
    made = ensembles.labels(rng)
    if rng.random() < 0.2 and len(made) > 2:
        made[rng.integers(len(made))] = -1  # unseen by all: allowed in an ensemble
        made = made[:, (made >= 0).any(axis=0)]
    if made.shape[1] == 0:
        made = np.zeros((len(made), 1), np.int64)
    m, weights = made.shape[1], None
    if rng.random() < 0.4:
        weights = rng.integers(1, 5, len(made)).astype(float)
    by_clustering = rng.choice([0.0, 1.0, 0.3, 2.5], m) if rng.random() < 0.5 else None
    return {
        "labels": made,
        "weights": weights,
        "clustering_weights": by_clustering,
        "draw": int(rng.integers(2**31)),
    }


suite = Suite("ensemble views", make, weight=0.08)


def ensemble(case: Case) -> cs.Ensemble:
    return case.memory["ensemble"]


@suite.promises("ensemble made")
def made(case: Case) -> None:
    labels = case.data["labels"]
    case.memory["ensemble"] = cs.Ensemble(Clusterings(labels.T), sample_weight=case.data["weights"])
    case.memory["before"] = labels.copy()
    for j in range(labels.shape[1]):
        back = ensemble(case).original_labels(j)
        wanted = [None if v < 0 else v for v in labels[:, j].tolist()]
        require(back.tolist() == wanted, f"original_labels({j}) is {back.tolist()} for {wanted}")


def brute(case: Case, a: np.ndarray, b: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(co-association, weight of clusterings that saw both) by loops over clusterings."""
    labels = case.data["labels"]
    together, seen = np.zeros((len(labels),) * 2), np.zeros((len(labels),) * 2)
    first = 0
    for j in range(labels.shape[1]):
        column = labels[:, j]
        both = (column[:, None] >= 0) & (column[None, :] >= 0)
        equal = both & (column[:, None] == column[None, :])
        values = np.unique(column[column >= 0])
        own = np.ones(values.size) if b is None else b[first : first + values.size]
        first += values.size
        place = np.searchsorted(values, np.where(column >= 0, column, values[0]))
        together += a[j] * equal * own[place][:, None]
        seen += a[j] * both
    return np.divide(together, seen, out=np.zeros_like(together), where=seen > 0), seen


@suite.promises("co-association dense, sparse, blocks")
def coassociation(case: Case) -> None:
    m, rng = case.data["labels"].shape[1], case.rng("weights")
    given = case.data["clustering_weights"]
    clusters = rng.uniform(0, 1, ensemble(case).n_base_clusters) if rng.random() < 0.3 else None
    options = {"clustering_weights": given, "cluster_weights": clusters}
    wanted, seen = brute(case, np.ones(m) if given is None else given, clusters)
    try:
        dense = ensemble(case).coassociation(**options)
    except ConsilienceError as error:
        require(given is not None and not given.any(), f"refused although some clustering counts: {error}")
        return
    require(
        np.allclose(dense, wanted, rtol=1e-12, atol=1e-12),
        f"dense differs by {np.abs(dense - wanted).max():.3g}",
    )
    sparse = ensemble(case).coassociation_sparse(**options)
    require(np.isfinite(sparse.data).all(), "the sparse form holds NaN or inf")
    off = np.abs(sparse.toarray() - dense).max()
    require(off <= 1e-12, f"sparse and dense differ by {off:.3g}")
    rows = int(rng.integers(1, len(dense) + 1))
    blocks = np.vstack([block for _, _, block in ensemble(case).coassociation_blocks(**options, rows=rows)])
    require(np.array_equal(blocks, dense), "blocks and dense differ")
    counts = ensemble(case).cooccurrence_counts(clustering_weights=given)
    require(np.allclose(counts, seen), "cooccurrence_counts differ from a plain count")
    require(pattern_size(ensemble(case)) == (brute(case, np.ones(m))[0] > 0).sum(), "pattern_size is another")


@suite.promises("contingency and indicator")
def contingency(case: Case) -> None:
    labels, weights = case.data["labels"], ensemble(case).sample_weight
    blocks = []
    for j in range(labels.shape[1]):
        values = np.unique(labels[labels[:, j] >= 0, j])
        blocks.append((labels[:, j][:, None] == values[None, :]).astype(float))
    Y = np.hstack(blocks)
    require(np.array_equal(ensemble(case).indicator().toarray(), Y), "indicator differs")
    wanted = Y.T @ (weights[:, None] * Y)
    require(np.allclose(ensemble(case).contingency(), wanted), "contingency differs")
    require(np.allclose(ensemble(case).contingency_sparse().toarray(), wanted), "contingency_sparse differs")
    require(np.allclose(ensemble(case).cluster_sizes(), weights @ Y), "cluster_sizes differ")


@suite.promises("compress, take, select, pickle")
def parts(case: Case) -> None:
    whole, rng = ensemble(case), case.rng("parts")
    small = whole.distinct()
    require(
        np.array_equal(small.labels[small.inverse], whole.labels),
        "compressed rows do not give the objects back",
    )
    require(
        small.n_samples == ensembles.distinct_rows(whole.labels), "compressed rows are not the distinct ones"
    )
    require(np.isclose(small.sample_weight.sum(), whole.sample_weight.sum()), "compression loses weight")
    require(pickle.loads(pickle.dumps(whole)) == whole, "a pickled ensemble differs")
    rows = rng.integers(0, whole.n_samples, int(rng.integers(1, whole.n_samples + 1)))
    some = whole.take(rows)
    for j in range(whole.n_clusterings):
        require(some.original_labels(j).tolist() == whole.original_labels(j)[rows].tolist(), "take differs")
    columns = rng.permutation(whole.n_clusterings)
    picked = whole.select(columns)
    require(np.array_equal(picked.labels, whole.labels[:, columns]), "select differs")
    both = cs.Ensemble.concatenate([whole, picked])
    require(np.array_equal(both.labels, np.hstack([whole.labels, picked.labels])), "concatenate differs")
    if whole.unseen.size < whole.n_samples:
        require(whole.drop_unseen().unseen.size == 0, "drop_unseen leaves some")


@suite.promises("NMI/ARI similarity = scikit-learn", 0.4)
def similarity(case: Case) -> None:
    if case.data["weights"] is not None:
        return
    labels = case.data["labels"]
    nmi, ari = ensemble(case).clustering_similarity("nmi"), ensemble(case).clustering_similarity("ari")
    for i in range(labels.shape[1]):
        for j in range(i):
            both = (labels[:, i] >= 0) & (labels[:, j] >= 0)
            if not both.any():
                continue
            a, b = labels[both, i], labels[both, j]
            for name, got, theirs in (
                ("NMI", nmi[i, j], normalized_mutual_info_score(a, b)),
                ("ARI", ari[i, j], adjusted_rand_score(a, b)),
            ):
                require(
                    abs(got - theirs) < 1e-9,
                    f"{name} of clusterings {i} and {j} is {got!r}, scikit-learn has {theirs!r}",
                )


@suite.promises("agreement within 0..1")
def agreement(case: Case) -> None:
    found = ensemble(case).sample_agreement()
    require(
        np.isfinite(found).all() and (found >= 0).all() and (found <= 1 + 1e-9).all(),
        f"agreement is {found.tolist()}",
    )
    require(
        np.array_equal(case.data["labels"], case.memory["before"]),
        "the labels that were passed in were changed",
    )
    repr(ensemble(case)), ensemble(case)._repr_html_()
