"""RSEC and NRSEC: each step as a minimizer, the loop against a plain one, and what the paper prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import consilience as cs
from consilience._kernels.eigen import eigenpairs, singular
from consilience._kernels.eigen.singular import LowRank
from consilience._kernels.programs import low_rank
from consilience.consensus._lowrank import _base as lowrank_base
from consilience.consensus._lowrank import _lagrangian as lagrangian
from consilience.consensus._lowrank._base import co_association
from consilience.consensus._lowrank.nrsec import linearize
from consilience.errors import InputError

from ...zoo import planted, same_partition

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


def _load_reference():
    spec = importlib.util.spec_from_file_location("reference_rsec", BENCHMARKS / "reference_rsec.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain = _load_reference()


def full(model, name):
    """(n, n) matrix of all objects from the one of distinct objects."""
    inverse = model.distinct_.inverse
    return getattr(model, name)[inverse][:, inverse]


# One step
# ----------------------------------------------------------------------------------------------------


@pytest.fixture
def tiny(seed):
    """A random state of the Lagrangian on four weighted objects: (S, root, J, B, E, Y1, Y2, mu)."""
    rng = np.random.default_rng(seed)
    root = np.sqrt(np.array([1.0, 3.0, 2.0, 1.0]))
    S = np.abs(rng.random((4, 4)))
    S = (S + S.T) / 2 * np.outer(root, root)
    left, right = (np.linalg.qr(rng.standard_normal((4, 2)))[0] for _ in range(2))
    J = LowRank(left, np.array([0.9, 0.4]), right, right, 0.0, 0)
    return S, root, J, 0.3 * rng.standard_normal((4, 2)), 0.7


def lagrangian_of_Z(Z, S, J, B, E, Y1, Y2, mu):
    """Eq. (12)."""
    rest, gap = S - S @ Z - E, Z - J
    return (
        -0.5 * np.trace(B.T @ (Z + Z.T) @ B)
        + (Y1 * rest).sum()
        + (Y2 * gap).sum()
        + mu / 2 * ((rest**2).sum() + (gap**2).sum())
    )


def two_steps(errors_of, tiny):
    """Everything before and after a second step (the first makes E and the multipliers non-zero)."""
    S, root, J, B, mu = tiny
    frame = lagrangian.Frame(*eigenpairs(S, which="largest"), root, n_clusters=2)
    errors = errors_of(frame, S)
    errors.step(J, B, mu, 1.3 * mu)
    now = {"E": errors.error().copy(), "Y2": frame.U @ frame.Y2.T, "mu": 1.3 * mu}
    if isinstance(errors, lagrangian.ColumnErrors):
        now["Y1"] = frame.U @ (mu * (1 - errors.share[:, None]) * errors.Q).T
    else:
        now["Y1"] = errors.Y1.T.copy()
    residual, _ = errors.step(J, B, 1.3 * mu, 2 * mu)
    Jd = frame.U @ J.dense().T
    Z = Jd + frame.U @ frame.gap.T
    return frame, errors, now, Jd, Z, residual


ERRORS = [
    pytest.param(lambda frame, S: lagrangian.ColumnErrors(frame, 0.8), id="columns"),
    pytest.param(lambda frame, S: lagrangian.EntryErrors(frame, 0.2, S.copy()), id="entries"),
]


@pytest.mark.parametrize("errors_of", ERRORS)
def test_step_of_Z_minimizes_the_lagrangian(errors_of, tiny):
    S, _, low, B, _ = tiny
    frame, _, now, J, Z, _ = two_steps(errors_of, tiny)

    def f(z):
        return lagrangian_of_Z(z.reshape(4, 4), S, J, B, now["E"], now["Y1"], now["Y2"], now["mu"])

    generic = minimize(f, np.zeros(16), method="BFGS", options={"gtol": 1e-9})
    assert np.allclose(Z, generic.x.reshape(4, 4), atol=1e-5)
    # Eq. (17), and what the next J is shrunk from
    assert np.allclose(frame.U @ frame.Y2.T, now["Y2"] + now["mu"] * (Z - J), atol=1e-6)
    assert np.allclose(low.dense() + frame.rest, (frame.U.T @ Z).T + frame.Y2 / (2 * 0.7), atol=1e-6)


@pytest.mark.parametrize("errors_of", ERRORS)
def test_step_of_E_minimizes_the_lagrangian_of_the_full_problem(errors_of, tiny):
    """The scaled thresholds are those of the problem in which objects are repeated."""
    S, root, *_ = tiny
    _, errors, now, _, Z, residual = two_steps(errors_of, tiny)
    rows = np.repeat(np.arange(4), (root**2).round().astype(int))

    def expand(X):
        return (X / np.outer(root, root))[rows][:, rows]

    rest, Y1, E, mu = expand(S - S @ Z), expand(now["Y1"]), expand(errors.error()), now["mu"]

    def f(E):
        size = 0.8 * np.linalg.norm(E, axis=0).sum() if hasattr(errors, "share") else 0.2 * np.abs(E).sum()
        return size + (Y1 * (rest - E)).sum() + mu / 2 * ((rest - E) ** 2).sum()

    rng = np.random.default_rng(0)
    best = f(E)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(100):
            assert best <= f(E + scale * rng.standard_normal(E.shape)) + 1e-9
            assert best <= f(E * (1 + scale * rng.standard_normal(E.shape[1]))) + 1e-9
    assert np.abs(rest - E).max() <= residual + 1e-6


def test_step_of_H_minimizes_the_trace(seed):
    """Against random orthonormal matrices, and Dz against its definition on repeated objects."""
    rng = np.random.default_rng(seed)
    root = np.sqrt(np.array([2.0, 1.0, 1.0, 3.0, 1.0]))
    frame = lagrangian.Frame(*eigenpairs(np.eye(5), which="largest"), root, n_clusters=2)
    Z = rng.standard_normal((5, 5))
    frame.graph[:] = Z
    frame.blocks(lambda a, b: low_rank.symmetrize_inplace(frame.graph, True, a, b))
    W = (np.abs(Z) + np.abs(Z.T)) / 2
    assert np.allclose(frame.graph, W, atol=1e-6)
    state = lagrangian.State.zero(frame, 2)
    state.H = old = np.linalg.qr(rng.standard_normal((5, 2)))[0] * 0.3
    bad = lagrangian.update_H(frame, state)
    rows = np.repeat(np.arange(5), (root**2).round().astype(int))
    whole = ((W + old @ old.T) / np.outer(root, root))[rows][:, rows]
    degrees = whole.sum(axis=1)[np.unique(rows, return_index=True)[1]]
    assert bad == (degrees <= 0).sum() == 0
    assert np.allclose(state.scale, degrees**-0.5, atol=1e-6)
    L = np.eye(5) - state.scale[:, None] * (W + old @ old.T) * state.scale
    best = np.trace(state.H.T @ L @ state.H)
    assert np.allclose(state.H.T @ state.H, np.eye(2), atol=1e-10)
    for _ in range(300):
        other = np.linalg.qr(rng.standard_normal((5, 2)))[0]
        assert best <= np.trace(other.T @ L @ other) + 1e-6


def test_symmetrize_in_tiles():
    Z = np.random.default_rng(0).standard_normal((150, 150)).astype(np.float32)
    for absolute, expected in ((True, (np.abs(Z) + np.abs(Z.T)) / 2), (False, (Z + Z.T) / 2)):
        W = Z.copy()
        for start in range(0, 150, 64):
            low_rank.symmetrize_inplace(W, absolute, start, min(start + 64, 150))
        assert np.allclose(W, expected)


def test_directions_of_the_gap_that_do_not_matter_are_left_out(monkeypatch):
    """The graph lacks at most a ten-thousandth of |Z|, and the bound on max |Z - J| remains a bound.

    Terms of H are never left out.
    """
    monkeypatch.setattr(lagrangian, "_FEW_DIRECTIONS", 10)
    rng = np.random.default_rng(0)
    root = np.sqrt(rng.integers(1, 4, 40).astype(float))
    frame = lagrangian.Frame(*eigenpairs(np.eye(40), which="largest"), root, n_clusters=2)
    left, right = (np.linalg.qr(rng.standard_normal((40, 3)))[0] for _ in range(2))
    J = LowRank(left, np.ones(3), right, right, 0.0, 0)
    for spread in (0.0, 0.5, 2.0):  # all directions matter, some, none
        for pulled in (False, True):
            frame.gap[:] = rng.standard_normal((40, 40)) * 10.0 ** (-spread * np.arange(1, 41))
            if spread == 2.0:
                frame.gap[:] *= 1e-4
            frame._pull = np.zeros((40, 0), np.float32), np.zeros((0, 40), np.float32)
            if pulled:
                B = 0.1 * rng.standard_normal((40, 2))
                frame.start(tol=0.0)
                frame.rotate_term(B, 0.5)
                frame.gap[:] += B @ (frame.U.T @ B).T  # 1 / (mu (1 + lam^2)) is 1
            exact = frame.gap @ frame.U.T
            size = np.hypot(np.sqrt(3), np.linalg.norm(exact))
            bound = frame.gap_entries(np.linalg.norm(frame.gap, axis=1), J)
            off = np.linalg.norm(frame.graph - exact)
            assert off <= 1e-4 * size
            assert (off > 1e-6) == (spread > 0)
            assert bound >= np.abs(exact / np.outer(root, root)).max() * (1 - 1e-5)


def test_terms_of_H_are_all_of_the_gap_where_S_has_no_part():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    lam = np.where(np.arange(30) < 5, 2.0, 0.0)
    frame = lagrangian.Frame(lam, U, np.ones(30), n_clusters=2)
    errors = lagrangian.ColumnErrors(frame, 0.1)
    nothing = lagrangian.State.zero(frame, 2).J
    for mu in (0.5, 0.7, 1.0):
        errors.step(nothing, rng.standard_normal((30, 2)), mu, 1.4 * mu)
        left, right = frame._pull
        assert np.allclose(frame.gap[:, 5:], (left @ right)[:, 5:], atol=1e-5)


def test_the_end_is_seen_by_entries():
    """A bound by norms is several times too large and would cost iterations.

    Close to ``tol``, entries are looked at.
    """
    labels, _ = planted(0, n=90, m=6, noise=0.1)
    ensemble = cs.Ensemble(labels)
    model = cs.RSEC(3, random_state=0).fit(ensemble)
    weights = {"low_rank_weight": model.low_rank_weight, "error_weight": model.error_weight}
    expected = plain.rsec(co_association(ensemble, "together"), 3, **weights)
    assert model.n_iter_ == len(expected["history"])
    assert model.history_[-1]["gap"] == pytest.approx(expected["history"][-1]["gap"], rel=0.2)


def test_basis_grows_only_by_what_is_felt():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    frame = lagrangian.Frame(np.ones(10), U[:, :10].copy(), np.ones(30), n_clusters=2)
    frame.admit(np.column_stack([U[:, 3] + 1e-6 * U[:, 12], U[:, 4] + 1e-2 * U[:, 13]]), unfelt=1e-4)
    assert frame.size == 11
    assert abs(frame.U[:, 10] @ U[:, 13]) == pytest.approx(1.0)


def test_slopes_of_the_concave_penalty():
    """Lambda = (1 - sigma/gamma)_+ and W = (1 - |E|/gamma)_+ are derivatives.

    They are those of |t| - t^2/(2 gamma), |t| <= gamma.
    """
    values, E, root = np.array([3.0, 1.0]), np.array([[4.0, -2.0], [0.5, 0.0]]), np.array([2.0, 1.0])
    slopes, entries = linearize(values, E, root, gamma=2.0)
    assert slopes.tolist() == [0.0, 0.5]
    assert np.allclose(entries, [[0.5, 0.5], [0.875, 1.0]])


# The loop
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_equals_the_plain_algorithm_on_all_objects(method, missing):
    """Compressed, rotated, partly in single precision: the same Z, E and labels as n x n matrices give."""
    labels, _ = planted(0, n=90, m=6, noise=0.1, missing=missing)
    labels = labels[np.random.default_rng(0).integers(0, 90, 120)]  # repeated objects
    ensemble = cs.Ensemble(labels)
    options = {"low_rank_weight": 1.0, "error_weight": 0.03, "growth": 1.4, "tol": 1e-6}
    twice = {"linearize_about": "convex"} if method == "NRSEC" else {}
    model = getattr(cs.consensus, method)(3, random_state=0, **options, **twice).fit(ensemble)
    assert model.distinct_.n_samples < 110
    S = co_association(ensemble, "auto")
    kind = "columns" if method == "RSEC" else "entries"
    steps = [sum(entry.get("linearization", 1) == k for entry in model.history_) for k in (0, 1)]
    expected = None
    for n_iter in steps:  # as many iterations: the stopping test may fall one earlier or later
        if n_iter:
            at = (expected["values"], expected["E"]) if expected else None
            options |= {"tol": 0, "max_iter": n_iter}
            expected = plain.rsec(S, 3, errors=kind, linearize_at=at, start=expected, **options)
    Z, E = full(model, "representation_"), full(model, "error_")
    assert np.abs(Z - expected["Z"]).max() < 1e-4
    assert np.abs(E - expected["E"]).max() < 1e-4
    assert model.rank_ == expected["history"][-1]["rank"]
    f = [plain.objective(S, X, 1.0, 0.03, kind) for X in (Z, expected["Z"])]
    assert f[0] == pytest.approx(f[1], rel=1e-5)
    H = model.embedding_
    assert np.allclose(H @ H.T, expected["H"] @ expected["H"].T, atol=1e-3)


@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_partial_spectra_change_nothing(method, monkeypatch):
    labels, _ = planted(1, n=230, m=8, noise=0.25)
    dense = getattr(cs.consensus, method)(3, random_state=0).fit(labels)
    monkeypatch.setattr(singular, "_DENSE_UP_TO", 20)
    partial = getattr(cs.consensus, method)(3, random_state=0).fit(labels)
    assert same_partition(dense.labels_, partial.labels_)
    assert np.abs(dense.representation_ - partial.representation_).max() < 1e-5
    # Values of the size of tol come and go from one iteration to the next.
    assert (dense.singular_values_ > 1e-5).sum() == (partial.singular_values_ > 1e-5).sum() > 3


@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_decomposing_through_the_clusters_changes_nothing(method, monkeypatch):
    """Fewer base clusters than objects: S has their rank.

    The basis grows only where H pulls Z out of its range.
    """
    labels, _ = planted(2, n=150, m=5, noise=0.2)
    thin = getattr(cs.consensus, method)(3, random_state=0).fit(labels)
    assert thin.distinct_.n_base_clusters < lowrank_base._THIN * thin.distinct_.n_samples
    monkeypatch.setattr(lowrank_base, "_THIN", 0.0)
    whole = getattr(cs.consensus, method)(3, random_state=0).fit(labels)
    assert same_partition(thin.labels_, whole.labels_)
    assert np.abs(thin.representation_ - whole.representation_).max() < 1e-5
    assert np.allclose(thin.outlier_score_, whole.outlier_score_, atol=1e-5)


@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_residuals_vanish(method, seed):
    labels, _ = planted(seed, n=60, m=8)
    model = getattr(cs.consensus, method)(3, random_state=0).fit(labels)
    assert model.converged_
    last = model.history_[-1]
    assert last["residual"] < 1e-7
    assert last["gap"] < 1e-7
    assert last["bad_degrees"] == 0
    S = co_association(model.distinct_, "auto")
    weights = model.distinct_.sample_weight
    Z, E = model.representation_, model.error_
    assert np.abs(S - S @ (weights[:, None] * Z) - E).max() < 1e-6
    assert model.rank_ == model.singular_values_.size == last["rank"]
    values = np.linalg.svd(np.sqrt(np.outer(weights, weights)) * Z, compute_uv=False)
    assert np.allclose(values[: model.rank_], model.singular_values_, atol=1e-5)
    assert values[model.rank_ :].max(initial=0) < 1e-5
    penalties = [entry["penalty"] for entry in model.history_ if entry.get("linearization", 1) == 1]
    assert np.allclose(np.diff(np.log(penalties)), np.log(model.growth))


@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_rounding_of_early_steps_does_not_hold_up_the_end(method):
    """The gap falls with the penalty down to any tolerance: the loss of single precision is not kept."""
    labels, _ = planted(0, n=110, m=20, noise=0.3)
    model = getattr(cs.consensus, method)(3, tol=1e-9, random_state=0).fit(labels)
    assert model.converged_
    gaps = {entry["penalty"]: entry["gap"] for entry in model.history_}
    assert max(gap * penalty for penalty, gap in gaps.items() if penalty > 1e4) < 0.1


def test_nrsec_differs_from_its_convex_start():
    """From zero all weights are one: one linearization is then the convex problem."""
    labels, _ = planted(0, n=60, m=8)
    zero = cs.NRSEC(3, random_state=0).fit(labels)
    warm = cs.NRSEC(3, linearize_about="convex", random_state=0).fit(labels)
    again = cs.NRSEC(3, linearize_about="convex", n_linearizations=3, random_state=0).fit(labels)
    flat = cs.NRSEC(3, saturation=1e12, random_state=0).fit(labels)
    second = cs.NRSEC(3, n_linearizations=2, random_state=0).fit(labels)
    assert np.allclose(zero.representation_, flat.representation_, atol=1e-6)
    assert np.abs(zero.representation_ - warm.representation_).max() > 1e-3
    assert np.array_equal(second.representation_, warm.representation_)
    assert {entry["linearization"] for entry in zero.history_} == {1}
    assert {entry["linearization"] for entry in warm.history_} == {0, 1}
    assert {entry["linearization"] for entry in again.history_} == {0, 1, 2, 3}


@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_subspaces_by_their_definition(method):
    """On all objects, repeated ones too: squared cosines between the rows of L Sigma^1/2, Z = L Sigma R'."""
    labels, truth = planted(3, n=70, m=7, noise=0.15)
    rows = np.random.default_rng(0).integers(0, 70, 100)
    model = getattr(cs.consensus, method)(3, labels_from="subspaces", random_state=0)
    seen = {}
    learn, squared = model._learn, lowrank_base.squared_cosines
    model._learn = lambda ensemble, root: seen.setdefault("state", learn(ensemble, root))
    model.fit(labels[rows])
    frame, _, state = seen["state"]
    graph = squared(frame, state.J) / np.outer(frame.root, frame.root)
    inverse = model.distinct_.inverse
    left, values, _ = np.linalg.svd(full(model, "representation_"))
    L = (left * np.sqrt(values))[:, : model.rank_]
    L /= np.linalg.norm(L, axis=1, keepdims=True)
    found = np.sort(graph.ravel())
    assert graph.shape == (model.distinct_.n_samples,) * 2
    first = np.unique(inverse, return_index=True)[1]
    assert np.allclose(found, np.sort(((L @ L.T) ** 2)[np.ix_(first, first)].ravel()), atol=1e-3)
    assert cs.metrics.accuracy(truth[rows], model.labels_) > 0.9


# What users see
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["RSEC", "NRSEC"])
def test_outlier_score_finds_scrambled_objects(method):
    labels, _ = planted(0, n=120, m=20, noise=0.02)
    rng = np.random.default_rng(0)
    odd = rng.choice(120, 8, replace=False)
    labels[odd] = rng.permuted(labels[rng.permutation(120)[:8]], axis=1)
    for i in odd:  # every clustering puts an odd object with another one of its objects
        labels[i] = [rng.choice(labels[:, j]) for j in range(20)]
    score = getattr(cs.consensus, method)(3, random_state=0).fit(labels).outlier_score_
    ordinary = np.setdiff1d(np.arange(120), odd)
    assert np.median(score[odd]) > np.quantile(score[ordinary], 0.95)
    assert (score >= 0).all()


def test_signed_evidence_by_hand():
    """+1 together, -1 apart, 0 where either was not seen, divided by m."""
    ensemble = cs.Ensemble.from_clusterings([[0, 0, 1, -1], [0, 1, 1, 1], [0, 0, -1, 0]])
    S = co_association(ensemble, "signed")
    assert np.allclose(
        3 * S,
        [[3, 1, -2, 0], [1, 3, 0, 2], [-2, 0, 2, 1], [0, 2, 1, 2]],
    )
    assert np.allclose(co_association(ensemble, "together")[0], [1, 2 / 3, 0, 1 / 2])
    whole = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 1, 1]])
    assert np.allclose(co_association(whole, "together")[0], [1, 0.5, 0])
    assert np.allclose(co_association(whole, "signed")[0], [1, 0, -1])


@pytest.mark.parametrize("evidence", ["signed", "together"])
@pytest.mark.parametrize("missing", [0.2, 0.5])
def test_incomplete_ensembles(evidence, missing, seed):
    labels, truth = planted(seed, n=120, m=30, noise=0.05, missing=missing)
    for method in (cs.RSEC, cs.NRSEC):
        found = method(3, entries=evidence, random_state=0).fit_predict(labels)
        assert cs.metrics.scores(truth, found)["ari"] > 0.8


@pytest.mark.parametrize("c", [2, 3, 4])
def test_signed_evidence_of_two_clear_clusters_has_rank_one(c):
    """Why "signed" is not the default for missing labels: |Z| of v v' has no blocks."""
    base = cs.Ensemble(np.repeat(np.arange(c), 5)[:, None]).distinct()
    for evidence, rank in (("together", c), ("signed", c - (c == 2))):
        assert np.linalg.matrix_rank(co_association(base, evidence)) == rank


@pytest.mark.parametrize("method", [cs.RSEC, cs.NRSEC])
def test_missing_labels_read_like_present_ones(method, seed):
    """A missing label moves the answer no more than a given one: S is the same where nothing is missing."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], 50)
    labels = np.column_stack([np.where(rng.random(100) < 0.02, 1 - truth, truth) for _ in range(10)])
    whole = method(2, random_state=0).fit_predict(labels)
    labels.flat[rng.integers(labels.size)] = -1
    assert same_partition(method(2, random_state=0).fit_predict(labels), whole)


def test_says_when_it_did_not_converge():
    labels, _ = planted()
    with pytest.warns(
        UserWarning, match=r"RSEC did not converge in 5 iterations: max \|S - S Z - E\| = .* raise max_iter=5"
    ):
        model = cs.RSEC(3, max_iter=5, random_state=0).fit(labels)
    assert np.unique(model.labels_).size == 3


def test_the_printed_constants_can_be_had_back():
    labels, _ = planted()
    with pytest.warns(UserWarning, match="did not converge"):
        model = cs.RSEC(
            3,
            low_rank_weight=0.1,
            penalty=1e-6,
            growth=1.1,
            affinity="signed",
            max_iter=60,
            random_state=0,
        ).fit(labels)
    assert model.history_[0]["penalty"] == 1e-6
    assert max(entry["bad_degrees"] for entry in model.history_) > 0  # why it is not the default


def test_refuses_what_makes_no_sense():
    labels, _ = planted()
    with pytest.raises(InputError, match=r"growth=1 is not valid"):
        cs.RSEC(3, growth=1).fit(labels)
    with pytest.raises(InputError, match=r"labels_from='both' is not valid"):
        cs.RSEC(3, labels_from="both").fit(labels)
    with pytest.raises(InputError, match=r"saturation=1 is not valid"):
        cs.NRSEC(3, saturation=1).fit(labels)


# What the paper prints
# ---------------------------------------------------------------------------------------


def test_iris_as_printed():
    """ACC 97.33, NMI 90.11 from H and from Z, with 100 k-means from random rows, k in [3, 12].

    These seeds were among those the default low_rank_weight was chosen on, so this guards against change; the
    method's page has the lower counts on fresh seeds, and for NRSEC.
    """
    X, truth = load_iris(return_X_y=True)
    for seed in range(3):
        ensemble = cs.generate.random_k(
            X, n_clusterings=100, n_clusters=(3, None), init="random", random_state=seed
        )
        for labels_from in ("embedding", "representation"):
            found = cs.RSEC(3, labels_from=labels_from, random_state=0).fit_predict(ensemble)
            scores = cs.metrics.scores(truth, found)
            assert scores["accuracy"] == pytest.approx(0.9733, abs=1e-4)
            assert scores["nmi_geometric"] == pytest.approx(0.9011, abs=1e-4)


# What is left out -------------------------------------------------------------------------------------------


def test_eigenvalues_of_zero_are_no_directions_of_S():
    """They come last, so that the products of NRSEC leave them out.

    Negative ones that count come last too, and stay.
    """
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    root = np.ones(5)
    assert lagrangian.Frame(np.array([3.0, 1.0, 0.2, 1e-15, -1e-15]), U, root, n_clusters=2).range == 3
    assert lagrangian.Frame(np.array([3.0, 1.0, 0.2, 1e-15, -0.5]), U, root, n_clusters=2).range == 5


def test_weights_of_one_are_not_kept():
    frame = lagrangian.Frame(np.array([2.0, 1.0]), np.eye(2), np.ones(2), n_clusters=1)
    errors = lagrangian.EntryErrors(frame, 0.1, np.eye(2))
    errors.restart(np.ones((2, 2), np.float32))
    assert errors.weights.size == 0
    errors.restart(np.array([[1.0, 0.5], [0.5, 1.0]], np.float32))
    assert errors.weights.shape == (2, 2)


@pytest.mark.parametrize("method", [cs.RSEC, cs.NRSEC])
def test_the_H_that_is_returned_is_sharper_than_those_on_the_way(method, monkeypatch):
    """Single precision on the way, the last eigenproblem again in double: residuals by the matrix itself."""
    labels = planted(0, n=450, m=10, c=4, noise=0.3)[0]
    seen = {}
    solve_H = lagrangian.solve_H

    def watched(frame, state, tol):
        solve_H(frame, state, tol)
        D = state.scale[:, None]
        A = D * (frame.graph + state.before @ state.before.T) * D.T
        seen[tol] = np.linalg.norm(A @ state.H - state.H @ (state.H.T @ A @ state.H), axis=0).max()

    monkeypatch.setattr(lagrangian, "solve_H", watched)
    method(4, random_state=0, n_init=2).fit(labels)
    assert seen[1e-5] < 2e-5
    assert seen[1e-6] < 2e-6
