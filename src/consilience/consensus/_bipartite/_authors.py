"""SCCABG as its authors run it: the order of their steps, their thresholds and their units."""

from __future__ import annotations

from dataclasses import replace

from ..._base.progress import progress
from ._graph import SMALL, Graph, State, record, update_F


def follow_authors(graph: Graph, c: int, max_iter: int):
    """The authors' program: the rank test comes before S, on eigenvalues, with their thresholds.

    Returns (state, history, whether the test was passed).
    """
    adaptive, history = graph.mu > 0, []
    weigh = graph.blocks[0].W is not None
    right, sigma, _ = update_F(graph.total, graph.copies, c)
    shared = graph.shared() | {"right": right, "sigma": sigma}
    state = State(**shared, lam=0.5, rho=1.0, weigh=weigh, floor=0.0 if adaptive else SMALL, tol=1e-10)
    for _ in progress(range(max_iter), what="SCCABG, at most", unit="round"):
        right, sigma, values = update_F(graph.total, graph.copies, c)
        history.append(record(graph, state, values))
        too_few, too_many = values[:c].sum() < c - 1e-7, values.sum() > c + 1 - 1e-7
        if not too_few and not too_many:
            return state, history, True
        rho = 2 * state.rho if too_few else state.rho / 2
        state = replace(state, C=graph.C, rho=rho, right=right, sigma=sigma)
        graph.advance(state)
        # Weights that are nearly 1 are left as they are from then on (the conference version: exactly 1).
        if weigh and graph.total.least_W >= (0.99 if adaptive else 1.0):
            weigh = False
            if graph.total.least_W >= 1.0:
                graph.trust_all()
        state = replace(state, lam=2 * state.lam, weigh=weigh)
    return state, history, False
