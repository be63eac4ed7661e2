import hashlib
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from consilience.errors import FileError, InputError
from reproduction.protocol import DataSet
from reproduction.sets import differences, find_set, fingerprint, known_sets, load_set

X = np.arange(12.0).reshape(4, 3)
Y = np.array([1, 1, 2, 2])


def test_the_three_formats_say_the_same(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    scipy.io.savemat(tmp_path / "b.mat", {"fea": X, "gnd": Y})
    lines = ["f0,f1,class,f2", *(f"{r[0]},{r[1]},{y},{r[2]}" for r, y in zip(X, Y))]
    (tmp_path / "c.csv").write_text("\n".join(lines) + "\n")
    for name in "abc":
        loaded = load_set(name, tmp_path)
        assert np.array_equal(loaded.features, X)
        assert [str(v) for v in loaded.truth] == ["1", "1", "2", "2"]
        assert loaded.shape == (4, 3)
        assert loaded.n_classes == 2


def test_sparse_pools_and_tasks(tmp_path):
    S = sp.csr_matrix(X)
    np.savez(tmp_path / "s.npz", data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=Y, task=Y)
    np.savez(tmp_path / "p.npz", labels=np.ones((4, 7), int), y=Y)
    sparse = load_set("s", tmp_path, "unit")
    assert sp.issparse(sparse.features)
    assert np.allclose(sp.linalg.norm(sparse.features, axis=1), 1)
    assert sparse.task is not None
    pool = load_set("p", tmp_path, "unit")
    assert pool.features is None
    assert pool.shape == (4, 7)


def test_log_tfidf_weighs_counts(tmp_path):
    counts = np.array([[2, 1, 0, 1], [0, 3, 1, 1], [0, 0, 0, 1]])
    np.savez(tmp_path / "t.npz", X=counts, y=[0, 0, 1])
    found = load_set("t", tmp_path, "log-tfidf").features
    one, two = (
        np.log(3),
        np.log(3 / 2),
    )  # of a term in one document of three, and in two; one in all weighs nothing
    expected = np.array(
        [[(1 + np.log(2)) * one, two, 0, 0], [0, (1 + np.log(3)) * two, one, 0], [0, 0, 0, 0]]
    )
    expected[:2] /= np.linalg.norm(expected[:2], axis=1)[:, None]
    assert np.allclose(found.toarray(), expected)
    np.savez(tmp_path / "w.npz", X=counts / 2, y=[0, 0, 1])
    with pytest.raises(InputError, match=r"counts of terms.*0\.5"):
        load_set("w", tmp_path, "log-tfidf")


def test_log_tfidf_is_how_a_weighted_file_of_the_authors_was_made(shared_dir):
    X = load_set("webace", shared_dir / "data").features
    n, documents = X.shape[0], np.bincount(X.indices, minlength=X.shape[1])
    held = X.data / np.log(n / np.maximum(documents, 1))[X.indices]
    weights = 1 + np.log(np.arange(1, 200))
    for row in range(0, n, 50):
        values = held[X.indptr[row] : X.indptr[row + 1]]
        if values.size:
            # Some term of each document is there once.
            assert np.abs(values[:, None] / values.min() - weights).min(axis=1).max() < 1e-3


@pytest.mark.parametrize("name", ["iris", "wine", "digits", "breast_cancer"])
def test_bundled_sets(name):
    loaded = load_set(f"sklearn:{name}", None, "standardize")
    assert loaded.features.shape[0] == loaded.truth.size
    assert len(fingerprint(f"sklearn:{name}", None)) == 64


def test_what_cannot_be_read_says_why(tmp_path):
    cases = {
        "noy": ({"X": X}, "has no classes"),
        "nox": ({"y": Y}, "neither features"),
        "short": ({"X": X, "y": Y[:2]}, "'y' has 2 values for 4 rows"),
        "nan": ({"X": np.full((4, 2), np.nan), "y": Y}, "8 missing values"),
        "badsparse": (
            {"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 2], "y": [0]},
            "do not fit together",
        ),
    }
    for name, (arrays, message) in cases.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
        with pytest.raises(FileError, match=message):
            load_set(name, tmp_path)
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileError, match=r"torn\.npz"):
        load_set("torn", tmp_path)
    for name, text, message in [
        ("few", "a,y\n1,2\n", "at least two"),
        ("noclass", "a,b\n1,2\n3,4\n", "has no classes"),
        ("ragged", "a,y\n1,2\n3\n", "line 3"),
        ("words", "a,y\nx,2\n3,4\n", "is not a number"),
    ]:
        (tmp_path / f"{name}.csv").write_text(text)
        with pytest.raises(FileError, match=message):
            load_set(name, tmp_path)


def test_names_are_plain_and_absent_sets_are_told(tmp_path):
    with pytest.raises(FileError, match=re.escape("none of x.npz, x.mat, x.csv is in")):
        find_set("x", tmp_path)
    with pytest.raises(InputError, match="plain name"):
        find_set("../x", tmp_path)
    with pytest.raises(FileError, match="no data folder"):
        find_set("x", None)
    with pytest.raises(InputError, match="not bundled"):
        find_set("sklearn:mnist", None)


def test_differences_from_print_and_from_the_known_file(tmp_path):
    np.savez(tmp_path / "glioma.npz", X=X, y=Y)
    sha = fingerprint("glioma", tmp_path)
    assert sha == hashlib.sha256((tmp_path / "glioma.npz").read_bytes()).hexdigest()
    item = DataSet("GLIOMA", "glioma", n=50, d=4434, classes=4)
    told = differences(item, load_set("glioma", tmp_path), sha)
    assert told[:3] == ["4 objects, printed 50", "3 features, printed 4,434", "2 classes, printed 4"]
    assert "another file than the one described here" in told[3]
    same = differences(
        DataSet("g", "golub_1999_v1"), load_set("sklearn:iris", None), known_sets()["golub_1999_v1"]["sha256"]
    )
    assert same == ["1868 genes in the distributed file, tables print 1877; n and classes match"]


def test_the_reference_folder_is_the_one_described(shared_dir):
    for name in ("iris", "glioma", "pool_allaml", "tr23", "comp_vs_sci"):
        loaded = load_set(name, shared_dir / "data")
        known = known_sets()[name]
        assert loaded.shape == (known["n"], known["d_or_m"])
        assert loaded.n_classes == known["classes"]
        assert fingerprint(name, shared_dir / "data") == known["sha256"]
