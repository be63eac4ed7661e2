"""Labels equal those of one machine, bit for bit, whatever the blocks.

This holds for every registered method, on the synchronous scheduler.
"""

from __future__ import annotations

import subprocess
import sys

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import consilience as cs
import dask
from consilience.consensus import methods
from consilience.dask import finding, tables
from consilience.errors import InputError

from ..zoo import planted

pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning"),
]

#: Blocks of 80 objects: one, equal ones, and uneven ones with empty blocks at both ends and in the middle.
BLOCKS = {"one": (80,), "many": (9,) * 8 + (8,), "uneven": (0, 33, 1, 0, 0, 40, 6, 0)}


def in_blocks(labels, chunks):
    return da.from_array(labels, chunks=(chunks, labels.shape[1]))


def built(cls):
    params = dict(cls._test_params[0])
    if "random_state" in cls().get_params():
        params.setdefault("random_state", 0)
    return cls(n_clusters=3, **params)


@pytest.mark.parametrize("name", methods())
def test_every_method_gives_the_labels_of_one_machine(name):
    labels, _ = planted(3, n=80, noise=0.3, missing=0.1)
    labels = labels[np.random.default_rng(0).permutation(80)]
    expected = built(methods()[name]).fit(labels)
    lazy = in_blocks(labels, BLOCKS["uneven"])
    model = built(methods()[name]).fit(cs.dask.DaskEnsemble(lazy))
    assert model.labels_.chunks == (BLOCKS["uneven"],)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.confidence_.compute(), expected.confidence_)
    assert model.coverage_ == 1.0
    assert model.consensus_nmi_ == expected.consensus_nmi_
    assert model.baseline_nmi_ == expected.baseline_nmi_
    assert model.n_clusters_ == expected.n_clusters_
    assert model.cluster_sizes_.tolist() == expected.cluster_sizes_.tolist()
    np.testing.assert_array_equal(model.predict(lazy).compute(), expected.labels_)
    np.testing.assert_array_equal(model.predict(labels), expected.labels_)


@pytest.mark.parametrize("chunks", BLOCKS.values(), ids=BLOCKS)
def test_methods_are_given_what_one_machine_gives_them(chunks):
    """Rows, order, weights and codes: the same for any blocks, and so is what any method makes of them."""
    labels, _ = planted(3, n=80, m=5, noise=0.3, missing=0.1)
    found = cs.dask.DaskEnsemble(in_blocks(labels, chunks)).distinct().distinct()
    expected = cs.Ensemble(labels).distinct()
    for one, other in zip(found.canonical(), expected.canonical()):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
        else:
            np.testing.assert_array_equal(one.labels, other.labels)
            np.testing.assert_array_equal(one.sample_weight, other.sample_weight)


def test_everything_about_objects_is_lazy_and_equal():
    labels, _ = planted(1, n=80)
    expected = cs.consensus.LWGP(3, random_state=0).fit(labels)
    dask_labels = in_blocks(labels, (30, 30, 20))
    model = cs.consensus.LWGP(3, random_state=0).fit(dask_labels)  # the array itself will do
    np.testing.assert_array_equal(model.embedding_.compute(), expected.embedding_)
    np.testing.assert_array_equal(model.membership_.compute(), expected.membership_)
    np.testing.assert_array_equal(model.cluster_reliability_, expected.cluster_reliability_)
    np.testing.assert_array_equal(model.predict_proba(dask_labels).compute(), expected.predict_proba(labels))
    np.testing.assert_array_equal(
        model.predict_confidence(dask_labels).compute(), expected.predict_confidence(labels)
    )
    clusters, shares = model.predict_top(dask_labels, 2)
    for found, wanted in zip((clusters, shares), expected.predict_top(labels, 2)):
        np.testing.assert_array_equal(found.compute(), wanted)
    assert model.score(dask_labels) == pytest.approx(expected.score(labels))
    assert model.n_samples_ == 80
    local = model.to_local()
    np.testing.assert_array_equal(local.labels_[model.distinct_.inverse.compute()], expected.labels_)
    np.testing.assert_array_equal(local.predict(labels), expected.labels_)
    assert expected.to_local() is expected
    assert model.fit(labels).to_local() is model
    np.testing.assert_array_equal(model.labels_, expected.labels_)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_places_may_be_remembered_or_found_anew(share, monkeypatch):
    monkeypatch.setattr(finding, "_REMEMBERED", share)
    labels, _ = planted(1, n=80, missing=0.1)
    model = cs.consensus.LWGP(3, random_state=0).fit(in_blocks(labels, BLOCKS["uneven"]))
    expected = cs.consensus.LWGP(3, random_state=0).fit(labels)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.distinct_.inverse.compute(), expected.distinct_.inverse)


@pytest.mark.parametrize("fractions", [False, True])
def test_weights_add_up_to_the_same_bits(fractions):
    labels, _ = planted(2, n=80, m=4)
    rng = np.random.default_rng(0)
    weights = rng.random(80) * 10.0 ** rng.integers(-5, 3, 80) if fractions else rng.integers(1, 9, 80)
    expected = cs.Ensemble(labels, sample_weight=weights).distinct().sample_weight
    for chunks in BLOCKS.values():
        ens = cs.dask.DaskEnsemble(
            in_blocks(labels, chunks), sample_weight=da.from_array(weights, chunks=(chunks,))
        )
        np.testing.assert_array_equal(ens.distinct().sample_weight, expected)
    model = cs.consensus.LWEA(3).fit(ens)
    np.testing.assert_array_equal(
        model.labels_.compute(), cs.consensus.LWEA(3).fit(labels, sample_weight=weights).labels_
    )


@pytest.mark.filterwarnings("error::consilience.errors.ConsilienceWarning")
def test_warnings_are_those_of_one_machine():
    labels, _ = planted(2, n=80, m=4)
    fractions = np.linspace(0.6, 1.4, 80)  # near 1 in the mean over objects, not over distinct ones
    lazy = in_blocks(np.repeat(labels[:20], 4, axis=0), (40, 40))
    cs.SPCE(2).fit(lazy, sample_weight=da.from_array(fractions, chunks=40))
    with pytest.warns(match="sample_weight has mean 3") as said:
        cs.SPCE(2).fit(lazy, sample_weight=da.from_array(3 * fractions, chunks=40))
    assert said[0].filename == __file__


COLUMNS = {
    "text": ["b", "a", "NA", "c", "b", "a"],
    "numbers and text": [1, "a", None, "1", 2, "a"],
    "fractions late": [1.0, 2.0, np.nan, 1.0, 1.5, 2.0],
    "whole floats": [3.0, np.nan, -1.0, 2.0, 3.0, 2.0],
    "large": [2**60, 2**60 + 1, 5, 2**60, 5, 7],
}


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_frames_of_any_values_are_coded_as_one_table(size):
    frames = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    table = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in COLUMNS.items()})
    table["whole floats"] = table["whole floats"].astype(float)
    table["large"] = table["large"].astype("int64")
    expected = cs.Ensemble(table)
    with dask.config.set(
        {"dataframe.convert-string": False}
    ):  # else Dask turns the numbers among text into text
        found = cs.dask.DaskEnsemble(frames.from_pandas(table, chunksize=size, sort=False))
    assert not found.knows_lengths
    distinct = found.distinct()
    assert found.n_samples == 6
    for own, other in zip(distinct.categories, expected.categories):
        assert own.tolist() == other.tolist()
        assert own.dtype == other.dtype
    compressed = expected.distinct()
    np.testing.assert_array_equal(distinct.labels, compressed.labels)
    np.testing.assert_array_equal(distinct.sample_weight, compressed.sample_weight)
    np.testing.assert_array_equal(found.found.first, compressed.rows)
    assert distinct.clustering_names == expected.clustering_names
    model = cs.consensus.LWEA(2).fit(found)
    np.testing.assert_array_equal(model.labels_.compute(), cs.consensus.LWEA(2).fit(table).labels_)


def test_unknown_sizes_are_counted_once_and_said():
    labels, _ = planted(0, n=80)
    lazy = in_blocks(labels, (30, 30, 20))
    kept = lazy[da.from_array(np.arange(80) % 5 > 0, chunks=(30, 30, 20))]
    ens = cs.dask.DaskEnsemble(kept)
    with pytest.warns(match="sizes of the 3 blocks of labels are unknown"):
        assert ens.n_samples == 64
    model = cs.consensus.LWGP(3, random_state=0).fit(ens)
    expected = cs.consensus.LWGP(3, random_state=0).fit(labels[np.arange(80) % 5 > 0])
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert sum(model.labels_.chunks[0]) == 64


def test_tables_merge_in_any_grouping():
    labels, _ = planted(5, n=90, m=3)
    parts = [tables.table_of(labels[a : a + 9]) for a in range(0, 90, 9)]
    once = tables.merged(parts)
    twice = tables.merged([tables.merged(parts[:3]), tables.merged(parts[3:8]), tables.merged(parts[8:])])
    for one in (once, twice):
        compressed = cs.Ensemble(labels).distinct()
        np.testing.assert_array_equal(one.labels, compressed.labels)
        np.testing.assert_array_equal(one.first, compressed.rows)
        np.testing.assert_array_equal(one.weights(None), compressed.sample_weight)


def test_dask_is_imported_only_when_used():
    code = """
import sys
import consilience as cs
cs.consensus.LWEA(2).fit([[0, 0], [0, 0], [1, 1], [1, 1]])
assert not {"dask", "distributed"} & set(sys.modules)
sys.modules["dask"] = sys.modules["dask.array"] = None
try:
    cs.dask
except cs.errors.MissingDependencyError as error:
    assert "pip install 'consilience[dask]'" in str(error)
else:
    raise AssertionError("no Dask, and no word of it")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_refusals_name_the_remedy():
    labels, _ = planted(0, n=80)
    with pytest.raises(InputError, match=r"numpy.ndarray.*in memory already.*from_array"):
        cs.dask.DaskEnsemble(labels)
    with pytest.raises(InputError, match=r"in memory already.*from_array"):
        cs.dask.make_ensemble(np.ones((5, 2)))
    with pytest.raises(InputError, match="stack"):
        cs.dask.DaskEnsemble(da.zeros(5))
    lazy = in_blocks(labels, (40, 40))
    with pytest.raises(InputError, match="must_link"):
        cs.consensus.LWEA(3).fit(lazy, must_link=[(0, 1)])
    with pytest.raises(
        InputError, match=r"n_clusters=9 exceeds the \d distinct objects.*of the 80 objects apart"
    ):
        cs.consensus.LWEA(9).fit(in_blocks(labels[:, :1], (40, 40)))
    with pytest.raises(InputError, match="no objects"):
        cs.dask.DaskEnsemble(da.zeros((0, 3), chunks=(1, 3))).distinct()
    gone = labels.copy()
    gone[[7, 50]] = -1
    with pytest.raises(InputError, match=r"weight 2, the first of them object 7, .* Leave them out"):
        cs.consensus.LWEA(3).fit(in_blocks(gone, (40, 40)))
    features = np.random.default_rng(0).normal(size=(3000, 4))
    with pytest.raises(InputError, match="features"):
        cs.dask.DaskEnsemble(da.from_array(features, chunks=(1500, 4))).distinct()
    model = cs.consensus.LWEA(3).fit(lazy)
    for use in (lambda: model.save("model"), lambda: cs.report(model, "page.html")):
        with pytest.raises(InputError, match="to_local"):
            use()


def test_scores_of_lazy_labels_are_those_of_one_table():
    labels, truth = planted(0, n=80)
    names = np.array(["x", "y", "z"])[truth]
    model = cs.consensus.LWGP(3, random_state=0).fit(in_blocks(labels, (30, 30, 20)))
    expected = cs.metrics.scores(names, model.labels_.compute())
    assert cs.metrics.scores(da.from_array(names, chunks=25), model.labels_) == expected
    assert cs.metrics.ari(da.from_array(truth, chunks=80), model.labels_) == expected["ari"]
    some = np.where(np.arange(80) % 7 == 0, -1, truth)
    lazy = da.from_array(some, chunks=(33, 0, 47))
    with pytest.raises(InputError, match="12 in labels_true, of 80 objects"):
        cs.metrics.scores(lazy, model.labels_)
    assert cs.metrics.scores(lazy, model.labels_, missing="ignore") == cs.metrics.scores(
        some, model.labels_.compute(), missing="ignore"
    )
    with pytest.raises(InputError, match="labels_true is in memory"):
        cs.metrics.scores(truth, model.labels_)
    with pytest.raises(InputError, match="80 objects but labels_true has 70"):
        cs.metrics.scores(da.zeros(70, chunks=35), model.labels_)
