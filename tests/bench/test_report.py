import csv
import io
import re
from dataclasses import replace

import pytest

from consilience.bench import Records, report, summarise
from consilience.bench._protocol import parse_protocol, setting_name
from consilience.bench._report import _blocks, load_summaries, to_html, to_markdown, write_csv
from consilience.bench._store import Store
from consilience.bench._summary import Figure
from consilience.bench._svg import critical_difference_diagram, curve_plot, rank_plot
from consilience.errors import FileError, InputError

from .conftest import protocol_of

EVIL = "<script>alert('x')<b>|`*"


def cell(method, value, repetition, *, row="iris", column="default", params=None, variation=None, **more):
    params = params or {}
    setting = setting_name(params) if column == "tuned" else "default"
    name = f"mine/{row}/{variation}/{method}/{column}/{setting}/{repetition}"
    return {
        "kind": "cell",
        "protocol": "mine",
        "name": name,
        "digest": "d",
        "data_sha": "s",
        "set": row,
        "variation": variation,
        "method": method,
        "column": column,
        "setting": setting,
        "params": params,
        "repetition": repetition,
        "seconds": 0.5,
        "cpu_seconds": 0.4,
        "peak_bytes": 1000,
        "scores": {"": {"acc": value}},
        **more,
    }


def protocol(**changes):
    methods = [
        {"name": "A", "method": "A", "tuned": {"grid": {"t": [1, 2]}}},
        {"name": "B", "method": "B"},
        {"name": "KM", "method": "base-mean"},
    ]
    sets = [{"name": "iris", "data": "sklearn:iris"}, {"name": "wine", "data": "sklearn:wine"}]
    printed = {"ACC": {"A": {"iris": [0.8, 0.05]}, "B": {"iris": 0.9}, EVIL: {"iris": 0.1}}}
    raw = protocol_of(**{"methods": methods, "sets": sets, "printed": printed, **changes})
    return parse_protocol(raw, where="mine")


def test_default_and_tuned_are_never_mixed():
    records = [cell("A", 0.5 + 0.1 * r, r) for r in range(3)]
    records += [cell("A", v, r, column="tuned", params={"t": 1}) for r, v in enumerate([0.9, 0.2, 0.3])]
    records += [cell("A", v, r, column="tuned", params={"t": 2}) for r, v in enumerate([0.1, 0.8, 0.6])]
    records += [cell("B", v, r) for r, v in enumerate([0.7, 0.8, 0.9])]
    summary = summarise(protocol(), Records(records))
    held = {(f.method, f.column): f for f in summary.figures["ACC"]}
    assert held["A", "default"].mean == pytest.approx(0.6)
    assert held["A", "default"].std == pytest.approx(0.1)
    assert held["A", "tuned"].mean == pytest.approx((0.9 + 0.8 + 0.6) / 3)  # the best setting per ensemble
    assert held["A", "default"].difference == pytest.approx(-0.2)
    assert held["A", "default"].reached is False
    assert held["A", "tuned"].reached is True
    assert held["B", "default"].p_value == 1.0
    assert held["A", "default"].p_value == pytest.approx(0.0, abs=1e-12)  # always 0.2 behind
    assert held["A", "tuned"].p_value == 1.0  # alone in its column
    columns = {c.column: c.methods for c in summary.comparisons}
    assert columns["default"] == ["A", "B"]
    assert "tuned" not in columns  # one method alone is no comparison
    (curve,) = summary.curves
    assert curve.x == [1, 2]
    assert curve.lines["A"] == pytest.approx([1.4 / 3, 1.5 / 3])


def test_a_printed_figure_is_reached_at_its_printed_precision():
    figure = Figure("iris", "A", "default", {0: 85.9668}, printed=(85.97, 0.0), digits=2)
    assert figure.reached
    assert not replace(figure, values={0: 85.96}).reached
    assert replace(figure, values={0: 85.0}, printed=(85.97, 1.0)).reached
    assert replace(figure, printed=None).reached is None


def test_choice_per_set_takes_one_setting():
    methods = [{"name": "A", "method": "A", "tuned": {"grid": {"t": [1, 2]}, "choice": "set"}}]
    records = [cell("A", v, r, column="tuned", params={"t": 1}) for r, v in enumerate([0.9, 0.2])]
    records += [cell("A", v, r, column="tuned", params={"t": 2}) for r, v in enumerate([0.5, 0.7])]
    summary = summarise(protocol(methods=methods, printed={}), Records(records))
    (figure,) = summary.figures["ACC"]
    assert figure.mean == pytest.approx(0.6)
    assert figure.note == "t=2"


def test_an_unfinished_grid_is_said():
    records = [cell("A", 0.5, 0, column="tuned", params={"t": 1})]
    (figure,) = summarise(protocol(), Records(records)).figures["ACC"]
    assert figure.note == "1 of 2 settings of the grid"


def test_deviation_of_base_clusterings_is_over_all_of_them():
    record = cell("KM", 0.5, 0, each={"": {"acc": [0.4, 0.6]}})
    (figure,) = summarise(protocol(), Records([record])).figures["ACC"]
    assert figure.std == pytest.approx(0.1 * 2**0.5)
    assert figure.p_value is None


def test_the_last_record_and_the_newest_data_count():
    records = [
        cell("A", 0.1, 0, data_sha="old"),
        cell("A", 0.2, 1, data_sha="old"),
        cell("A", 0.6, 0),
        cell("B", 0.1, 0, digest="before"),
        cell("B", 0.1, 1, digest="before"),
        cell("B", 0.9, 0),
        cell("gone", 0.5, 0),
        cell("A", 0.5, 0, column="tuned", params={"t": 3}),
    ]
    held = {f.method: f.values for f in summarise(protocol(), Records(records)).figures["ACC"]}
    assert held == {"A": {0: 0.6}, "B": {0: 0.9}}


def test_a_failure_ranks_last_and_a_copy_does_not_count_twice():
    sets = [
        {"name": "iris", "data": "sklearn:iris"},
        {"name": "iris again", "data": "sklearn:iris", "printed_as": "iris"},
        {"name": "wine", "data": "sklearn:wine"},
    ]
    records = [cell(m, v, 0, row=s) for s in ("iris", "iris again") for m, v in (("A", 0.5), ("B", 0.6))]
    failed = cell("B", 0, 0, row="wine", error={"type": "TimeLimit", "message": "late"})
    records += [cell("A", 0.7, 0, row="wine"), {**failed}]
    summary = summarise(protocol(sets=sets), Records(records))
    comparison = next(c for c in summary.comparisons if c.column == "default")
    assert comparison.rows == ["iris", "wine"]
    assert comparison.ranks.tolist() == [1.5, 1.5]
    assert comparison.scores.tolist() == pytest.approx([0.5 / 0.6 + 1, 1.0])
    again = [f for f in summary.figures["ACC"] if f.row == "iris again"]
    assert again[0].printed == (0.8, 0.05)


def test_variations_become_curves():
    vary = {"parameter": "missing", "label": "missing", "values": [0.1, 0.5]}
    records = [cell(m, v, 0, variation=label) for m in "AB" for label, v in (("0.1", 0.9), ("0.5", 0.4))]
    summary = summarise(protocol(vary=vary), Records(records))
    assert summary.rows == ["iris @ 0.1", "iris @ 0.5"]
    (curve,) = [c for c in summary.curves if "default" in c.title]
    assert curve.lines == {"A": [0.9, 0.4], "B": [0.9, 0.4]}


@pytest.fixture
def folder(tmp_path):
    """Results whose every text tries to break out."""
    import json

    raw = protocol_of(
        title=EVIL,
        about=EVIL,
        methods=[
            {"name": EVIL, "method": "A", "tuned": {"grid": {"t": [1, 2]}}},
            {"name": "=B", "method": "B"},
        ],
        sets=[{"name": "iris", "data": "sklearn:iris"}, {"name": "=w", "data": "sklearn:wine"}],
        printed={"ACC": {"=B": {"iris": [0.5, 0.1]}, "other" + EVIL: {"iris": 0.1}}},
    )
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols" / "mine.json").write_text(json.dumps(raw))
    with Store(tmp_path) as store:
        store.append(
            {
                "kind": "run",
                "protocol": "mine",
                "started": "2026-01-01T00:00:00Z",
                "workers": 1,
                "threads": 1,
                "cores": 2,
                "machine": EVIL,
                "versions": {"x": EVIL},
                "skipped": [[EVIL, EVIL]],
                "notes": {"iris": [EVIL]},
                "shapes": {"iris": [150, 4, 3]},
            }
        )
        for row in ("iris", "=w"):
            for r in range(3):
                store.append(cell(EVIL, 0.5 + 0.01 * r, r, row=row, warnings=[EVIL]))
                store.append(cell("=B", 0.6 + 0.02 * r, r, row=row))
        store.append(cell(EVIL, 0.5, 0, column="tuned", params={"t": 1}))
        store.append(cell("=B", 0, 9, error={"type": "E", "message": EVIL}))
    return tmp_path


def test_nothing_breaks_out_of_the_page_and_nothing_is_fetched(folder):
    summaries, _ = load_summaries(folder)
    page = to_html(_blocks(summaries, 1))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 10
    assert not re.search(r"(src|href)\s*=", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert page.count("<svg") == page.count("</svg>") >= 2
    text = to_markdown(_blocks(summaries, 0))
    assert "<script" not in text
    for block in text.split("\n\n"):  # every row of a table has the columns of its header
        if block.startswith("| "):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1
    handle = io.StringIO()
    write_csv(handle, summaries)
    rows = list(csv.DictReader(io.StringIO(handle.getvalue())))
    assert {row["method"] for row in rows} == {EVIL, "'=B"}
    line = next(row for row in rows if row["method"] == "'=B" and row["row"] == "iris")
    assert float(line["mean"]) == pytest.approx(0.62)
    assert float(line["difference"]) == pytest.approx(0.12)


def test_empty_and_unknown_results(tmp_path):
    with pytest.raises(FileError, match="holds no results"):
        report(tmp_path)
    with Store(tmp_path) as store:
        store.append(cell("A", 0.5, 0))
    with pytest.raises(InputError, match="no results of spce"):
        report(tmp_path, only=["spce"])


def test_drawings_are_well_formed():
    from xml.etree import ElementTree

    names = ["a<b", "b&c", "d", "e"]
    drawings = [
        rank_plot(names, [1.0, 2.5, 2.5, 4.0], "x<y"),
        critical_difference_diagram(names, [1.0, 2.5, 2.5, 4.0], 1.6, "t"),
        critical_difference_diagram(names[:2], [1.0, 2.0], 9.0, "t"),
        curve_plot(
            [0, 0.1, "c"], {"a<b": [1, None, 2], "flat": [1, 1, 1]}, title="t", x_label="x", y_label="y"
        ),
        curve_plot([1], {"one": [0.5]}, title="t", x_label="x", y_label="y"),
        curve_plot([1], {"none": [None]}, title="t", x_label="x", y_label="y"),
    ]
    for drawing in drawings:
        assert "nan" not in drawing
        ElementTree.fromstring(drawing)
