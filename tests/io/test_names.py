import io

import numpy as np
import pytest
import scipy.io

from consilience.errors import FileError
from consilience.io import names_in


def test_names_of_arrays_and_of_columns(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), y=[1, 2, 2])
    scipy.io.savemat(tmp_path / "b.mat", {"fea": np.ones((3, 2)), "gnd": [1, 2, 2]})
    (tmp_path / "c.csv").write_text("width,class\n1,a\n2,b\n")
    assert names_in(tmp_path / "a.npz") == ["X", "y"]
    assert names_in(tmp_path / "b.mat") == ["fea", "gnd"]
    assert names_in(tmp_path / "c.csv") == ["width", "class"]
    assert names_in(io.BytesIO(b"1,2\n3,4\n")) == []  # no header, no names


def test_names_in_a_parquet_file(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "site": ["x", "y"]}), tmp_path / "d.parquet")
    assert names_in(tmp_path / "d.parquet") == ["a", "site"]


def test_names_in_a_file_that_is_none(tmp_path):
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileError, match=r"torn\.npz"):
        names_in(tmp_path / "torn.npz")
