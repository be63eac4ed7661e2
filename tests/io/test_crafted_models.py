"""Models made to harm are refused before anything in them is used."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

import consilience as cs
from consilience.errors import FileError

from ..zoo import planted

LABELS, _ = planted()


def unpacked(path) -> tuple[dict, dict[str, bytes]]:
    """(JSON, arrays) of a model."""
    with zipfile.ZipFile(path) as archive:
        held = {info.filename: archive.read(info) for info in archive.infolist()}
    return json.loads(held.pop("model.json")), held


def packed(path, content: dict, arrays: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**arrays, "model.json": json.dumps(content).encode()}.items():
            archive.writestr(name, data)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.consilience"


def refused(path, change, random_state=0):
    model = cs.consensus.CoassociationKMeans(3, random_state=random_state).fit(LABELS)
    model.save(path)
    content, arrays = unpacked(path)
    change(content["model"])
    packed(path, content, arrays)
    with pytest.raises(FileError, match=r"model\.consilience is truncated or damaged") as caught:
        cs.load(path)
    return str(caught.value)


def test_tuples_of_tuples_are_not_hashed_without_end(path):
    def change(model):
        nest = {"!": "tuple", "items": [1, 2], "id": 1000}
        for i in range(60):
            nest = {"!": "tuple", "items": [nest, {"!": "same", "id": 1000 + i}], "id": 1001 + i}
        model["state"]["x_"] = {"!": "dict", "items": [[nest, 1]]}

    assert "a tuple that occurs several times" in refused(path, change)


@pytest.mark.parametrize("holder", ["dict", "objects"])
def test_keys_and_elements_are_plain(path, holder):
    def change(model):
        nest = {"!": "tuple", "items": [{"!": "tuple", "items": [1]}]}
        held = {"items": [[nest, 1]]} if holder == "dict" else {"items": [nest], "shape": [1]}
        model["state"]["x_"] = {"!": holder, **held}

    assert "a tuple where a number or text belongs" in refused(path, change)


@pytest.mark.parametrize("position", [10**9, -(10**8), 2**31 - 1, 700, -1, 1.5, None])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: np.random.RandomState(0), "pos"),
        (lambda: np.random.Generator(np.random.MT19937(0)), "pos"),
        (lambda: np.random.Generator(np.random.Philox(0)), "buffer_pos"),
    ],
)
def test_positions_of_generators_are_checked(path, make, name, position):
    def set_in(node):
        for item in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
            if isinstance(item, list) and len(item) == 2 and item[0] == name:
                item[1] = position
            else:
                set_in(item)

    assert f"random numbers at {name} {position}" in refused(path, lambda model: set_in(model), make())


@pytest.mark.parametrize("make", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_generators_in_use_go_on(path, make):
    random = np.random.Generator(make(0))
    random.integers(10, size=3, dtype=np.int32)
    cs.consensus.CoassociationKMeans(3, random_state=random).fit(LABELS).save(path)
    assert cs.load(path).random_state.random() == random.random()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("predict", 5, "data in place of the method 'predict'"),
        ("fit", None, "data in place of the method 'fit'"),
        ("_predictor", 5, "_predictor is a int"),
        ("confidence_", [0.5], "confidence_ is not an array of the right type and shape"),
        ("sample_names_", [[0]] * len(LABELS), "sample_names_ are neither text nor numbers"),
        ("messages_", "all is well", "messages_ are not text"),
        ("n_samples_", 7, "n_samples_ do not count what is there"),
        ("consensus_nmi_", "high", "consensus_nmi_ is 'high'"),
        ("_library", "os", "an unknown library 'os'"),
        ("history_", [["x"]], "history_ holds more than numbers"),
        ("other_", [1], "other_ is a list"),
    ],
)
def test_data_are_of_their_kinds_and_hide_no_method(path, key, value, message):
    assert message in refused(path, lambda model: model["state"].update({key: value}))


def changed_array(path, model, key, change):
    """A model whose learned array ``key`` was changed, in a file; the message that refuses it."""
    model.save(path)
    content, arrays = unpacked(path)
    node = content["model"]["state"][key]
    name = (node["pieces"][2] if node["!"] == "sparse" else node)["name"]
    stream = io.BytesIO()
    np.save(stream, change(np.load(io.BytesIO(arrays[name]))))
    packed(path, content, {**arrays, name: stream.getvalue()})
    with pytest.raises(FileError, match=r"model\.consilience is truncated or damaged") as caught:
        cs.load(path)
    return str(caught.value)


def test_sparse_pieces_are_checked_before_scipy_follows_them(path):
    """SciPy takes a negative end of the last row for no entries at all, and reads past them later."""

    def change(indptr):
        indptr[-2:] = np.iinfo(indptr.dtype).min
        return indptr

    model = cs.consensus.SPCE(3).fit(LABELS[:24])
    assert "indptr does not rise from 0" in changed_array(path, model, "distinct_consensus_", change)


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("confidence_", lambda a: a[:-1], "confidence_ has shape"),
        (
            "cluster_sizes_",
            lambda a: a[:, None],
            "cluster_sizes_ is not an array",
        ),
        ("heights_", lambda a: a.astype("U9"), "heights_ is not an array of the right type and shape"),
        ("_merges", lambda a: a * 0, "the merges of its tree do not join its objects"),
        ("_merges", lambda a: a + 10**9, "the merges of its tree do not join its objects"),
    ],
)
def test_learned_arrays_fit_the_objects(path, key, change, message):
    model = cs.consensus.EvidenceAccumulation(3).fit(LABELS)
    assert message in changed_array(path, model, key, change)


@pytest.mark.parametrize("key", ["confidence_", "_predictor", "n_clusters_", "cluster_sizes_", "_merges"])
def test_fitted_models_are_whole(path, key):
    assert f"a fitted model without {key}" in refused(path, lambda model: model["state"].pop(key))
