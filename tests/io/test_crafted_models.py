"""Models made to harm are refused before anything in them is used."""

from __future__ import annotations

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
    ],
)
def test_data_do_not_take_the_place_of_methods(path, key, value, message):
    assert message in refused(path, lambda model: model["state"].update({key: value}))
