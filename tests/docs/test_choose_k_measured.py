"""What docs/research/choose-k.md says of real sets and of clouds is what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import bench_choose_k as bench

pytest.importorskip("msgspec")  # the extra "reproduction"


@pytest.mark.pages
def test_the_page_is_that_of_the_stored_figures():
    text = bench.PAGE.read_text("utf-8")
    assert bench.page(text) == text, "run python -m benchmarks.bench_choose_k"


def test_what_is_stored_is_of_the_fixed_halves():
    halves = {item.name: (item.group, item.classes) for item in bench.sets()}
    assert len(halves) == 76
    stored = bench.read(bench.SETS)
    assert len({row["set"] for row in stored}) == len(stored)
    for row in stored:
        assert (f"{row['half']}, {row['how']}", row["classes"]) == halves[row["set"]]
        assert row["ks"] == list(bench.KS)


def test_synthetic_sets_are_the_same_every_time():
    cells = bench.synthetics()
    assert len({bench.name_of(row) for row in bench.read(bench.MADE)} & set(cells)) == len(cells) == 252
    for kind, seed in cells[: len(bench.SYNTHETIC)]:
        X, clusters = bench.synthetic(kind, seed)
        np.testing.assert_array_equal(X, bench.synthetic(kind, seed)[0])
        assert 80 <= len(X) <= 240
        assert 2 <= clusters <= 8


def row(classes, eigengap, **rivals):
    flat = [0.0] * 3
    columns = {"gain": [0.1, 0.3, 0.2], "eigengap": eigengap, "lifetime": [0.1, 0.2, None]}
    columns |= {"pac": [0.3, 0.2, 0.1], "rcsi": flat, "silhouette": flat, "delta_area": [0.5, 0.3, 0.05]}
    return {
        "half": "half A",
        "how": "as given",
        "classes": classes,
        "ks": [2, 3, 4],
        "p": {"inertia": 0.025, "stability": 0.5},
        "columns": columns,
        "rivals": rivals,
    }


def test_counts_by_hand():
    rows = [row(3, [0.1, 0.5, 0.1], BIC=2), row(4, [9, 0.1, 0.1], BIC=4), row(4, [0.1, 0.2, 0.5], BIC=2)]
    named = bench.answers(rows[1])
    assert [named[f"{one} alone"] for one in ("gain", "eigengap", "lifetime", "RCSI")] == [3, 2, 3, 2]
    assert (named["PAC"], named["delta area"], named["BIC"], named["two of three"]) == (4, 3, 4, 3)
    # Gain and lifetime rank 3 first, eigengap first, second together, or second; the others tell nothing.
    assert [bench.answers(one)["choose_k"] for one in rows] == [3, 3, 3]
    counts = bench.right(rows)
    assert (counts["choose_k"], counts["choose_k or an alternative"], counts["BIC"]) == (1, 2, 1)
    assert bench.off(rows)["choose_k"] == pytest.approx((4 / 3) ** (2 / 3))
    assert bench.others(rows).endswith("on average: 1.3 in half A.")
    rows[0]["p"]["inertia"] = 0.05
    assert (bench.answers(rows[0])["choose_k"], bench.answers(rows[0])["two of three"]) == (1, 1)


def test_a_table_of_clouds_counts_what_passes_a_test():
    def cloud(kind, *p):
        return {"kind": kind, "p": dict(zip(("inertia", "stability"), p)), "warned": False}

    clouds = [cloud("t", 0.025, 0.025), cloud("gaussian", 0.05, 0.025), cloud("gaussian", 0.5, 0.5)]
    found = [
        (row["null"], row["clouds"], row["not 1"], row["both tests"]) for row in bench.null_table(clouds)
    ]
    assert found == [("gaussian", 2, 1, 0), ("t", 1, 1, 1)]


def test_clouds_are_the_same_every_time_and_within_their_sizes():
    shapes = [bench.shape_of(i) for i in range(bench.N_NULLS)]
    kinds = [kind for kind, _, _ in shapes]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "gaussian": 105,
        "uniform": 35,
        "lognormal": 35,
        "t": 35,
    }
    assert all(100 <= n <= 2000 and 2 <= d <= 500 for _, n, d in shapes)
    first = bench.nulls()[0]
    np.testing.assert_array_equal(bench.null(first), bench.null(first))
    assert bench.null(first).shape == shapes[first][1:]


def test_the_gap_statistic_and_mixtures_can_say_one():
    X = np.random.default_rng(0).normal(size=(80, 2))
    found = bench.rivals(X)
    assert found["BIC"] == 1
    assert set(found) == {"silhouette", "Calinski-Harabasz", "gap statistic", "BIC"}
