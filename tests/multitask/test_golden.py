"""The public LSSMTC program, step by step: P, W and M after 1, 5 and 20 rounds from its own start."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience.multitask._model import Model
from consilience.multitask._subspaces import PROGRAM_EPSILON, NonNegative


@pytest.fixture(params=["lam50", "lam75"])
def golden(request, shared_dir):
    with np.load(shared_dir / "golden" / f"lssmtc_comp.vs.sci_{request.param}.npz", allow_pickle=False) as z:
        case = dict(z)
    case["Xs"] = [
        sp.csr_array(
            (case[f"X{t}_val"], (case[f"X{t}_row"], case[f"X{t}_col"])), shape=tuple(case[f"X{t}_shape"])
        )
        for t in (0, 1)
    ]
    case["lam"] = json.loads(str(case["params"]))["lam"]
    return case


def test_iterates_equal_the_program(golden):
    Xs = golden["Xs"]
    form = NonNegative(sp.csr_array(sp.vstack(Xs)), 2)
    model = Model(Xs, [golden["P0_0"].copy(), golden["P0_1"].copy()], form, golden["lam"], PROGRAM_EPSILON)
    saved = {1: ("P{}_it1", "W_it1", "M_it1"), 5: ("P{}_it5", "W_it5", "M_it5"), 20: ("P_final{}", "W", "M")}
    for i in range(1, 21):
        model.round()
        value = sum(
            golden["lam"] * ((X.toarray() - P @ own.T) ** 2).sum()
            + (1 - golden["lam"]) * ((X @ model.W - P @ model.M.T) ** 2).sum()
            for X, P, own in zip(Xs, model.Ps, model.Ms)
        )
        np.testing.assert_allclose(value, golden["objective"][i - 1], rtol=1e-10)
        if i in saved:
            P, W, M = saved[i]
            for t in (0, 1):
                np.testing.assert_allclose(model.Ps[t], golden[P.format(t)], atol=1e-8)
            np.testing.assert_allclose(model.W, golden[W], atol=1e-8)
            np.testing.assert_allclose(model.M, golden[M], atol=1e-8)
    # A zero of W stays zero: the program's subspace is its first two features.
    assert np.flatnonzero(model.W.any(axis=1)).tolist() == [0, 1]


def test_the_estimator_runs_the_program(golden):
    start = np.concatenate([golden["P0_0"], golden["P0_1"]])
    model = cs.multitask.LSSMTC(
        2,
        preprocess="none",
        trade_off=golden["lam"],
        subspace="nonnegative",
        n_components=2,
        init=start,
        max_iter=20,
        tol=0,
    )
    with pytest.warns(UserWarning, match="did not converge"):
        model.fit(golden["Xs"])
    P = np.concatenate([golden["P_final0"], golden["P_final1"]])
    # Clusters are numbered by size, and columns of P scaled with those of the centers.
    errors = []
    for order in ([0, 1], [1, 0]):
        parts = model.parts_[:, order]
        errors.append(np.abs(parts / parts.max(axis=0) - P / P.max(axis=0)).max())
    assert min(errors) < 1e-8
