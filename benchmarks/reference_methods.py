"""Walks, links, factors, ridge representations and learned graphs written plainly, without merging objects.

Every pair of objects is held in dense numpy.

For speed and score beside the library's versions (``bench_baselines``), not for use.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.optimize import lsq_linear, minimize
from scipy.sparse.csgraph import connected_components
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
    """Normalized cut by all eigenvectors of a dense matrix."""
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


def together(labels: np.ndarray) -> np.ndarray:
    """(m, n, n) which pairs each clustering put together."""
    return np.stack([column[:, None] == column for column in labels.T])


def rce(labels: np.ndarray, c: int, rounds: int = 20) -> np.ndarray:
    """With one matrix of pairs a clustering, cleaned again in every round; both weights 1."""
    S = together(labels)
    m, tiny = len(S), 2.0**-52
    A, D = S.mean(axis=0), None
    for _ in range(rounds):
        a = (A + A.T) / 2
        C = np.zeros(A.shape)
        for apart_or_not in S:
            b = np.where(apart_or_not, np.sqrt(a), a / (1 + np.sqrt(1 - a)))
            C += np.log(np.maximum(1 - b, tiny) / np.maximum(b, tiny))
        free = (A > 0) & (A < 1)
        for _ in range(20):
            x = np.where(free, A, 0.5)
            G = 2 * m / x + 2 * m / (1 - x) + np.maximum(C, 0) / x
            B = m * (np.log(x / (1 - x)) - 2 / (1 - x))
            H = np.maximum(-C, 0) * x
            if D is not None:
                G += 2 * (np.maximum(D, 0) @ A) / x
                H += 2 * (np.maximum(-D, 0) @ A) * x
            A = np.where(free, np.minimum((-B + np.sqrt(B * B + 4 * G * H)) / (2 * G), 1), A)
            free &= (A > 0) & (A < 1)
        values, V = np.linalg.eigh(A @ A.T)
        D = (V / np.sqrt(np.maximum(values, 0) + 1e-3)) @ V.T
    return cut((A + A.T) / 2, c)


def components(S: np.ndarray) -> tuple[int, np.ndarray]:
    count, labels = connected_components(S > 0, directed=False)
    return int(count), labels


def trce(labels: np.ndarray, c: int, gamma: float = 1.0) -> np.ndarray:
    """With one row-stochastic matrix of pairs a clustering; a graph without exactly c pieces is cut."""
    P = [pairs / pairs.sum(axis=1, keepdims=True) for pairs in together(labels)]
    n, m = labels.shape
    alpha, rho, lam = np.full(m, 1 / m), 1.0, 0.0

    def divergence(B: np.ndarray) -> np.ndarray:
        logs = np.log(np.where(B > 0, B, 1))
        own = [np.log(np.where(p > 0, p, 1)) for p in P]
        return np.stack([np.maximum((p * (log - logs)).sum(axis=1), 0) for p, log in zip(P, own)], axis=1)

    B = sum(P) / m
    S = B = (B + B.T) / 2
    F = np.linalg.eigh(np.diag(S.sum(axis=1)) - S)[1][:, :c]
    for step in range(10):
        e = (divergence(B) / alpha).sum(axis=1)
        lam = 2 * np.sort(e)[max(n // 10, 1) - 1] if step == 0 else 1.1 * lam
        v = np.minimum(lam / np.maximum(2 * e, 1e-300), 1)
        g = np.maximum(((F[:, None] - F) ** 2).sum(axis=2), 0)
        C = v[:, None] ** 2 * sum(p / a for p, a in zip(P, alpha))
        pull = np.where(C > 0, rho * g, np.inf)
        pull -= pull.min(axis=1, keepdims=True)
        low, high = np.zeros(n), C.sum(axis=1)
        for _ in range(60):  # halving: rows of B add up to 1
            middle = (low + high) / 2
            more = (C / (pull + middle[:, None])).sum(axis=1) > 1
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        B = C / (pull + high[:, None])
        V = B - rho / (2 * gamma) * g
        falling = -np.sort(-V, axis=1)
        shift = (np.cumsum(falling, axis=1) - 1) / np.arange(1, n + 1)
        S = np.maximum(V - shift[np.arange(n), (falling > shift).sum(axis=1) - 1][:, None], 0)
        S = (S + S.T) / 2
        alpha = np.sqrt(np.maximum(v**2 @ divergence(B), 1e-12 * n))
        alpha /= alpha.sum()
        count, pieces = components(S)
        before, F = F, np.linalg.eigh(np.diag(S.sum(axis=1)) - S)[1][:, :c]
        if count == c and step:
            return pieces
        F = before if count > c else F
        rho *= 2 if count < c else 0.5 if count > c else 1
    return cut(S + 1e-12, c)


def ceshl(labels: np.ndarray, c: int, rounds: int = 100, lam: float = 1.0) -> np.ndarray:
    """With the graph of all pairs, whose eigenvectors are found in every round.

    A graph without exactly c pieces is cut.
    """
    Y = indicator(labels)
    K = Y.T @ Y
    sizes = np.diag(K)
    v0 = (K**2).sum(axis=0) / (labels.shape[1] * sizes**2)
    root = 1 / np.sqrt(K.sum(axis=1))
    M = (1 + lam) * np.eye(len(K)) - root[:, None] * K * root
    v = lsq_linear(np.linalg.cholesky(M).T, np.linalg.solve(np.linalg.cholesky(M), lam * v0), (0, 1)).x

    def graph(H: np.ndarray) -> np.ndarray:
        return H @ np.diag(v / np.maximum(H.sum(axis=0), 1e-12)) @ H.T

    def smallest(S: np.ndarray) -> np.ndarray:
        return np.linalg.eigh(np.diag(S.sum(axis=1)) - S)[1][:, :c]

    H, rho = Y, 100.0
    F = smallest(graph(H))
    for _ in range(rounds):

        def cost(x: np.ndarray, F: np.ndarray = F, rho: float = rho) -> tuple[float, np.ndarray]:
            H = x.reshape(Y.shape)
            De, Dv = np.maximum(H.sum(axis=0), 1e-12), np.maximum(H @ v, 1e-12)
            scaled = F / np.sqrt(Dv)[:, None]
            q = H.T @ scaled
            lengths, away, along = (q**2).sum(axis=1), H - Y, scaled @ q.T
            met = (H * along * (v / De)).sum(axis=1) / Dv
            slope = 2 * v**2 * away + rho * (v / De**2 * lengths + v * met[:, None] - 2 * (v / De) * along)
            return float((away**2).sum(axis=0) @ v**2 - rho * (v / De) @ lengths), slope.ravel()

        options = {"maxiter": 20, "gtol": 1e-3, "ftol": 0.0}
        found = minimize(
            cost, H.ravel(), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * H.size, options=options
        )
        H = found.x.reshape(Y.shape)
        S = graph(H)
        count, pieces = components(S)
        if count == c:
            return pieces
        F = F if count > c else smallest(S)
        rho *= 2 if count < c else 0.5
    return cut(S + 1e-12, c)


PLAIN = {
    "WEAC": weac,
    "ECPCS": ecpcs_hc,
    "ECPCS-MC": ecpcs_mc,
    "LCE": lce,
    "PTA": pta,
    "PTGP": ptgp,
    "NMFC": nmfc,
    "DREC": drec,
    "RCE": rce,
    "TRCE": trce,
    "CESHL": ceshl,
}
