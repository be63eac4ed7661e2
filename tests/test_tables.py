"""The tables at the front door: which methods there are, and how results compare."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import consilience as cs
from consilience import _register
from consilience.errors import InputError

from .docs.test_docs import ROOT
from .zoo import planted

L, TRUTH = planted(0)
NAMES = [f"o{i}" for i in range(len(TRUTH))]
NAMED = pd.DataFrame(L, index=NAMES)


def test_every_method_is_listed():
    table = cs.list_methods()
    assert list(table["address"].str.rpartition(".")[2]) == [entry.name for entry in _register.ESTIMATORS]
    for address in table["address"]:
        assert eval(address, {"cs": cs}) is _register.estimator(address.rpartition(".")[2])
    assert (table["summary"].str.len() > 10).all()
    for page in table["page"]:
        assert (ROOT / page).is_file()


def test_what_a_method_works_on_is_what_the_page_says():
    text = (ROOT / "docs" / "methods" / "index.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    for name, works_on in _register.WORKS_ON.items():
        (row,) = [line for line in rows if f"`{name}`" in line]
        assert works_on in row.rsplit("|", 2)[1]
        assert f"({_register.PAGES[name]}.md)" in row


def test_without_pandas_tables_are_lists(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert cs.list_methods()[0]["name"] == "evidence-accumulation"
    assert cs.compare({"a": [0, 0, 1], "b": [1, 1, 0]})[0]["ari with b"] == 1.0


def test_compare_models_and_labels():
    model = cs.consensus.LWEA(3).fit(L)
    table = cs.compare(
        {"lwea": model, "kmeans": KMeans(2, n_init=1, random_state=0).fit(L), "truth": TRUTH}, TRUTH
    )
    assert table["n_clusters"].tolist() == [3, 2, 3]
    assert table.loc["lwea", "confidence"] == pytest.approx(model.confidence_.mean())
    nmi = [cs.metrics.nmi(column, model.labels_, missing="ignore") for column in L.T]
    assert table.loc["lwea", "consensus_nmi"] == pytest.approx(np.mean(nmi))
    assert np.isnan(table.loc["truth", "confidence"])
    assert (
        table.loc["lwea", "ari with truth"]
        == table.loc["lwea", "ari"]
        == cs.metrics.ari(TRUTH, model.labels_)
    )
    assert table.loc["truth", "accuracy"] == 1.0
    assert list(cs.compare([model, model]).index) == ["LWEA 1", "LWEA 2"]


def test_compare_joins_by_name():
    model = cs.consensus.LWEA(3).fit(NAMED)
    turned = pd.Series(model.labels_[::-1], index=NAMES[::-1])
    assert cs.compare({"model": model, "series": turned}).loc["model", "ari with series"] == 1.0
    with pytest.raises(InputError, match="model and series have no object in common"):
        cs.compare({"model": model, "series": turned.rename(index=lambda name: f"x{name}")})
    with pytest.raises(InputError, match="name different objects"):
        cs.compare({"model": model, "series": turned.rename(index={"o3": "stranger"})})


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ({}, "nothing to compare"),
        ([0, 1], "compare got a list"),
        ({"a": [0, 1], "b": [0, 1, 1]}, r"different numbers of objects \(a: 2, b: 3\)"),
        ({"a": KMeans(2)}, "a is KMeans, which has no labels_: fit it first"),
        ([KMeans(2)], "^KMeans has no labels_: fit it first"),
        ([KMeans(2), KMeans(3)], "^KMeans 1 has no labels_: fit it first"),
    ],
)
def test_what_cannot_be_compared(results, message):
    with pytest.raises(InputError, match=message):
        cs.compare(results)
    with pytest.raises(InputError, match="labels_true has 1 classes for 2 objects"):
        cs.compare({"a": [0, 1]}, [0])


def test_align_takes_models_and_joins_by_name():
    model = cs.consensus.LWEA(3).fit(NAMED)
    turned = pd.Series((model.labels_[::-1] + 7), index=NAMES[::-1])
    assert (cs.align(model, turned) == model.labels_ + 7).all()
    assert (cs.align(turned, model) == model.labels_[::-1]).all()
    assert (cs.align(model, turned.to_frame()) == model.labels_ + 7).all()
    assert (cs.align(model, model.labels_ + 7) == model.labels_ + 7).all()  # an array goes by position
    with pytest.raises(InputError, match="no object in common"):
        cs.align(model, turned.rename(index=lambda name: f"x{name}"))
    with pytest.raises(InputError, match="a data frame of 2 columns"):
        cs.align(model, NAMED.iloc[:, :2])
