"""Features in files larger than memory, by name and from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import consilience as cs
from consilience._cli import main
from consilience.dask.files import open_features, open_labels, write_blocks
from consilience.errors import FileError, InputError

from ..zoo import planted

arrow = pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'consilience[io]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'consilience[io]'")


def blobs(n=600, d=4, dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) + 8 * rng.integers(0, 3, n)[:, None]).astype(dtype)


@pytest.fixture
def folder(tmp_path):
    """Three files of row groups of 90."""
    X = blobs()
    (tmp_path / "big.parquet").mkdir()
    for i, part in enumerate(np.array_split(X, 3)):
        table = arrow.table(
            {"name": [f"o{i}-{j}" for j in range(len(part))], **{f"f{j}": part[:, j] for j in range(4)}}
        )
        parquet.write_table(table, tmp_path / "big.parquet" / f"{i}.parquet", row_group_size=90)
    return tmp_path, X


@pytest.mark.usefixtures("here")
def test_files_are_read_by_runs_of_row_groups(folder):
    path, X = folder
    source = open_features(str(path / "big.parquet"), rows=100)
    assert source.X.chunks[0] == (180, 20) * 3  # known beforehand
    assert source.X.dtype == np.float32
    assert "row names" in source.notes[0]
    np.testing.assert_array_equal(source.X.compute(), X)
    assert write_blocks(str(path / "out"), source.X[:, 0].astype(int), names=source.names) == 6
    with pytest.raises(FileError, match="files in it"):
        write_blocks(str(path / "out"), source.X[:, 0].astype(int))
    with pytest.raises(InputError, match="not numbers: 'name'"):
        open_features(str(path / "big.parquet"), index=False)
    with pytest.raises(FileError, match="does not exist"):
        open_features(str(path / "none.parquet"))


def from_pandas(folder, index, n=300):
    """A folder as pandas writes it."""
    import pandas as pd

    folder.mkdir()
    frame = pd.DataFrame(blobs(n), columns=list("abcd"), index=index)
    for i, start in enumerate(range(0, n, 100)):
        frame[start : start + 100].to_parquet(folder / f"{i}.parquet")
    return frame


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["customer", None], ids=["named", "nameless"])
@pytest.mark.parametrize("numbers", [False, True], ids=["text", "numbers"])
def test_the_index_that_pandas_stored_is_row_names(tmp_path, name, numbers):
    pd = pytest.importorskip("pandas")
    drawn = np.random.default_rng(0).permutation(300) + 10**6
    index = pd.Index(drawn if numbers else [f"c{i}" for i in drawn], name=name)
    frame = from_pandas(tmp_path / "in", index)
    source = open_features(str(tmp_path / "in"))
    assert source.X.shape == (300, 4)
    np.testing.assert_array_equal(source.X.compute(), frame)
    assert "which pandas stored" in source.notes[0]
    write_blocks(str(tmp_path / "out"), source.X[:, 0].astype(int), names=source.names)
    found = arrow.concat_tables([parquet.read_table(file) for file in sorted((tmp_path / "out").iterdir())])
    assert found.column(0).to_pylist() == [str(value) for value in index]
    without = open_features(str(tmp_path / "in"), index=False)
    assert without.names is None
    assert without.X.shape == (300, 4)


@pytest.mark.usefixtures("here")
def test_rows_that_are_merely_numbered_have_no_names(tmp_path):
    from_pandas(tmp_path / "in", None)
    assert open_features(str(tmp_path / "in")).names is None


@pytest.mark.usefixtures("here")
def test_an_index_of_several_columns_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    from_pandas(tmp_path / "in", pd.MultiIndex.from_product([range(30), range(10)], names=["a1", "b1"]))
    with pytest.raises(InputError, match="index of 2 columns, 'a1'.*'b1'.*reset_index"):
        open_features(str(tmp_path / "in"))


@pytest.mark.usefixtures("here")
def test_zarr_is_read(tmp_path):
    zarr = pytest.importorskip("zarr", reason="needs zarr")
    X = blobs()
    zarr.save_array(str(tmp_path / "x.zarr"), X)
    np.testing.assert_array_equal(open_features(str(tmp_path / "x.zarr")).X.compute(), X)


def test_the_command_line_clusters_a_folder(folder, capsys):
    path, X = folder
    out, model = str(path / "labels"), str(path / "model.consilience")
    arguments = ["cluster", str(path / "big.parquet"), "-k", "3", "-g", "kmeans", "-n", "4", "-m", "lwgp"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--dask", "-o", out, "--confidence", "--save-model", model, "--json"])
    assert ended.value.code in (0, None)
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_samples"] == sum(facts["sizes"]) == 600
    table = arrow.concat_tables([parquet.read_table(file) for file in sorted((path / "labels").iterdir())])
    found = table.column("label").to_numpy()
    truth = cs.ConsensusClustering(3, generator="kmeans", n_clusterings=4, method="lwgp", random_state=0).fit(
        X
    )
    np.testing.assert_array_equal(found, truth.labels_)
    assert table.column_names[-1] == "confidence"
    np.testing.assert_array_equal(cs.load(model).predict(X), truth.labels_)
    with pytest.raises(SystemExit):
        main([*arguments, "--dask"])
    assert "name a folder" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_names_of_rows_are_no_clustering(tmp_path):
    columns = {"name": [f"o{i}" for i in range(6)], "a": ["x", "y"] * 3, "b": [1, 2, 2] * 2}
    parquet.write_table(arrow.table(columns), tmp_path / "e.parquet")
    source = open_labels(str(tmp_path / "e.parquet"))
    assert source.columns == ["a", "b"]
    assert source.X.compute().tolist() == [list(row) for row in zip(columns["a"], columns["b"])]
    assert "because of its name" in source.notes[0]
    assert open_labels(str(tmp_path / "e.parquet"), index=False).columns == ["name", "a", "b"]


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return ended.value.code or 0


def labels_in(folder):
    table = arrow.concat_tables([parquet.read_table(file) for file in sorted(folder.iterdir())])
    return table.column("label").to_numpy(), table.column(0).to_pylist()


def test_the_command_line_predicts_a_folder(tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    frame = from_pandas(tmp_path / "in", pd.Index([f"c{i}" for i in range(300)], name="customer"))
    model = cs.ConsensusClustering(
        3, generator="kmeans", n_clusterings=3, random_state=0, keep_base_models=True
    )
    model.fit(frame.to_numpy()[:200]).save(tmp_path / "m.consilience")
    out = tmp_path / "out"
    assert (
        run("predict", tmp_path / "m.consilience", tmp_path / "in", "--dask", "-o", out, "--confidence") == 0
    )
    found, names = labels_in(out)
    np.testing.assert_array_equal(found, model.predict(frame.to_numpy()))
    assert names == list(frame.index)
    capsys.readouterr()
    assert run("predict", tmp_path / "m.consilience", tmp_path / "in", "--dask") != 0
    assert "name a folder" in capsys.readouterr().err

    model.fit(frame[:200]).save(tmp_path / "named.consilience")
    (tmp_path / "turned").mkdir()
    frame[list("dcba")].to_parquet(tmp_path / "turned" / "0.parquet")
    assert (
        run(
            "predict",
            tmp_path / "named.consilience",
            tmp_path / "turned",
            "--dask",
            "-o",
            tmp_path / "by_name",
        )
        == 0
    )
    np.testing.assert_array_equal(labels_in(tmp_path / "by_name")[0], model.predict(frame))
    frame.rename(columns={"b": "z"}).to_parquet(tmp_path / "turned" / "0.parquet")
    assert (
        run("predict", tmp_path / "named.consilience", tmp_path / "turned", "--dask", "-o", tmp_path / "no")
        != 0
    )
    assert "no column 'b'" in capsys.readouterr().err


def test_the_command_line_combines_a_folder(tmp_path, capsys):
    pd = pytest.importorskip("pandas")
    labels, _ = planted(6, n=300, m=5, noise=0.2)
    table = pd.DataFrame(
        labels, columns=list("abcde"), index=pd.Index([f"c{i}" for i in range(300)], name="customer")
    )
    table["a"] = table["a"].map({0: "x", 1: "y", 2: "z"})
    (tmp_path / "in").mkdir()
    for i in range(3):
        table[100 * i : 100 * i + 100].to_parquet(tmp_path / "in" / f"{i}.parquet")
    out, model = tmp_path / "out", tmp_path / "m.consilience"
    more = ["-k", 3, "--method", "lwgp", "--dask", "-o", out, "--save-model", model, "--json"]
    assert run("consensus", tmp_path / "in", *more) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 300
    found, names = labels_in(out)
    np.testing.assert_array_equal(found, cs.consensus.LWGP(3, random_state=0).fit(table).labels_)
    assert names == list(table.index)
    assert run("predict", model, tmp_path / "in", "--dask", "-o", tmp_path / "again") == 0
    np.testing.assert_array_equal(labels_in(tmp_path / "again")[0], found)
    turned = table[list("edcba")]
    (tmp_path / "turned").mkdir()
    turned.to_parquet(tmp_path / "turned" / "0.parquet")
    assert run("predict", model, tmp_path / "turned", "--dask", "-o", tmp_path / "by_name") == 0
    np.testing.assert_array_equal(labels_in(tmp_path / "by_name")[0], found)
    some = ["-c", "b", "-c", "0", "-c", "d"]
    assert run("consensus", tmp_path / "in", *more[:-5], "-o", tmp_path / "few", *some) == 0
    few = cs.consensus.LWGP(3, random_state=0).fit(table[["b", "a", "d"]]).labels_
    np.testing.assert_array_equal(labels_in(tmp_path / "few")[0], few)


def test_the_command_line_chooses_k_of_a_folder(folder, capsys):
    path, X = folder
    more = ["-k", "2:4", "-n", 8, "--null", "none", "--max-samples", 200, "--json"]
    assert run("choose-k", path / "big.parquet", *more, "--dask") == 0
    found = json.loads(capsys.readouterr().out)
    assert (
        found["n_clusters"]
        == cs.choose_k(
            X, n_clusters=(2, 4), n_clusterings=8, null=None, max_samples=200, random_state=0
        ).n_clusters
    )
    assert run("choose-k", path / "big.parquet", *more, "--dask", "--save-report", path / "page.html") != 0
    assert "--save-report needs all objects in memory" in capsys.readouterr().err
