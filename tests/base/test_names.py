"""Names: written one way, recognized in several, and told apart."""

from __future__ import annotations

import pytest

from consilience._base.names import Named, check_names, check_unique, command_name, find, look_up, numbered
from consilience._base.parameters import Choice, Flag, check
from consilience.errors import FileError, InputError

KNOWN = {"evidence-accumulation": 1, "spce": 2, "random-k": 3}


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("EvidenceAccumulation", "evidence-accumulation"),
        ("CoassociationKMeans", "coassociation-k-means"),
        ("SPCE", "spce"),
        ("metric_subspace", "metric-subspace"),
    ],
)
def test_command_names(name, written):
    assert command_name(name) == written


@pytest.mark.parametrize("name", ["random-k", "random_k", "Random_K", "RANDOMK"])
def test_one_name_in_several_spellings(name):
    assert find(name, KNOWN) == look_up(name, KNOWN, "generator") == 3
    assert Named(KNOWN).accepts(name)


@pytest.mark.parametrize("name", ["random", "", 3, None, ["spce"]])
def test_other_names(name):
    assert find(name, KNOWN) is None
    assert not Named(KNOWN).accepts(name)
    with pytest.raises(InputError, match="is not known: choose one of evidence-accumulation, spce, random-k"):
        look_up(name, KNOWN, "generator")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("spcee", "spce"),
        ("Evidence_Acumulation", "evidence-accumulation"),
        ("eacc", "eac"),
        ("rndom-k", "random-k"),
    ],
)
def test_a_misspelt_name_is_recognized(given, meant):
    with pytest.raises(InputError, match=f"random-k. Did you mean '{meant}'\\?$"):
        look_up(given, KNOWN, "generator")
    with pytest.raises(InputError, match=f"'random-k' or True or False. Did you mean '{meant}'\\?$"):
        check("generator", given, Named(KNOWN) | Flag())
    with pytest.raises(InputError, match="a, linkage. Did you mean 'linkage'\\?$"):
        check_names(["linkge"], ["a", "linkage"], owner="It", reserved={})


def test_nothing_is_suggested_for_what_is_like_nothing():
    for given in ("zzz", "", 3, None, "spce" * 100):
        with pytest.raises(InputError, match=r"random-k\.$"):
            look_up(given, KNOWN, "generator")
    with pytest.raises(InputError, match=r"one of 'fast', 'slow'\. Did you mean 'slow'\?$"):
        check("speed", "slov", Choice("fast", "slow"))


def test_a_class_for_an_instance():
    class Clusterer:
        def fit(self):
            pass

    with pytest.raises(InputError, match=r"Clusterer is a class: pass an instance, Clusterer\(\.\.\.\)\.$"):
        check("method", Clusterer, Named(KNOWN))


def test_parameters_that_are_not_there():
    reserved = {"seed": "the option --random-state"}
    check_names(["a"], ["a", "b", "seed"], owner="It", reserved=reserved)
    with pytest.raises(InputError, match="It has no parameter 'c'; its parameters are a, b."):
        check_names(["c"], ["a", "b", "seed"], owner="It", reserved=reserved)
    with pytest.raises(InputError, match="The parameter 'seed' is set by the option --random-state."):
        check_names(["seed"], ["a", "b", "seed"], owner="It", reserved=reserved)
    with pytest.raises(InputError, match="It has no parameter 'c'; it has no further parameters."):
        check_names(["c"], ["seed"], owner="It", reserved=reserved)


def test_equal_names_are_numbered():
    assert numbered(["a", "b", "a", 3, "a"]) == ["a 1", "b", "a 2", "3", "a 3"]
    assert numbered([]) == []


def test_equal_names_are_refused():
    check_unique(None, "row name", "rename them")
    check_unique(["a", "b"], "row name", "rename them")
    with pytest.raises(InputError, match="^The row name 'a' occurs more than once; rename them.$"):
        check_unique(["a", "b", "a"], "row name", "rename them")
    with pytest.raises(FileError, match="^t.csv: the row name 1 and 2 occur more than once; rename them.$"):
        check_unique([1, 2, 1, 2], "row name", "rename them", file="t.csv")
