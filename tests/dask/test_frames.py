"""Labels beside the rows of a data frame, with its index."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import consilience as cs

from ..zoo import planted

dd = pytest.importorskip("dask.dataframe", reason="needs a Dask data frame: pip install 'dask[dataframe]'")
pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'consilience[io]'")

pytestmark = [
    pytest.mark.usefixtures("here"),
    pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning"),
]

LABELS, TRUTH = planted(6, n=300, m=6, noise=0.3)
NAMES = pd.Index([f"c{i}" for i in np.random.default_rng(0).permutation(300)], name="customer")
LABELS = pd.DataFrame(LABELS, columns=[f"m{i}" for i in range(6)], index=NAMES)
X = np.random.default_rng(1).normal(size=(300, 16)) + 8 * TRUTH[:, None]
FEATURES = pd.DataFrame(X, columns=[f"f{j}" for j in range(16)], index=NAMES)


def stored(frame, folder):
    """A frame as files of 90 rows."""
    folder.mkdir()
    for i, start in enumerate(range(0, 300, 90)):
        frame[start : start + 90].to_parquet(folder / f"{i}.parquet")
    return dd.read_parquet(folder)


@pytest.mark.parametrize("columns", [["f0"], ["f0", "f9", "f3"], list(FEATURES)])
def test_labels_come_with_the_index_of_a_frame_of_files(tmp_path, columns):
    lazy = stored(FEATURES, tmp_path / "features")[columns]
    params = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0}
    model = cs.ConsensusClustering(3, **params).fit(lazy)
    expected = cs.ConsensusClustering(3, **params).fit(FEATURES[columns]).to_frame()
    found = model.to_frame().compute()
    assert found.index.tolist() == NAMES.tolist()
    assert found.index.name == "customer"
    np.testing.assert_array_equal(found, expected)
    if len(columns) == 16:  # of fewer Dask puts files together, and then finds no place for the array
        beside = lazy.assign(label=model.labels_).compute()
        assert beside.index.tolist() == NAMES.tolist()
        np.testing.assert_array_equal(beside["label"], expected["label"])
    next_week = model.predict(lazy).compute()
    np.testing.assert_array_equal(next_week, expected["label"])


def test_so_do_those_of_a_consensus(tmp_path):
    lazy = stored(LABELS, tmp_path / "labels")
    model = cs.consensus.LWGP(3, random_state=0).fit(lazy)
    found = model.to_frame()
    assert list(found.columns) == ["label", "confidence"]
    expected = cs.consensus.LWGP(3, random_state=0).fit(LABELS).to_frame()
    pd.testing.assert_frame_equal(found.compute(), expected, check_index_type=False, check_names=False)


def test_the_model_in_memory_is_saved_and_framed(tmp_path):
    params = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0}
    model = cs.ConsensusClustering(3, **params).fit(stored(FEATURES, tmp_path / "features"))
    local = model.to_local()
    assert len(local.to_frame()) == local.method_.distinct_.n_samples
    local.save(tmp_path / "model.consilience")
    loaded = cs.load(tmp_path / "model.consilience")
    np.testing.assert_array_equal(loaded.predict(FEATURES), model.labels_.compute())


def test_rows_of_an_array_have_positions():
    import dask.array as da

    model = cs.consensus.LWGP(3, random_state=0).fit(da.from_array(LABELS.to_numpy(), chunks=(90, 6)))
    expected = cs.consensus.LWGP(3, random_state=0).fit(LABELS.to_numpy()).to_frame()
    pd.testing.assert_frame_equal(model.to_frame().compute(), expected)
