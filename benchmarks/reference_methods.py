"""Walks, links, factors and ridge representations written down plainly: every pair of objects in dense numpy, nothing merged.

For speed and score beside the library's versions (``bench_baselines``), not for use.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score


def indicator(labels: np.ndarray) -> np.ndarray:
    """(n, k), all base clusters side by side."""
    return np.hstack([labels[:, [i]] == np.unique(labels[:, i]) for i in range(labels.shape[1])]).astype(
        float
    )


def starts_of(labels: np.ndarray) -> np.ndarray:
    """The first base cluster of each clustering."""
    return np.cumsum([0, *(np.unique(labels[:, i]).size for i in range(labels.shape[1] - 1))])


def best_k_means(points: np.ndarray, c: int) -> np.ndarray:
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    return KMeans(c, n_init=10, random_state=0).fit_predict(points)


def cut(S: np.ndarray, c: int) -> np.ndarray:
    """Normalised cut by all eigenvectors of a dense matrix."""
    root = 1 / np.sqrt(S.sum(axis=1))
    return best_k_means(np.linalg.eigh(root[:, None] * S * root)[1][:, -c:], c)


def cut_bipartite(B: np.ndarray, c: int) -> np.ndarray:
    """The same of the graph of objects and clusters."""
    n, k = B.shape
    G = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((k, k))]])
    root = 1 / np.sqrt(G.sum(axis=1))
    return best_k_means(np.linalg.eigh(root[:, None] * G * root)[1][:n, -c:], c)


def average_linkage(S: np.ndarray, c: int) -> np.ndarray:
    D = np.maximum(1 - (S + S.T) / 2, 0)
    np.fill_diagonal(D, 0)
    return cut_tree(linkage(squareform(D, checks=False), "average"), c)[:, 0]


def jaccard(Y: np.ndarray) -> np.ndarray:
    K = Y.T @ Y
    sizes = np.diag(K)
    return K / (np.add.outer(sizes, sizes) - K)


def trajectories(S: np.ndarray, steps: int) -> np.ndarray:
    """Cosines of the rows of [P, P^2, ...] side by side."""
    P = S / np.maximum(S.sum(axis=1, keepdims=True), 1e-300)
    power, Q = P, P @ P.T
    for _ in range(steps - 1):
        power = power @ P
        Q += power @ power.T
    root = 1 / np.sqrt(np.maximum(np.diag(Q), 1e-300))
    return root[:, None] * Q * root


def spread(labels: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """(n, n) mean over the clusterings of the similarity of the two objects' clusters."""
    E = np.zeros((len(labels), len(labels)))
    for column, first in zip(labels.T, starts_of(labels)):
        codes = first + np.unique(column, return_inverse=True)[1]
        E += Z[np.ix_(codes, codes)]
    return E / labels.shape[1]


def walked_clusters(labels: np.ndarray) -> np.ndarray:
    J = jaccard(indicator(labels))
    np.fill_diagonal(J, 0)
    return trajectories(J, 20)


def ecpcs_hc(labels: np.ndarray, c: int) -> np.ndarray:
    Z = walked_clusters(labels)
    np.fill_diagonal(Z, 1)
    return average_linkage(spread(labels, Z), c)


def ecpcs_mc(labels: np.ndarray, c: int) -> np.ndarray:
    groups, Y = cut(walked_clusters(labels), c), indicator(labels)
    return np.stack([Y[:, groups == j].mean(axis=1) for j in range(c)], 1).argmax(axis=1)


def lce(labels: np.ndarray, c: int) -> np.ndarray:
    Y = indicator(labels)
    J, Z = jaccard(Y), np.zeros((Y.shape[1],) * 2)
    starts = starts_of(labels)
    for first, last in zip(starts, [*starts[1:], Y.shape[1]]):
        for a in range(first, last):
            Z[a, first:last] = np.minimum(J[a], J[first:last]).sum(axis=1)
        Z[range(first, last), range(first, last)] = 0
    Z *= 0.8 / Z.max()
    np.fill_diagonal(Z, 1)
    return cut_bipartite(Y @ Z, c)


def walked_objects(labels: np.ndarray) -> np.ndarray:
    n = len(labels)
    Y = indicator(labels)
    A = Y @ Y.T / labels.shape[1]
    np.fill_diagonal(A, 0)
    steps = max(1, min(20, int(np.sqrt(n) / 2)))
    least = np.partition(A, n - steps, axis=1)[:, n - steps]
    S = np.where(least[:, None] <= A, A, 0)
    return trajectories(np.maximum(S, S.T), steps)


def pta(labels: np.ndarray, c: int) -> np.ndarray:
    return average_linkage(walked_objects(labels), c)


def ptgp(labels: np.ndarray, c: int) -> np.ndarray:
    Y = indicator(labels)
    return cut_bipartite(walked_objects(labels) @ (Y / Y.sum(axis=0)), c)


def nmfc(labels: np.ndarray, c: int) -> np.ndarray:
    """From k-means on the rows; other starts, of which the library takes nine more, are left out."""
    Y = indicator(labels)
    A = Y @ Y.T / labels.shape[1]
    Q = np.eye(c)[KMeans(c, n_init=10, random_state=0).fit_predict(A)] + 0.2
    Q /= np.linalg.norm(Q, axis=0)
    S, history = Q.T @ A @ Q, []
    for _ in range(500):
        X = A @ Q @ S
        Q = Q * np.sqrt(X / (Q @ (Q.T @ X)))
        G = Q.T @ Q
        S = S * np.sqrt((Q.T @ A @ Q) / (G @ S @ G))
        history.append(np.linalg.norm(A - Q @ S @ Q.T) ** 2)
        if len(history) > 5 and abs(history[-6] - history[-1]) <= 5e-6 * history[-1]:
            break
    return Q.argmax(axis=1)


def drec(labels: np.ndarray, c: int) -> np.ndarray:
    """Ridge representations of all objects by all objects, lam = 100, five rounds."""
    X = indicator(labels).T
    gram = X.T @ X
    values, vectors = np.linalg.eigh(gram)
    s, Z = np.full(len(labels), 100.0), gram
    for _ in range(5):
        Z = vectors @ ((vectors.T @ gram) / (values[:, None] + s))
        s = 200 * np.linalg.norm(X - X @ Z, axis=0)
    U, e, _ = np.linalg.svd(Z)
    U = U[:, e > 1e-4 * e[0]] * np.sqrt(e[e > 1e-4 * e[0]])
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    return cut((U @ U.T) ** 4, c)


def weac(labels: np.ndarray, c: int) -> np.ndarray:
    m = labels.shape[1]
    weights = np.array(
        [
            np.mean(
                [
                    normalized_mutual_info_score(labels[:, i], labels[:, j], average_method="geometric")
                    for j in range(m)
                    if j != i
                ]
            )
            for i in range(m)
        ]
    )
    S = np.zeros((len(labels), len(labels)))
    for weight, column in zip(weights / weights.sum(), labels.T):
        S += weight * (column[:, None] == column)
    return average_linkage(S, c)


PLAIN = {
    "WEAC": weac,
    "ECPCS": ecpcs_hc,
    "ECPCS-MC": ecpcs_mc,
    "LCE": lce,
    "PTA": pta,
    "PTGP": ptgp,
    "NMFC": nmfc,
    "DREC": drec,
}
