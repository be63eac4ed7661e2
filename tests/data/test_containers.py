"""What comes in at the door: each case right, or one clear message whose remedy works, in every container."""

from __future__ import annotations

import contextlib
import pathlib
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import consilience as cs
from consilience._cli import cli
from consilience.errors import ConsilienceWarning, InputError, OrientationWarning

from ..commands import runner

RNG = np.random.default_rng(0)
TRUTH = np.repeat([0, 1, 2], 40)
N, M = 120, 6
L = np.column_stack([np.where(RNG.random(N) < 0.05, RNG.integers(0, 3, N), TRUTH) for _ in range(M)])
X = RNG.normal(size=(N, 4)) + 5 * TRUTH[:, None]
IRIS = load_iris().data
COASSOCIATION = cs.Ensemble(L).coassociation()
WITH_ID = np.column_stack([L, np.arange(N) + 1000])
FINE = np.column_stack([np.arange(N) // 2, (np.arange(N) + 1) // 2])  # tells all objects apart, and means it

CONTAINERS = {
    "array": lambda table: table,
    "fortran": np.asfortranarray,
    "masked": lambda table: np.ma.array(table),
    "list": lambda table: list(table.T),
    "rows": lambda table: table.tolist(),
    "rows of tuples": lambda table: [tuple(row) for row in table.tolist()],
    "lists": lambda table: table.T.tolist(),
    "generator": lambda table: iter(table.T),
    "dict": lambda table: {f"c{i}": column for i, column in enumerate(table.T)},
    "pairs": lambda table: [(f"c{i}", column) for i, column in enumerate(table.T)],
    "pandas": lambda table: pd.DataFrame(table, columns=[f"c{i}" for i in range(table.shape[1])]),
    "pandas series": lambda table: [pd.Series(column, name=f"c{i}") for i, column in enumerate(table.T)],
    "polars": lambda table: pl.DataFrame({f"c{i}": column for i, column in enumerate(table.T)}),
    "polars series": lambda table: [pl.Series(f"c{i}", column) for i, column in enumerate(table.T)],
    "pyarrow": lambda table: pa.table({f"c{i}": column for i, column in enumerate(table.T)}),
    "pyarrow arrays": lambda table: [pa.array(column) for column in table.T],
    "pyarrow chunks": lambda table: [pa.chunked_array([column[:50], column[50:]]) for column in table.T],
}
#: Those that hold one label vector per clustering, without a name.
VECTORS = ("list", "lists", "generator", "pandas series", "polars series", "pyarrow arrays", "pyarrow chunks")
every_container = pytest.mark.parametrize("container", CONTAINERS)

#: What is given, and the start of what is said about it; None where it is right, a warning where it may be.
CASES = {
    "labels": (L, None, None),
    "floats that are labels": (L + 0.5, None, None),
    "fine clusterings": (FINE, None, None),
    "few objects, each alone": (np.column_stack([np.arange(9), np.arange(9) // 3]), None, None),
    "features": (X, InputError, "labels looks like features: 4 of 4 columns hold many different fractions"),
    "coarse features": (IRIS, InputError, r"labels looks like features: 4 of 4 columns .* has 35 among 150"),
    "co-association": (
        COASSOCIATION,
        InputError,
        r"labels has shape \(120, 120\), is symmetric and has 1 all along",
    ),
    "distances": (
        1 - COASSOCIATION,
        InputError,
        r"has 0 all along its diagonal: it looks like a matrix of pairs",
    ),
    "ids alone": (WITH_ID[:, -1:], InputError, "Every one of the 120 objects has a label of its own in"),
    "an id among clusterings": (
        WITH_ID,
        ConsilienceWarning,
        "(Column|Clustering) .* has a label of its own for each object",
    ),
    "a measurement among clusterings": (
        np.column_stack([L, X[:, 0]]),
        ConsilienceWarning,
        "(Column|Clustering) .* has many different fractions",
    ),
    "nearly all alone": (
        np.column_stack([L, np.arange(N) - (np.arange(N) == 5)]),
        ConsilienceWarning,
        ".* has nearly as many clusters .119. as objects",
    ),
}


@contextlib.contextmanager
def said(kind, message):
    """The one thing that is said, and nothing else."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        if kind is InputError:
            with pytest.raises(InputError, match=message):
                yield
        else:
            yield
    if kind is None or kind is InputError:
        assert [str(one.message) for one in heard] == []
    else:
        (only,) = heard
        assert issubclass(only.category, kind)
        assert re.match(message, str(only.message))
        assert only.filename == __file__


@every_container
@pytest.mark.parametrize("case", CASES)
def test_the_table(case, container):
    table, kind, message = CASES[case]
    make = cs.Ensemble.from_clusterings if container in VECTORS else cs.Ensemble
    with said(kind, message):
        ensemble = make(CONTAINERS[container](table))
    if kind is not InputError:
        assert ensemble.shape == table.shape


@pytest.mark.parametrize("ending", ["csv", "tsv", "npy", "npz", "parquet"])
@pytest.mark.parametrize("case", CASES)
def test_the_table_in_files(case, ending, tmp_path):
    table, kind, message = CASES[case]
    path = tmp_path / f"labels.{ending}"
    if ending == "npy":
        np.save(path, table)
    elif ending == "npz":
        np.savez(path, labels=table)
    else:
        frame = pd.DataFrame(table, columns=[f"c{i}" for i in range(table.shape[1])])
        if ending == "parquet":
            frame.to_parquet(path, index=False)
        else:
            frame.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    run = runner().invoke(
        cli,
        ["consensus", str(path), "-k", "2", "--no-index"]
        if ending in ("csv", "tsv", "parquet")
        else ["consensus", str(path), "-k", "2"],
    )
    if kind is InputError:
        assert run.exit_code == 2
        assert re.search(message, run.stderr)
    else:
        assert run.exit_code == 0, run.stderr
        warned = [line for line in run.stderr.splitlines() if line.startswith("warning: ")]
        assert [line for line in warned if "converge" not in line] == ([] if kind is None else warned)
        assert kind is None or re.search(message, run.stderr)


# The other way round ---------------------------------------------------------------------------------------

TURNED = {
    "array": (L.T, OrientationWarning),
    "pandas": (pd.DataFrame(L.T), OrientationWarning),
    "polars": (pl.DataFrame(L.T), OrientationWarning),
    "pyarrow": (pa.table({str(i): row for i, row in enumerate(L)}), OrientationWarning),
    "dict": (dict(enumerate(L)), OrientationWarning),
    "rows": (L.T.tolist(), OrientationWarning),
    "lists": (L.tolist(), InputError),
    "arrays": (list(L), InputError),
    "tuples": ([tuple(row) for row in L.tolist()], InputError),
    "generator": (None, InputError),
}


@pytest.mark.parametrize("container", TURNED)
def test_objects_and_clusterings_swapped(container):
    labels, kind = TURNED[container]
    message = (
        r"labels (has shape \(6, 120\)|is a (list|dict) of 120 vectors of 6 labels|"
        r"is a list of 6 lists of 120 labels)"
    )
    make = cs.Ensemble.from_clusterings if kind is InputError else cs.Ensemble
    with said(kind, message):
        make(iter(L) if container == "generator" else labels)


def test_a_list_with_a_few_more_vectors_than_labels_is_questioned():
    with said(OrientationWarning, "labels is a list of 40 vectors of 20 labels"):
        cs.Ensemble.from_clusterings(L[:40, [0] * 20].tolist())
    with said(OrientationWarning, "labels is a list of 3 lists of 4 labels: each list is an object"):
        cs.Ensemble([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    with said(OrientationWarning, "labels is a list of 2 lists of 4 labels: .* 2 clusterings of 4 objects.$"):
        cs.Ensemble([[0, 0, 1, 1], [0, 1, 1, 1]])
    with said(
        OrientationWarning,
        "labels is a list of 1 list of 2 labels: .* 2 clusterings of 1 object. .* 1 clustering of 2",
    ):
        cs.Ensemble([[0, 1]])
    with said(None, ""):
        cs.Ensemble([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]], sample_names="abc")
    with said(None, ""):
        cs.Ensemble.from_clusterings([[0, 1, 1]] * 10)  # written by hand


def test_members_of_few_objects_are_not_questioned():
    with said(None, ""):
        cs.generate.kmeans(X[:5], n_clusters=5, n_clusterings=60, random_state=0)


# Series ----------------------------------------------------------------------------------------------------

NAMES = [f"o{i}" for i in range(N)]
SERIES = [pd.Series(column, index=NAMES, name=f"c{i}") for i, column in enumerate(L.T)]
SHUFFLED = [one if i < 3 else one.iloc[RNG.permutation(N)] for i, one in enumerate(SERIES)]


@pytest.mark.parametrize("form", [list, lambda items: dict(enumerate(items)), iter])
def test_series_are_matched_by_name(form):
    ensemble = cs.Ensemble.from_clusterings(form(SHUFFLED))
    np.testing.assert_array_equal(ensemble.labels, cs.Ensemble(L).labels)
    assert ensemble.sample_names == NAMES


def test_series_that_count_their_rows_have_no_names():
    assert cs.Ensemble.from_clusterings([pd.Series(column) for column in L.T]).sample_names is None
    turned = [pd.Series(L[:, 0]), pd.Series(L[:, 1]).iloc[::-1]]
    np.testing.assert_array_equal(cs.Ensemble.from_clusterings(turned).labels, cs.Ensemble(L[:, :2]).labels)


def test_series_of_other_objects_are_refused_and_the_remedies_work():
    labels = [SERIES[0], SERIES[1].rename(index={"o3": "stranger"})]
    with pytest.raises(
        InputError, match="Clustering 1 labels other objects than clustering 0: 'o3' and 'stranger' are in"
    ):
        cs.Ensemble.from_clusterings(labels)
    with pytest.raises(InputError, match=r"'b' labels other .*pandas.DataFrame\(labels\)"):
        cs.Ensemble({"a": labels[0], "b": labels[1]})
    matched = cs.Ensemble(pd.DataFrame(dict(enumerate(labels))))
    assert matched.n_samples == N + 1
    assert matched.labels[matched.sample_names.index("stranger")].tolist()[0] == -1
    assert cs.Ensemble.from_clusterings([one.reset_index(drop=True) for one in labels]).n_samples == N


def test_series_beside_vectors_without_names():
    assert cs.Ensemble.from_clusterings([SERIES[0], L[:, 1]]).sample_names == NAMES
    with pytest.raises(InputError, match="clustering 2 has none, so its labels cannot be matched"):
        cs.Ensemble.from_clusterings([SERIES[0], SHUFFLED[4], L[:, 1]])
    with pytest.raises(
        InputError, match="sample name 'o0' occurs more than once; make the index of clustering 1 unique"
    ):
        cs.Ensemble.from_clusterings([SERIES[0], SERIES[1].rename(index={"o1": "o0"})])


# Clusterers ------------------------------------------------------------------------------------------------


def test_fitted_clusterers_pipelines_searches_and_vectors():
    plain = KMeans(3, n_init=1, random_state=0).fit(X)
    piped = make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0)).fit(X)
    searched = GridSearchCV(plain, {"n_clusters": [3]}, cv=2).fit(X)
    nested = make_pipeline(StandardScaler(), piped)
    every = [plain, piped, searched, nested, L[:, 0], np.eye(3)[L[:, 1]]]
    ensemble = cs.Ensemble(every)
    assert ensemble.n_clusterings == 6
    for i, found in enumerate(
        [plain.labels_, piped[-1].labels_, searched.best_estimator_.labels_, piped[-1].labels_]
    ):
        assert cs.metrics.ari(found, ensemble.labels[:, i]) == 1.0
    assert cs.Ensemble.from_clusterings([("a", plain), ("b", piped)]).clustering_names == ["a", "b"]
    assert cs.Ensemble({"a": plain, "b": piped}).clustering_names == ["a", "b"]
    assert cs.Ensemble.from_clusterings([plain, piped]).clustering_names == ["KMeans", "Pipeline"]
    assert cs.Ensemble(piped).n_clusterings == 1
    with pytest.raises(InputError, match="clustering name 'a' occurs more than once"):
        cs.Ensemble.from_clusterings([("a", plain), ("a", piped)])


def test_a_fitted_mixture_says_what_to_pass_and_that_works():
    mixture = GaussianMixture(3, random_state=0).fit(X)
    for labels in (mixture, [mixture], [mixture, L[:, 0]], {"a": mixture}, make_pipeline(mixture)):
        with pytest.raises(
            InputError, match=r"is fitted but keeps no labels_: pass its labels instead, model.predict\(X\)"
        ):
            cs.Ensemble(labels)
    assert cs.Ensemble.from_clusterings([mixture.predict(X), L[:, 0]]).n_clusterings == 2
    assert cs.generate.estimators(X, clusterers=[mixture]).n_clusterings == 1


def test_an_unfitted_clusterer_says_what_to_do_and_that_works():
    for model in (KMeans(3), make_pipeline(KMeans(3)), GaussianMixture(3)):
        with pytest.raises(InputError, match="has no labels_ yet: fit every clusterer first, or let"):
            cs.Ensemble.from_clusterings([model])
        assert cs.generate.estimators(X, clusterers=[model], random_state=0).n_clusterings == 1


# Things that hold tables -----------------------------------------------------------------------------------


class AnnData:
    """As the package has it, which need not be installed."""

    def __init__(self):
        self.X, self.shape = X, X.shape
        self.obs = pd.DataFrame({"leiden": L[:, 0], "louvain": L[:, 1]})
        self.obsm = {"X_pca": X[:, :2]}


AnnData.__module__ = "anndata._core.anndata"


def annotated():
    return [AnnData(), type("Derived", (AnnData,), {})()]


@pytest.mark.parametrize("data", annotated())
def test_anndata_names_its_tables_and_they_work(data):
    with pytest.raises(
        InputError, match=r"labels.obs\[\['leiden', 'louvain'\]\].*labels.X or labels.obsm\['X_pca'\]"
    ):
        cs.consensus.EvidenceAccumulation(2).fit(data)
    with pytest.raises(
        InputError, match=r"pass X.X or X.obsm\['X_pca'\] for features.*X.obs\[\['leiden', 'louvain'\]\]"
    ):
        cs.ConsensusClustering(2).fit(data)
    assert cs.Ensemble(data.obs[["leiden", "louvain"]]).n_clusterings == 2
    assert cs.io.Features(data.obsm["X_pca"]).n_features == 2


def test_anndata_itself():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(X, obs=pd.DataFrame({"leiden": L[:, 0]}, index=NAMES), obsm={"X_pca": X[:, :2]})
    with pytest.raises(InputError, match=r"X.X or X.obsm\['X_pca'\]"):
        cs.ConsensusClustering(2).fit(data)
    with pytest.raises(InputError, match=r"labels.obs\[\['leiden'\]\]"):
        cs.Ensemble(data)
    assert cs.Ensemble(data.obs[["leiden"]]).sample_names == NAMES


def test_lazy_frames_say_collect():
    lazy = pl.DataFrame(L).lazy()
    for door, name in ((cs.Ensemble, "labels"), (cs.io.Features, "X")):
        with pytest.raises(InputError, match=rf"{name} is a LazyFrame.*pass {name}.collect\(\)"):
            door(lazy)
        door(lazy.collect())


@pytest.mark.parametrize("path", ["l.csv", pathlib.Path("l.csv")])
def test_paths_say_what_reads_them_and_it_does(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cs.io.write_ensemble(cs.Ensemble(L), "l.csv")
    with pytest.raises(InputError, match=r"To read a file: consilience.io.read_labels\('l.csv'\)"):
        cs.Ensemble(path)
    with pytest.raises(InputError, match=r"To read a file: consilience.io.read_features\('l.csv'\)"):
        cs.io.Features(path)
    assert cs.io.read_labels("l.csv").shape == cs.io.read_features("l.csv").shape == (N, M)


def test_a_dict_of_features_is_not_printed():
    with pytest.raises(
        InputError, match=r"X is a dict with the keys 'a' and 'b', not a table: pass pandas.DataFrame"
    ) as info:
        cs.io.Features({"a": X[:, 0], "b": X[:, 1]})
    assert len(str(info.value)) < 250
    assert cs.io.Features(pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})).n_features == 2


def test_what_runs_once_is_gone_through():
    assert cs.io.Features(row for row in X).shape == X.shape
    assert cs.Ensemble.from_clusterings({"a": L[:, 0], "b": L[:, 1]}.values()).n_clusterings == 2
    with pytest.raises(InputError, match="labels is a set, which has no order"):
        cs.Ensemble({1, 2})


@pytest.mark.parametrize(
    "twins",
    [
        pd.DataFrame(L[:, :3], columns=["a", "b", "a"]),
        pa.table([L[:, 0], L[:, 1], L[:, 2]], names=["a", "b", "a"]),
    ],
)
def test_twin_columns_are_named_in_one_way(twins):
    for door in (cs.Ensemble, cs.io.Features):
        with pytest.raises(
            InputError, match="^The column name 'a' occurs more than once; rename the columns.$"
        ):
            door(twins)


def test_sparse_tables_are_refused_with_a_remedy_that_works():
    with pytest.raises(InputError, match="as a list with one 0/1 block per clustering"):
        cs.Ensemble(sp.csr_array(L))
    assert cs.Ensemble.from_clusterings(
        [sp.csr_array(np.eye(3)[L[:, 0]])]
    ).n_clusters_per_clustering.tolist() == [3]


def test_vectors_in_an_array_of_objects():
    ragged = np.empty(2, object)
    ragged[:] = [[0, 1, 1], [0, 1]]
    with pytest.raises(InputError, match="different lengths: clustering 0 has 3 objects, clustering 1 has 2"):
        cs.Ensemble.from_clusterings(ragged)
    with pytest.raises(
        InputError, match="Rows have different lengths: object 0 has 3 labels, object 1 has 2"
    ):
        cs.Ensemble(ragged)
    ragged[:] = [np.array([0, 1, 1]), np.array([0, 1, 0])]
    assert cs.Ensemble.from_clusterings(ragged).shape == (3, 2)


@pytest.mark.parametrize("vectors", [list(L.T), SERIES, [L[:, 0].tolist(), L[:, 1]]])
def test_a_list_of_vectors_may_be_either(vectors):
    with pytest.raises(
        InputError, match=r"may be clusterings or objects.*from_clusterings.*numpy.array\(labels\)"
    ):
        cs.Ensemble(vectors)
    with pytest.raises(InputError, match="may be clusterings or objects"):
        cs.consensus.LWEA(3).fit(vectors)


def test_from_clusterings_takes_no_table_of_rows():
    for table in (L, sp.csr_array(L)):
        with pytest.raises(InputError, match=r"Ensemble\(labels, where|shape \(120, 6\)"):
            cs.Ensemble.from_clusterings(table)
    for nothing in (5, "abc", []):
        with pytest.raises(InputError, match="not a list of label vectors|text or a path|empty list"):
            cs.Ensemble.from_clusterings(nothing)


def test_rows_are_objects_as_in_numpy():
    rows = [["a", 0], ["a", None], ["b", 1.0]]
    ensemble = cs.Ensemble(rows)
    assert ensemble.labels.tolist() == [[0, 0], [0, -1], [1, 1]]
    assert [values.tolist() for values in ensemble.categories] == [["a", "b"], [0, 1]]
    assert cs.Ensemble(L.tolist()) == cs.Ensemble(L)
    model, same = cs.consensus.LWEA(3).fit(L.tolist()), cs.consensus.LWEA(3).fit(L)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    np.testing.assert_array_equal(model.predict(L[:5].tolist()), model.labels_[:5])


# Remedies --------------------------------------------------------------------------------------------------

#: What is refused or questioned, a word of the remedy, and the remedy followed.
REMEDIES = {
    "features": (X, "ConsensusClustering", lambda: cs.ConsensusClustering(n_clusters=3).fit(X).ensemble_),
    "features, base clusterings first": (
        X,
        "consilience.generate",
        lambda: cs.generate.kmeans(X, n_clusters=3),
    ),
    "coarse features": (
        IRIS,
        "numpy.unique",
        lambda: cs.Ensemble.from_clusterings([np.unique(c, return_inverse=True)[1] for c in IRIS.T]),
    ),
    "array turned": (L.T, r"labels\.T", lambda: cs.Ensemble(L)),
    "rows turned": (
        L.T.tolist(),
        r"from_clusterings\(labels\)",
        lambda: cs.Ensemble.from_clusterings(L.T.tolist()),
    ),
    "arrays": (list(L), r"numpy\.array\(labels\)", lambda: cs.Ensemble(np.array(list(L)))),
    "dict turned": (
        dict(enumerate(L)),
        "list.labels.values",
        lambda: cs.Ensemble(np.array(list(dict(enumerate(L)).values()))),
    ),
    "pandas turned": (pd.DataFrame(L.T), r"labels\.T", lambda: cs.Ensemble(pd.DataFrame(L.T).T)),
    "polars turned": (
        pl.DataFrame(L.T),
        r"labels\.transpose",
        lambda: cs.Ensemble(pl.DataFrame(L.T).transpose()),
    ),
    "an id in a frame": (
        pd.DataFrame(WITH_ID),
        "set_index",
        lambda: cs.Ensemble(pd.DataFrame(WITH_ID).set_index(M)),
    ),
    "an id in an array": (
        WITH_ID,
        "sample_names",
        lambda: cs.Ensemble(WITH_ID[:, :-1], sample_names=WITH_ID[:, -1]),
    ),
    "one vector": (
        L[:, 0],
        r"from_clusterings\(\[labels\]\)",
        lambda: cs.Ensemble.from_clusterings([L[:, 0]]),
    ),
    "one Series": (
        SERIES[0],
        r"from_clusterings\(\[labels\]\)",
        lambda: cs.Ensemble.from_clusterings([SERIES[0]]),
    ),
    "a flat list": (
        L[:, 0].tolist(),
        r"from_clusterings\(\[labels\]\)",
        lambda: cs.Ensemble.from_clusterings([L[:, 0].tolist()]),
    ),
}


def test_a_list_turned_is_refused_with_remedies_that_work():
    with pytest.raises(InputError, match=r"Ensemble\(numpy\.array\(labels\)\).*sample_names=range\(6\)"):
        cs.Ensemble.from_clusterings(L.tolist())
    assert cs.Ensemble(np.array(L.tolist())).shape == (N, M)
    assert cs.Ensemble.from_clusterings(L.tolist(), sample_names=range(6)).shape == (M, N)


@pytest.mark.parametrize("case", REMEDIES)
def test_remedies_work(case):
    labels, word, remedy = REMEDIES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConsilienceWarning)
        with pytest.raises((InputError, ConsilienceWarning), match=word):
            cs.Ensemble(labels)
        assert isinstance(remedy(), cs.Ensemble)


def test_a_matrix_of_pairs_can_be_cut_as_the_message_says():
    with pytest.raises(
        InputError, match=r"AgglomerativeClustering\(n_clusters, metric='precomputed', linkage='average'\)"
    ):
        cs.Ensemble(COASSOCIATION)
    found = AgglomerativeClustering(3, metric="precomputed", linkage="average").fit(1 - COASSOCIATION).labels_
    assert cs.metrics.ari(TRUTH, found) > 0.9
