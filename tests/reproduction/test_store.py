import pytest

from consilience.errors import FileError
from reproduction.store import FILE, Store, decode, encode, read_store


def fill(folder, count=3):
    with Store(folder) as store:
        for number in range(count):
            store.append({"kind": "cell", "name": f"cell {number}", "value": 0.1 * number})


def test_what_is_appended_is_read(tmp_path):
    fill(tmp_path)
    held = read_store(tmp_path)
    assert [record["name"] for record in held.of("cell")] == ["cell 0", "cell 1", "cell 2"]
    assert held.damaged == 0
    assert read_store(tmp_path / "empty").records == []


def test_every_torn_last_line_is_tolerated(tmp_path):
    fill(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(last, len(whole)):
        (tmp_path / FILE).write_bytes(whole[:cut])
        with Store(tmp_path) as store:
            store.append({"kind": "cell", "name": "after"})
        held = read_store(tmp_path)
        names = [record["name"] for record in held.records]
        # A line that lacks only its line break is whole.
        middle = ["cell 2"] if cut == len(whole) - 1 else []
        assert names == ["cell 0", "cell 1", *middle, "after"]
        assert held.damaged == (last < cut < len(whole) - 1)


def test_a_changed_line_is_noticed(tmp_path):
    fill(tmp_path)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes().replace(b"0.1", b"0.9"))
    held = read_store(tmp_path)
    assert held.damaged == 1
    assert [record["name"] for record in held.records] == ["cell 0", "cell 2"]


def test_lines_carry_their_checksum():
    line = encode({"a": 1, "b": [None, "ü"]})
    assert decode(line) == {"a": 1, "b": [None, "ü"]}
    for other in (b"", b"{}", b"[1]", b'{"crc":"00000000","record":{"a":1}}', b"\xff\xfe"):
        assert decode(other) is None


def test_one_run_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    with Store(tmp_path), pytest.raises(FileError, match="Another run is writing"), Store(tmp_path):
        pass


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="Cannot write results"), Store(tmp_path / "file"):
        pass
