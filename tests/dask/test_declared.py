"""What Dask is told about blocks: counted where it is unknown, and refused where a block contradicts it."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import InputError

from ..zoo import planted

pytestmark = pytest.mark.usefixtures("here")

LABELS, TRUTH = planted(6, n=400, m=6, noise=0.3)
X = np.random.default_rng(0).normal(size=(400, 5)) + 6 * TRUTH[:, None]
WRONG = {
    "one row less": lambda block: block[:-1],
    "one row more": lambda block: np.concatenate([block, block[:1]]),
    "no rows": lambda block: block[:0],
    "one column less": lambda block: block[:, :-1],
    "one dimension": lambda block: block[:, 0],
}
PARAMS = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0}


def contradicted(table, change):
    """Four blocks of a table, of which one is not what Dask was told."""

    def changed(block, block_id=None):
        return change(block) if block_id and block_id[0] == 2 else block

    lazy = da.from_array(table, chunks=(100, -1))
    return lazy.map_blocks(changed, dtype=table.dtype, meta=table[:0])


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("max_distinct", [None, 50], ids=["one place", "in blocks"])
def test_labels_that_contradict_their_chunks_are_refused(change, max_distinct):
    lazy = cs.dask.DaskEnsemble(contradicted(LABELS, change), max_distinct=max_distinct)
    with pytest.raises(InputError, match=r"^Block 2 of labels has shape .*told that it is 100 x 6"):
        cs.consensus.LWGP(3, random_state=0).fit(lazy)


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("what", ["predict", "predict_proba", "predict_confidence"])
def test_so_are_further_labels(change, what):
    model = cs.consensus.LWGP(3, random_state=0).fit(LABELS)
    with pytest.raises(InputError, match="^Block 2 of labels has shape"):
        getattr(model, what)(contradicted(LABELS, change)).compute()


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_so_are_features(change):
    lazy = contradicted(X, change)
    with pytest.raises(InputError, match=r"^Block 2 of X has shape .*told that it is 100 x 5"):
        cs.ConsensusClustering(3, **PARAMS).fit(lazy)
    model = cs.ConsensusClustering(3, **PARAMS).fit(X)
    for what in ("predict", "predict_confidence", "score_samples"):
        with pytest.raises(InputError, match="^Block 2 of X has shape"):
            getattr(model, what)(lazy).compute()


# Sizes that Dask does not know
# ---------------------------------------------------------------------------------------------------------


def read(folder, table):
    dd = pytest.importorskip("dask.dataframe", reason="needs a Dask data frame: dask[dataframe]")
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'consilience[io]'")
    for i, start in enumerate(range(0, 400, 90)):
        pd.DataFrame(table[start : start + 90]).add_prefix("c").to_parquet(folder / f"{i}.parquet")
    return dd.read_parquet(folder)


@pytest.mark.filterwarnings("error:.*sizes of the:consilience.errors.ConsilienceWarning")
def test_those_of_files_are_in_their_headers(tmp_path):
    lazy = read(tmp_path, X)
    for frame in (lazy, lazy[["c0", "c3"]]):
        model = cs.ConsensusClustering(3, **PARAMS).fit(frame)
        expected = cs.ConsensusClustering(3, **PARAMS).fit(frame.compute().reset_index(drop=True))
        np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
        np.testing.assert_array_equal(expected.predict(frame).compute(), expected.labels_)


def test_others_are_counted(tmp_path):
    lazy = read(tmp_path, X)
    frame = lazy[lazy["c0"] > 0]
    model = cs.ConsensusClustering(3, **PARAMS)
    with pytest.warns(match="a pass over the first column of X counts them"):
        model.fit(frame)
    expected = cs.ConsensusClustering(3, **PARAMS).fit(frame.compute().reset_index(drop=True))
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


def test_so_are_those_of_further_labels(tmp_path):
    model = cs.consensus.LWGP(3, random_state=0).fit(LABELS)
    np.testing.assert_array_equal(
        model.predict(read(tmp_path, LABELS).rename(columns=lambda name: name)).compute(), model.labels_
    )
    unknown = da.from_array(LABELS, chunks=(100, -1))
    unknown = unknown[da.from_array(np.ones(400, bool), chunks=100)]
    with pytest.warns(match="a pass over labels counts them"):
        lazy = model.predict(unknown)
    assert lazy.shape == (400,)
    np.testing.assert_array_equal(lazy.compute(), model.labels_)


def test_row_names_are_read_for_messages_alone(tmp_path):
    names = pd.Index([f"n{i // 2}" for i in range(400)], name="name")  # each name twice: no matter
    table = pd.DataFrame(X, columns=list("abcde"), index=names)
    dd = pytest.importorskip("dask.dataframe", reason="needs a Dask data frame: dask[dataframe]")
    lazy = dd.from_pandas(table, npartitions=4, sort=False)
    model = cs.ConsensusClustering(3, **PARAMS).fit(lazy)
    assert model.to_frame().compute().index.tolist() == names.tolist()
    table = table[~table.index.duplicated()]
    table.iloc[150, 2] = np.nan
    with pytest.raises(InputError, match="'n150'.*'c'"):
        model.predict(dd.from_pandas(table, npartitions=4, sort=False)).compute()
