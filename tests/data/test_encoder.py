"""Tables of numbers, categories, dates and gaps: one message refuses them; the features they make."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import consilience as cs
from consilience._data.mixed import is_numbering
from consilience.errors import GuessWarning, InputError


def table(n: int = 40) -> pd.DataFrame:
    """Two kinds of objects, told by two numbers, among columns of every other kind."""
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 2
    made = pd.DataFrame(
        {
            "ID": [f"N{i}" for i in range(n)],
            "number": np.arange(101, 101 + n),
            "length": rng.normal(size=n) + 6 * kind,
            "mass": 1000 * (rng.normal(size=n) + 6 * kind),
            "sex": rng.choice(["male", "female"], n),
            "island": rng.choice(["A", "B", "C"], n),
            "seen": pd.date_range("2020-01-01", periods=n, freq="31h")[rng.permutation(n)],
            "flag": rng.random(n) < 0.5,
            "size": pd.Categorical(rng.choice(list("sml"), n), categories=list("sml"), ordered=True),
            "same": "x",
        }
    )
    made.loc[3, ["sex", "island"]] = None
    made.loc[4, "length"] = np.nan
    return made


KIND = np.arange(40) % 2


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def encoded(X, **params) -> pd.DataFrame:
    return quietly(lambda: cs.io.TableEncoder(**params).set_output(transform="pandas").fit_transform(X))


def test_all_columns_that_are_no_numbers_are_named_at_once_with_one_remedy():
    with pytest.raises(InputError) as caught:
        cs.ConsensusClustering(2).fit(table())
    said = str(caught.value)
    assert "'ID' and 'number' (names of objects); 'sex', 'island' and 'same' (text)" in said
    assert "'seen' (dates); 'size' (ordered levels)" in said
    assert "cs.io.TableEncoder().fit_transform(X)" in said
    assert "labels of base clusterings" not in said
    with pytest.raises(InputError, match="pass them to a consensus method, or choose_k"):
        cs.choose_k(table()[["sex", "island"]])
    with pytest.raises(
        InputError, match=r"'N0' in row 0, column 0; columns 0, 4, 5, 6, 8 and 9 hold text or"
    ):
        cs.ConsensusClustering(2).fit(table().to_numpy(object))


def test_a_text_among_numbers_is_named_by_its_cell():
    rows = [[1, 2], [3, "x"], [5, 6]]
    for X in (rows, np.array(rows, object), pd.DataFrame(rows).set_axis(["a", "b"], axis=1)):
        with pytest.raises(
            InputError, match=r"X holds text: 'x' in row 1, column (1|'b'). Every feature must"
        ):
            cs.ConsensusClustering(2).fit(X)


def test_a_table_as_people_have_it_in_one_call():
    model = make_pipeline(cs.io.TableEncoder(), cs.ConsensusClustering(2, n_clusterings=20, random_state=0))
    with pytest.warns(GuessWarning, match="'ID' and 'number' tell the objects apart.* and are left out"):
        model.fit(table())
    assert cs.metrics.ari(KIND, model[-1].labels_) == 1.0
    np.testing.assert_array_equal(quietly(lambda: model.predict(table())), model[-1].labels_)
    assert model[0].left_out_ == ["ID", "number", "same"]
    assert quietly(lambda: model.predict(table().drop(columns=["ID", "same"]).iloc[:5])).shape == (5,)


def test_features_by_hand():
    X = pd.DataFrame({"x": [1.0, 3, None, 5], "yes": [True, False, True, True], "c": ["a", "b", None, "a"]})
    found = encoded(X)
    assert found.columns.tolist() == ["x", "yes", "c"]
    deviation = np.std([1, 3, 5])
    np.testing.assert_allclose(found["x"], np.array([-2, 0, 0, 2]) / deviation)
    np.testing.assert_allclose(found["yes"], (np.array([1, 0, 1, 1]) - 0.75) / 2)
    three = encoded(pd.DataFrame({"x": [1, 2, 4, 8], "c": ["a", "b", "c", "a"]}))
    apart = three.iloc[:, 1:].to_numpy()
    np.testing.assert_allclose(np.linalg.norm(apart[0] - apart[1]), 0.5)
    np.testing.assert_allclose(np.linalg.norm(apart[1] - apart[2]), 0.5)
    np.testing.assert_allclose(apart[0], apart[3])


def test_levels_are_in_their_order_and_at_most_half_apart():
    found = encoded(table()[["size", "length"]])["size"]
    values = [found[table()["size"] == level].iloc[0] for level in "sml"]
    np.testing.assert_allclose(np.diff(values), 0.5)


def test_dates_keep_their_distances_and_gaps_are_in_the_middle():
    X = table()[["seen", "length"]]
    X.loc[5, "seen"] = pd.NaT
    found = encoded(X)["seen"].to_numpy()
    assert found[5] == 0
    hours = X["seen"].to_numpy().astype("datetime64[h]").astype(float)
    known = np.arange(40) != 5
    assert np.corrcoef(found[known], hours[known])[0, 1] > 1 - 1e-9


def test_rare_and_unknown_categories_count_as_gaps():
    X = pd.DataFrame({"x": np.linspace(0, 1, 30), "c": ["a"] * 14 + ["b"] * 12 + ["c", "d", "c", "d"]})
    encoder = cs.io.TableEncoder(max_categories=2).fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x", "c=a", "c=b"]
    new = pd.DataFrame({"x": [0.5, 0.5], "c": ["c", "never seen"]})
    np.testing.assert_array_equal(encoder.transform(new)[:, 1:], 0)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "list"])
def test_every_library_has_the_same_features(library):
    X = table()[["length", "sex", "island", "seen", "flag"]]
    wanted = encoded(X).to_numpy()
    if library == "list":
        given = X.astype(object).to_numpy().tolist()
    elif library == "pandas":
        given = X.convert_dtypes()
    else:
        module = pytest.importorskip(library)
        given = module.from_pandas(X) if library == "polars" else module.Table.from_pandas(X)
    np.testing.assert_allclose(quietly(lambda: cs.io.TableEncoder().fit_transform(given)), wanted, atol=1e-12)


def test_what_the_encoder_refuses():
    with pytest.raises(InputError, match="X lacks 'b', which the table of fit had; it has 'a'"):
        cs.io.TableEncoder().fit(pd.DataFrame({"a": [1, 2.5], "b": [1, 7]})).transform(
            pd.DataFrame({"a": [1]})
        )
    with pytest.raises(InputError, match="no column that makes a feature: 'a' hold"):
        cs.io.TableEncoder().fit(pd.DataFrame({"a": ["x", "x"]}))
    with pytest.raises(InputError, match="max_categories=1 is not valid"):
        cs.io.TableEncoder(max_categories=1).fit(pd.DataFrame({"a": [1, 2]}))
    assert clone(cs.io.TableEncoder(max_categories=7)).max_categories == 7


# Numbers of objects --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.arange(20), True),
        (np.random.default_rng(0).permutation(20) * 5 + 100, True),
        (np.delete(np.arange(60), [7, 30]), True),
        (np.arange(9), False),
        (np.arange(20) / 2, False),
        (np.repeat(np.arange(20), 2), False),
        (np.random.default_rng(0).choice(500, 40, replace=False), False),
    ],
)
def test_what_counts_the_objects(values, expected):
    assert is_numbering(values.astype(float)) is expected


def test_a_number_of_each_object_is_questioned_as_a_feature():
    X = table()[["number", "mass", "flag"]]
    model = cs.ConsensusClustering(2, generator="kmeans", n_clusterings=5, random_state=0)
    with pytest.warns(
        GuessWarning, match=r"Column 'number' of X holds whole numbers at constant steps"
    ) as found:
        model.fit(X)
    assert [one.filename for one in found if one.category is GuessWarning] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", GuessWarning)
        model.fit(X[["mass", "flag"]])
        model.fit(cs.io.Features(X))
