import json

import pytest

from consilience.errors import FileError, InputError
from reproduction.cells import Cell, make_plan, seed_of
from reproduction.protocol import load_protocol, parse_protocol, plain, protocols
from reproduction.sets import known_sets

from .conftest import protocol_of

PAPERS = {"sccabg", "spce", "mdec", "rsec", "spmtc"}


def test_every_paper_has_its_protocols():
    found = protocols()
    assert set(found) >= PAPERS | {"bundled", "spce-spectral", "sccabg-mnist", "rsec-incomplete", "rsec-size"}
    for name, protocol in found.items():
        assert protocol.title
        assert protocol.name == name
        keys = {"acc", "nmi_max", "nmi_geometric", "nmi_arithmetic", "ari", "f1_self_pairs"}
        assert {measure.key for measure in protocol.measures} <= keys


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_printed_figures_belong_to_sets_of_the_protocol(name):
    protocol = load_protocol(name)
    rows = {item.name for item in protocol.sets} | {item.printed_as for item in protocol.sets}
    for table in protocol.printed.values():
        for row in {row for figures in table.values() for row in figures}:
            stem = row.rsplit(" ", 1)[0] if name == "spmtc" else row
            assert stem in rows


def test_printed_figures_are_those_of_the_papers():
    sccabg = load_protocol("sccabg")
    assert sccabg.printed_value("ACC", "SCCABG", "ALLAML") == (0.7139, 0.0450)
    assert sccabg.printed_value("NMI", "SPCE", "ALLAML") == (0.1237, 0.0126)
    assert sccabg.printed_value("ACC", "SCCBG-W", "ALLAML") == (0.6681, 0.0122)
    assert sccabg.printed_value("ACC", "RCE", "USPS") is None
    assert load_protocol("sccabg-mnist").printed_value("ACC", "SCCABG", "MNIST") == (0.5583, 0.0235)
    assert load_protocol("mdec").printed_value("NMI", "MDEC-HC", "Yeoh-2002-v1") == (94.35, 2.49)
    assert load_protocol("mdec").printed_value("NMI", "SPCE", "USPS") is None  # out of memory
    assert load_protocol("rsec").printed_value("NMI", "RSEC", "iris") == (90.11, 0.0)
    assert load_protocol("rsec").printed_value("ACC", "HCC", "iris") == (89.33, None)
    assert load_protocol("spmtc").printed_value("ACC", "SPMTC-s", "COMPvsSCI 1") == (92.02, None)


def test_known_sets_have_checksums():
    known = known_sets()
    assert all(len(entry["sha256"]) == 64 for entry in known.values())
    assert known["golub_1999_v1"]["published"].startswith("no: 1868 genes")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a/b"}, "matching regex.*name"),
        ({"repetitions": 0}, ">= 1.*repetitions"),
        ({"repetitions": "3"}, "Expected `int`, got `str`.*repetitions"),
        ({"sets": []}, "length >= 1.*sets"),
        ({"sets": [{"name": "iris"}]}, "missing required field `data`.*sets.0."),
        ({"sets": [{"name": "a", "data": "x"}, {"name": "a", "data": "y"}]}, "two sets have the same name"),
        ({"methods": [{"name": "a", "method": "B", "prams": {}}]}, "unknown field `prams`.*methods.0."),
        ({"methods": [{"name": "a", "method": "B", "input": "both"}]}, "Invalid enum value 'both'.*input"),
        (
            {"methods": [{"name": "a", "method": "B", "tuned": {"grid": {"x": 3}}}]},
            "Expected `array`, got `int`.*grid",
        ),
        ({"methods": [{"name": "a", "method": "B", "default": False}]}, "nothing to run"),
        ({"ensembles": {"missing": 1.0}}, "< 1.0.*missing"),
        ({"ensembles": {"size": 5, "members": 4}}, "no more than are made"),
        ({"vary": {"parameter": "color", "values": [1]}}, "parameter='color'"),
        ({"printed": {"NMI": {}}}, "'NMI' is not one of the measures"),
        ({"against": "Second"}, "against='Second' is not one of the methods"),
        ({"time_limit": 0}, "> 0.0.*time_limit"),
        ({"printed": {"ACC": {"First": {"iris": "0.9"}}}}, "Expected `float . array`, got `str`.*printed"),
        ({"sets": [{"name": "iris", "data": "x", "transform": "pca"}]}, "'pca'.*transform"),
        ({"methods": [{"name": "a/b", "method": "B"}]}, "matching regex.*name"),
        ({"extra": 1}, "unknown field `extra`"),
    ],
)
def test_mistakes_in_a_protocol_are_named(change, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_protocol(protocol_of(**change), where="mine.json")
    assert str(caught.value).startswith("mine.json")


def test_unknown_and_unreadable_protocols(tmp_path):
    with pytest.raises(InputError, match="choose one of bundled"):
        load_protocol("nothing")
    with pytest.raises(InputError, match="is not known"):
        load_protocol("../protocols/spce")
    with pytest.raises(FileError, match="Cannot read"):
        load_protocol(tmp_path / "absent.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FileError, match="not valid JSON"):
        load_protocol(tmp_path / "bad.json")


def test_restricting_names_rows_or_files():
    protocol = load_protocol("bundled")
    assert [s.name for s in protocol.restricted(["IRIS", "sklearn:wine"]).sets] == ["iris", "wine"]
    sccabg = load_protocol("sccabg")
    assert [s.data for s in sccabg.restricted(["ALLAML"]).sets] == [
        "pool_allaml"
    ]  # the row, not the file allaml
    assert [m.name for m in load_protocol("spce").restricted(methods=["SPCE"]).methods] == ["SPCE"]
    assert [s.name for s in sccabg.restricted(["allaml", "tox171"]).sets] == ["ALLAML", "TOX"]
    with pytest.raises(InputError, match="'iriss' is not in the protocol 'bundled'"):
        protocol.restricted(["iriss"])


def test_the_halves_of_the_defaults_share_no_data():
    """What one half chose is reported on the other, so no set, whatever its labels, may be in both."""
    same = [
        {"alizadeh_2000_v2", "alizadeh_2000_v3", "lymphoma96"},
        {"allaml", "golub_1999_v1", "golub_1999_v2"},
        {"ar840", "warpar10p"},
        {"glioma", "nutt_2003_v1"},
        {"k1b", "wap", "webace"},
        {"mnist4000", "mnist5000", "mnist70000"},
        {"umist1024", "umist644"},
        {"yeoh_2002_v1", "yeoh_2002_v2"},
    ]
    halves = {"half A": set(), "half B": set()}
    for item in load_protocol("defaults").sets:
        halves[item.group.split(",")[0]].add(item.data)
    assert not halves["half A"] & halves["half B"]
    assert sum(map(len, halves.values())) == 50
    for family in same:
        assert any(family <= half for half in halves.values()), family


def test_a_restricted_protocol_is_held_against_a_method_that_it_has():
    defaults = load_protocol("defaults")
    assert defaults.restricted(methods=["Ward", "KMeans"]).against == "KMeans"
    assert defaults.restricted(methods=["Ward"]).against is None


def test_plan_tells_what_is_left_out_and_why():
    plan = make_plan(load_protocol("spmtc"), None)
    assert not plan.cells
    assert any("no data folder" in why for _, why in plan.skipped)
    raw = protocol_of(
        ensembles={"generator": "kmeans", "params": {"k": "$c"}, "size": 3},
        methods=[
            {"name": "EAC", "method": "EvidenceAccumulation"},
            {"name": "later", "method": "MethodOfTheFuture"},
            {"name": "elsewhere", "method": "no_such_module:Class"},
            {"name": "tasks", "method": "sklearn.cluster:KMeans", "input": "tasks"},
        ],
    )
    plan = make_plan(parse_protocol(raw, where="mine"), None)
    reasons = dict(plan.skipped)
    assert "not available in this version" in reasons["later"]
    assert "cannot be imported" in reasons["elsewhere"]
    assert "no 'task' array" in reasons["tasks on iris"]
    assert {cell.method.name for cell in plan.cells} == {"EAC"}


def test_seeds_come_from_names_alone():
    plan = make_plan(load_protocol("bundled"), None)
    names = [cell.name for cell in plan.cells]
    assert len(set(names)) == len(names) == 3 * 4 * 7
    assert len({seed_of(name) for name in names}) == len(names)
    assert seed_of("spce/GLIOMA//SPCE/default/default/0") == 1194347033  # pinned: results name their seeds
    shared = {cell.base.key for cell in plan.cells if cell.item.name == "iris" and cell.repetition == 1}
    assert len(shared) == 1  # one ensemble for all methods and settings


def test_an_edited_protocol_has_other_cells():
    before = make_plan(parse_protocol(protocol_of(), where=""), None, tuned=False)
    method = {"name": "First", "method": "bench_methods:First", "params": {"wait": 1.0}}
    after = make_plan(parse_protocol(protocol_of(methods=[method]), where=""), None, tuned=False)
    assert {c.name for c in before.cells} == {c.name for c in after.cells}
    assert not {c.key for c in before.cells} & {c.key for c in after.cells}


def test_protocols_round_trip_as_json():
    for protocol in protocols().values():
        assert parse_protocol(json.loads(json.dumps(plain(protocol))), where="") == protocol


@pytest.mark.parametrize(
    ("protocol", "row", "name", "digest"),
    [
        ("rsec-labels", "COIL20", "rsec-labels/COIL20//RSEC-Z/default/default/0", "58e972820d9d"),
        (
            "rsec-readings",
            "iris",
            'rsec-readings/iris//NRSEC, warm_start="zero"/default/default/0',
            "2d3a3871464f",
        ),
        ("spce", "GLIOMA", "spce/GLIOMA//SPCE/tuned/mode=authors, theta=0.1/0", "4db593acf7a0"),
        (
            "sccabg",
            "GLIOMA",
            "sccabg/GLIOMA//SCCBG-W/tuned/similarity=fixed, self_paced=False, mode=authors, gamma1=1e-05/0",
            "507b642ef589",
        ),
    ],
)
def test_a_renamed_parameter_leaves_names_and_digests_of_cells(protocol, row, name, digest):
    """Measured before parameters were renamed: what was stored then is found, and draws the same numbers."""
    protocol = load_protocol(protocol)
    (item,) = (item for item in protocol.sets if item.name == row)
    cells = [
        Cell(protocol.name, item, None, method, params, column, 0, protocol.ensembles, "")
        for method in protocol.methods
        for params, column in method.settings()
    ]
    assert {cell.name: cell.digest for cell in cells}[name] == digest


@pytest.mark.parametrize(
    ("names", "open_rows"),
    [
        (("sccabg",), {"MEC"}),
        (("spce",), {"MEC"}),
        (("rsec",), {"ECMC", "spectral"}),
        (("mdec", "mdec-rivals", "mdec-stratified", "lwgp"), set()),
    ],
)
def test_every_printed_column_is_run_but_those_that_are_open(names, open_rows):
    """MEC and ECMC cannot be pinned down from the texts; "spectral" is a clustering of the data."""
    protocols = [load_protocol(name) for name in names]
    printed = {row for protocol in protocols for table in protocol.printed.values() for row in table}
    assert printed - {method.name for protocol in protocols for method in protocol.methods} == open_rows


@pytest.mark.parametrize("name", ["sccabg-rivals", "mdec-rivals", "mdec-stratified", "rsec-rivals"])
def test_rivals_have_the_printed_figures_of_the_whole_table(name):
    whole, rivals = load_protocol(name.partition("-")[0]), load_protocol(name)
    assert rivals.printed
    for measure, table in rivals.printed.items():
        for method, figures in table.items():
            for row, value in figures.items():
                assert whole.printed[measure][method][row] == value
