import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from consilience.errors import FileError, InputError
from reproduction.analyze import SCHEMA, compared, tables
from reproduction.former import first_params
from reproduction.pictures import draw_curves, draw_ranks
from reproduction.protocol import parse_protocol, plain, setting_name
from reproduction.report import _csv, _varied, read_tables, report
from reproduction.store import Records, Store

from .conftest import protocol_of

ROOT = Path(__file__).parents[2]
EVIL = "<script>alert('x')<b>|`*"


def cell(method, value, repetition, *, row="iris", column="default", params=None, variation=None, **more):
    params = params or {}
    setting = setting_name(params) if column == "tuned" else "default"
    return {
        "kind": "cell",
        "protocol": "mine",
        "name": f"mine/{row}/{variation}/{method}/{column}/{setting}/{repetition}",
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


def ours(held):
    return held["figures"][held["figures"].column != "printed"]


def only(table):
    (line,) = table.itertuples()
    return line


def test_default_and_tuned_are_never_mixed():
    records = [cell("A", 0.5 + 0.1 * r, r) for r in range(3)]
    records += [cell("A", v, r, column="tuned", params={"t": 1}) for r, v in enumerate([0.9, 0.2, 0.3])]
    records += [cell("A", v, r, column="tuned", params={"t": 2}) for r, v in enumerate([0.1, 0.8, 0.6])]
    records += [cell("B", v, r) for r, v in enumerate([0.7, 0.8, 0.9])]
    found = tables(protocol(), Records(records))
    held = {(f.method, f.column): f for f in ours(found).itertuples()}
    assert held["A", "default"].mean == pytest.approx(0.6)
    assert held["A", "default"].std == pytest.approx(0.1)
    assert held["A", "tuned"].mean == pytest.approx((0.9 + 0.8 + 0.6) / 3)  # the best setting per ensemble
    assert held["A", "default"].difference == pytest.approx(-0.2)
    assert held["A", "default"].reached == "no"
    assert held["A", "tuned"].reached == "yes"
    assert held["B", "default"].p_against_best == 1.0
    assert held["A", "default"].p_against_best == pytest.approx(0.0, abs=1e-12)  # always 0.2 behind
    assert held["A", "default"].among_best == "no"
    assert held["A", "tuned"].p_against_best == 1.0  # alone in its column
    compared_methods = found["comparisons"]
    assert compared_methods[compared_methods.column == "default"].method.tolist() == ["B", "A"]
    assert "tuned" not in set(compared_methods.column)  # one method alone is no comparison
    assert found["curves"].value.tolist() == ["1", "2"]
    assert found["curves"]["mean"].tolist() == pytest.approx([1.4 / 3, 1.5 / 3])
    cost = only(found["costs"].query("method == 'A' and column == 'tuned'"))
    assert (cost.cells, cost.mean_seconds, cost.peak_bytes) == (6, 0.5, 1000)


def test_a_printed_figure_is_reached_at_its_printed_precision():
    assert compared(85.9668, (85.97, 0.0), 2)["reached"] == "yes"
    assert compared(85.96, (85.97, 0.0), 2)["reached"] == "no"
    assert compared(85.0, (85.97, 1.0), 2)["reached"] == "yes"
    assert compared(85.0, None, 2) == {}


def test_results_stored_under_former_names_are_read_by_the_new_ones():
    methods = [
        {"name": "S", "method": "SPCE", "tuned": {"grid": {"threshold": [0.1, 0.2]}, "choice": "set"}},
        {"name": 'NRSEC, start="zero"', "method": "NRSEC", "params": {"linearize_about": "zero"}},
    ]
    records = [cell("S", v, 0, column="tuned", params={"theta": v}) for v in (0.1, 0.2)]
    records.append(
        cell("S", 0.8, 1, column="tuned", params={"threshold": 0.1})
    )  # the run was continued later
    records.append(cell('NRSEC, warm_start="zero"', 0.7, 0, params={"warm_start": "zero"}))
    found = tables(protocol(methods=methods, printed={}), Records(records))
    assert [(f.method, f.runs, f.note) for f in ours(found).itertuples() if f.set == "iris"] == [
        ("S", 2, "threshold=0.1"),
        ('NRSEC, start="zero"', 1, ""),
    ]
    assert found["curves"].parameter.tolist() == ["threshold"] * 2


def test_a_parameter_that_says_what_was_done_before_it_existed_changes_no_cell():
    before = {"preprocess": "none", "parts": "non-negative", "init": "random", "n_init": 1}
    assert first_params("SPMTC", {"weighting": "hard", **before}) == {"weighting": "hard"}
    assert first_params("SPMTC", {"parts": "one-hot"}) == {"parts": "one-hot"}
    assert first_params("KMeans", {"init": "random", "n_init": 1}) == {"init": "random", "n_init": 1}


def test_a_grid_that_was_stopped_within_an_ensemble_is_left_out_there_and_said():
    def tuned(t, r, value, **more):
        return cell("A", value, r, column="tuned", params={"t": t}, **more)

    failed = tuned(2, 1, 0.0, error={"type": "TimeLimit", "message": "too long"})
    records = [tuned(1, 0, 0.3), tuned(2, 0, 0.9), tuned(1, 1, 0.5), failed, tuned(1, 2, 0.1)]
    found = tables(protocol(), Records(records))
    line = only(ours(found))
    assert (line.runs, line.mean) == (2, pytest.approx((0.9 + 0.5) / 2))  # a setting that failed was tried
    assert "A on iris, ensemble 3: 1 of 2 settings of the grid were run" in [*found["remarks"].text]


def run_of(name="mine"):
    run = {"kind": "run", "protocol": name, "started": "2026-01-01T00:00:00Z", "versions": {}}
    return run | dict.fromkeys(("cores", "machine", "workers", "threads"), 1)


def test_base_clusterings_count_for_the_protocol_that_made_them():
    base = {"kind": "base", "name": "iris", "key": "iris-0"}
    records = [run_of(), {**base, "cpu_seconds": 90.0}, cell("B", 0.5, 0), {**base, "error": {}}]
    records += [run_of("other"), {**base, "cpu_seconds": 600.0}, run_of(), {**base, "cpu_seconds": 30.0}]
    assert only(tables(protocol(), Records(records))["runs"]).base_minutes == 2.0


@pytest.mark.parametrize("commits", [["abc", "abc", "abc"], ["abc", "abc", "def"]])
def test_the_index_says_whether_all_is_of_one_state_and_what_it_took(tmp_path, commits):
    with Store(tmp_path) as store:
        for record in (run_of(), {"kind": "base", "cpu_seconds": 7200.0}):
            store.append(record)
        for r, commit in enumerate(commits):
            store.append(cell("B", 0.5, r, commit=commit))
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols" / "mine.json").write_text(json.dumps(plain(protocol())))
    report(tmp_path)
    text = (tmp_path / "index.md").read_text()
    one = "All figures are of one state of the code, abc, and took 2.0 hours of the processor." in text
    assert one == (len(set(commits)) == 1)
    assert ("may be of different states" in text) != one
    assert "| all |  |  | 0.0 | 120.0 |" in text


def test_the_commits_behind_the_figures_are_told():
    def commits(*held):
        records = [cell("B", 0.5, r, **({"commit": name} if name else {})) for r, name in enumerate(held)]
        return only(tables(protocol(), Records([run_of(), *records]))["runs"]).commits

    assert commits("abc", "abc") == "abc"
    assert commits("abc", "def+", "abc") == "abc (2 cells), def+ (1 cells)"
    assert commits(None, "") == "not recorded"


def test_choice_per_set_takes_one_setting():
    methods = [{"name": "A", "method": "A", "tuned": {"grid": {"t": [1, 2]}, "choice": "set"}}]
    records = [cell("A", v, r, column="tuned", params={"t": 1}) for r, v in enumerate([0.9, 0.2])]
    records += [cell("A", v, r, column="tuned", params={"t": 2}) for r, v in enumerate([0.5, 0.7])]
    figure = only(ours(tables(protocol(methods=methods, printed={}), Records(records))))
    assert figure.mean == pytest.approx(0.6)
    assert figure.note == "t=2"


def test_points_of_a_grid_may_be_listed():
    points = [{"a": 1, "b": 2}, {"a": 2, "b": 1}]
    methods = [{"name": "A", "method": "A", "default": False, "tuned": {"grid": points}}]
    records = [cell("A", v, 0, column="tuned", params=p) for v, p in zip([0.4, 0.7], points)]
    found = tables(protocol(methods=methods, printed={}), Records(records))
    assert only(ours(found)).mean == 0.7
    assert found["curves"].empty  # there is no axis to draw them over


def test_an_unfinished_grid_is_said():
    records = [cell("A", 0.5, 0, column="tuned", params={"t": 1})]
    assert only(ours(tables(protocol(), Records(records)))).note == "1 of 2 settings of the grid"


def test_deviation_of_base_clusterings_is_over_all_of_them():
    record = cell("KM", 0.5, 0, each={"": {"acc": [0.4, 0.6]}})
    figure = only(ours(tables(protocol(), Records([record]))))
    assert figure.std == pytest.approx(0.1 * 2**0.5)
    assert np.isnan(figure.p_against_best)
    assert figure.among_best == ""


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
    held = ours(tables(protocol(), Records(records)))
    assert {f.method: (f.runs, f.mean) for f in held.itertuples()} == {"A": (1, 0.6), "B": (1, 0.9)}


def test_a_failure_ranks_last_and_a_copy_does_not_count_twice():
    sets = [
        {"name": "iris", "data": "sklearn:iris"},
        {"name": "iris again", "data": "sklearn:iris", "printed_as": "iris"},
        {"name": "wine", "data": "sklearn:wine"},
    ]
    records = [cell(m, v, 0, row=s) for s in ("iris", "iris again") for m, v in (("A", 0.5), ("B", 0.6))]
    failed = cell("B", 0, 0, row="wine", error={"type": "TimeLimit", "message": "late"})
    found = tables(protocol(sets=sets), Records([*records, cell("A", 0.7, 0, row="wine"), failed]))
    lines = found["comparisons"].query("column == 'default'")
    assert set(lines.sets) == {2}
    assert lines["rank"].tolist() == [1.5, 1.5]
    assert lines.rsec_score.tolist() == pytest.approx([0.5 / 0.6 + 1, 1.0])
    assert lines.average.isna().tolist() == [False, True]
    again = ours(found).query("set == 'iris again' and method == 'A'")
    assert (only(again).printed, only(again).printed_std) == (0.8, 0.05)
    remark = only(found["remarks"].query("kind == 'failed'"))
    assert (remark.text, remark.cells) == ("B on wine (default): TimeLimit: late", 1)


def grouped():
    """Three sets in two groups; B is held against A, and could not do the last set."""
    sets = [
        {"name": name, "data": "sklearn:iris", "group": group}
        for name, group in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "two"))
    ]
    methods = [{"name": "A", "method": "A"}, {"name": "B", "method": "B"}]
    values = {"a": (0.5, 0.75), "b": (0.5, 0.25), "c": (0.5, 0.4375), "d": (0.5, None)}
    late = {"error": {"type": "TimeLimit", "message": "late"}}
    records = [
        cell(method, value or 0, 0, row=row, **({} if value else late))
        for row, pair in values.items()
        for method, value in zip("AB", pair)
    ]
    return {"sets": sets, "methods": methods, "printed": {}, "against": "A"}, records


def test_groups_of_sets_are_compared_apart_and_against_one_method():
    changes, records = grouped()
    found = tables(protocol(**changes), Records(records))
    lines = {(c.group, c.method): c for c in found["comparisons"].itertuples()}
    assert {key: (c.sets, c.rank) for key, c in lines.items()} == {
        ("one", "A"): (2, 1.5),
        ("one", "B"): (2, 1.5),
        ("two", "A"): (2, 1.0),
        ("two", "B"): (2, 2.0),
    }
    one, two = lines["one", "B"], lines["two", "B"]
    assert (one.shared, one.difference, one.worst, one.lost) == (2, 0.0, -0.25, 1)
    assert (two.shared, two.difference, two.worst, two.lost) == (1, -0.0625, -0.0625, 1)
    assert np.isnan(lines["one", "A"].difference)
    assert found["tests"].group.tolist() == ["one", "two"]


def test_a_loss_is_measured_in_the_range_of_the_measure():
    changes, records = grouped()
    measures = [{"name": "ACC", "key": "acc", "scale": 100}]
    found = tables(protocol(measures=measures, **changes), Records(records))
    line = only(found["comparisons"].query("group == 'one' and method == 'B'"))
    assert (line.worst, line.lost) == (-0.25, 1)


def test_the_page_shows_each_group_and_how_far_confidence_can_be_trusted(tmp_path):
    changes, records = grouped()
    for record in records:
        if record["method"] == "B" and "error" not in record:
            sure = record["set"] != "b"
            record["reliability"] = [[10, 9 if sure else 5], [0, 0], [10, 8]]
    (tmp_path / "protocols").mkdir()
    (tmp_path / "protocols" / "mine.json").write_text(json.dumps(protocol_of(**changes)))
    with Store(tmp_path) as store:
        for record in records:
            store.append(record)
    report(tmp_path, pictures=True)
    text = (tmp_path / "mine.md").read_text()
    for title in (
        "### ACC, default: one",
        "### Averages and ranks over 2 sets, default: two",
        "### Differences to A: two",
    ):
        assert text.count(title + "\n") == 1, title
    assert "| B | 2 | +0.000 | -0.250 | 1 |" in text
    # Nothing was of middling confidence: the two other parts are in order on a and c, not on b.
    assert "| one | B | 0.700 | - | 0.800 | 1 of 2 |" in text
    assert "| two | B | 0.900 | - | 0.800 | 1 of 1 |" in text
    lines = read_tables(tmp_path)["reliability"]
    assert lines.set.tolist() == ["a", "b", "c"]
    assert lines.surest_right.tolist() == [9, 5, 9]


def test_tables_of_before_groups_are_read(folder, tmp_path):
    pages = tmp_path / "pages"
    report(folder, out=pages)
    now = pd.read_csv(pages / "comparisons.csv", dtype=str)
    now.drop(columns=["group", "shared", "difference", "worst", "lost"]).to_csv(
        pages / "comparisons.csv", index=False
    )
    (pages / "reliability.csv").unlink()
    held = read_tables(pages)
    assert set(held["comparisons"].group) == {""}
    assert held["comparisons"].lost.isna().all()
    assert held["reliability"].empty


def test_a_failed_task_set_ranks_last_on_each_of_its_tasks():
    scores = {"1": {"acc": 0.5}, "2": {"acc": 0.6}}
    failed = cell("B", 0, 0, error={"type": "TimeLimit", "message": "late"})
    found = tables(protocol(printed={}), Records([cell("A", 0, 0, scores=scores), failed]))
    assert ours(found).set.tolist() == ["iris 1", "iris 2"]
    assert found["comparisons"].empty  # B has no figure at all
    found = tables(
        protocol(printed={}),
        Records(
            [
                *(cell(m, 0, 0, row="wine", scores=scores) for m in "AB"),
                cell("A", 0, 0, scores=scores),
                failed,
            ]
        ),
    )
    assert found["comparisons"].sets.tolist() == [4, 4]
    assert found["comparisons"]["rank"].tolist() == [1.25, 1.75]


def test_what_varies_stands_beside_its_set():
    vary = {"parameter": "missing", "label": "missing", "values": [0.1, 0.5]}
    records = [cell(m, v, 0, variation=label) for m in "AB" for label, v in (("0.1", 0.9), ("0.5", 0.4))]
    found = tables(protocol(vary=vary), Records(records))
    held = [(f.set, f.vary, f.method, f.mean) for f in ours(found).itertuples()]
    assert held == [("iris", v, m, x) for v, x in (("0.1", 0.9), ("0.5", 0.4)) for m in "AB"]
    assert found["comparisons"].empty


@pytest.fixture
def folder(tmp_path):
    """Results whose every text tries to break out."""
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


def test_nothing_breaks_out_of_the_pages(folder, tmp_path):
    report(folder, out=tmp_path / "pages")
    for name in ("mine.md", "index.md"):
        text = (tmp_path / "pages" / name).read_text()
        assert "<script" not in text
        for block in text.split("\n\n"):  # every row of a table has the columns of its header
            if block.startswith("| "):
                lines = [line for line in block.splitlines() if line]
                assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert (tmp_path / "pages" / "mine.md").read_text().count("&lt;script&gt;") > 10
    rows = list(csv.DictReader((tmp_path / "pages" / "figures.csv").open(newline="")))
    assert {row["method"] for row in rows} == {EVIL, "'=B", "other" + EVIL}
    line = next(row for row in rows if row["method"] == "'=B" and row["set"] == "iris")
    assert float(line["mean"]) == pytest.approx(0.62)
    assert float(line["difference"]) == pytest.approx(0.12)
    assert set(read_tables(tmp_path / "pages")["figures"].method) == {EVIL, "=B", "other" + EVIL}


def test_the_pages_come_from_the_tables_alone(folder, tmp_path):
    pages = tmp_path / "pages"
    report(folder, out=pages)
    before = {path.name: path.read_bytes() for path in pages.iterdir()}
    assert before.keys() == {*(f"{name}.csv" for name in SCHEMA), "mine.md", "index.md"}
    (pages / "protocols").mkdir()
    (pages / "protocols" / "mine.json").write_bytes((folder / "protocols" / "mine.json").read_bytes())
    (pages / "mine.md").unlink()
    report(out=pages)
    assert {path.name: path.read_bytes() for path in pages.iterdir() if path.is_file()} == before


def test_numbers_are_written_with_six_digits_also_from_a_column_of_objects():
    """Joined tables with gaps have such columns, and would change when they are read and written again."""
    table = pd.DataFrame({"method": ["A", "B"], "average": [1 / 3, None]}, dtype=object)
    assert _csv(table) == "method,average\nA,0.333333\nB,\n"


def test_misses_come_first_with_their_verdicts_and_are_counted(folder, tmp_path):
    for r, value in enumerate([0.30, 0.32, 0.28]):
        with Store(folder) as store:
            store.append(cell("=B", value, r))
    report(folder, out=tmp_path / "pages")
    text = (tmp_path / "pages" / "mine.md").read_text()
    (row,) = re.findall(r"^\| unexplained \|.*$", text, re.M)
    assert row == (
        "| unexplained | ACC | iris | =B | default | 3 | 0.3000 ± 0.0200 | 0.5000 ± 0.1000 | 0.0999 |  |"
    )
    assert text.index(row) < text.index("### ACC, default: 0 of 1 printed figures reached")
    index = (tmp_path / "pages" / "index.md").read_text()
    assert "| protocol | missed | unexplained | ensemble | tuned | seed | setting |" in index
    assert "| all | 1 | 1 | 0 | 0 | 0 | 0 |" in index
    assert "| [mine](mine.md) | 2026-01-01 | not recorded | " in index
    spent = read_tables(tmp_path / "pages")["costs"]
    minutes = (spent.cells * spent.mean_processor_seconds).sum() / 60
    assert f"| all |  |  | {minutes:.1f} |" in index
    line = read_tables(tmp_path / "pages")["figures"].query("verdict != ''")
    assert only(line).verdict == "unexplained"


def test_a_curve_that_was_stopped_before_any_set_had_all_values(tmp_path):
    rows = [{"name": name, "method": name} for name in "AB"]
    raw = protocol_of(vary={"parameter": "size", "values": [2, 3]}, methods=rows)
    mine = parse_protocol(raw, where="mine")
    lines = {
        "measure": "ACC",
        "set": "iris",
        "column": "default",
        "runs": 1,
        "mean": 0.5,
        "std": float("nan"),
    }
    part = pd.DataFrame([{**lines, "method": "A", "vary": "2"}, {**lines, "method": "B", "vary": "2"}])
    whole = pd.concat([part, part.assign(vary="3")])
    assert "| A | 0.5000 | 0.5000 |" in _varied(mine, whole, mine.measures[0])
    assert _varied(mine, whole[:3], mine.measures[0]).startswith("No set has all values yet")


def test_unreadable_lines_are_told(folder):
    with (folder / "results.jsonl").open("ab") as handle:
        handle.write(b'{"crc":"00000000","record":{"kind":"ce')
    report(folder)
    assert "- unreadable lines of the store: 1\n" in (folder / "mine.md").read_text()


def test_other_protocols_of_the_tables_are_kept(folder, tmp_path):
    pages = tmp_path / "pages"
    report(folder, out=pages)
    figures = pd.read_csv(pages / "figures.csv", dtype=str)
    pd.concat([figures, figures[:1].assign(protocol="bundled")]).to_csv(pages / "figures.csv", index=False)
    report(folder, out=pages)
    again = pd.read_csv(pages / "figures.csv", dtype=str)
    assert again.protocol.tolist() == ["bundled", *figures.protocol]
    assert (pages / "bundled.md").exists()


@pytest.mark.pages
def test_the_pages_of_the_project_are_those_of_its_tables(tmp_path):
    """docs/reproduction holds nothing that its CSV files do not say."""
    docs = ROOT / "docs" / "reproduction"
    for name in SCHEMA:
        (tmp_path / f"{name}.csv").write_bytes((docs / f"{name}.csv").read_bytes())
    report(out=tmp_path)
    assert {path.name for path in docs.iterdir()} == {path.name for path in tmp_path.iterdir()}
    for path in docs.glob("*.md"):
        assert path.read_text() == (tmp_path / path.name).read_text(), path.name
    held = read_tables(docs)
    assert len(held["figures"]) >= 4638
    assert len(held["curves"]) >= 2322


def test_empty_and_unknown_results(tmp_path):
    with pytest.raises(FileError, match="holds no results"):
        report(tmp_path)
    with Store(tmp_path) as store:
        store.append(cell("A", 0.5, 0))
    with pytest.raises(InputError, match="no results of spce"):
        report(tmp_path, only=["spce"])


def test_pictures_are_well_formed(folder, tmp_path):
    written = report(folder, out=tmp_path / "pages", pictures=True)
    drawings = [path for path in written if path.suffix == ".svg"]
    assert len(drawings) == 2  # ranks, and the curve over the grid
    for path in drawings:
        ElementTree.fromstring(path.read_text())


def test_pictures_of_gaps_ties_and_single_points():
    ranks = pd.DataFrame({"method": ["a<b", "b&c", "d", "e"], "rank": [1.0, 2.5, 2.5, 4.0]})
    for difference, bars in ((0.1, 1), (1.6, 2), (9.0, 1)):
        figure = draw_ranks(ranks, difference, "x<y $")
        (ax,) = figure.axes
        assert ax.get_title() == r"x<y \$"
        shown = " ".join(text.get_text() for text in ax.texts)
        assert all(name in shown for name in ranks.method)
        assert ax.get_xlabel() == f"critical difference {difference:.2f}"
        assert len(ax.lines) == len(ranks) + bars  # a line leads to each name
    gaps = pd.DataFrame({"a<b": [1, np.nan, 2], "flat": [1, 1, 1]}, index=["0", "0.1", "c"])
    for x in (["0", "0.1", "c"], ["0"]):
        (ax,) = draw_curves(gaps.loc[x], x, "t").axes
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a<b", "flat"]
        assert [text.get_text() for text in ax.get_xticklabels()] == x
        for line, name in zip(ax.lines, gaps, strict=True):
            np.testing.assert_array_equal(line.get_ydata(), gaps.loc[x, name])
