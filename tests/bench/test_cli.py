import json

import pytest
from click.testing import CliRunner

from consilience.bench import load_protocol
from consilience.cli import cli


def invoke(*args):
    return CliRunner().invoke(cli, ["bench", *map(str, args)])


def test_list_names_every_protocol_and_its_parts():
    listed = invoke("list")
    assert listed.exit_code == 0
    assert "spce-spectral" in listed.output
    one = invoke("list", "sccabg")
    assert "KM-best: available" in one.output
    assert "no data folder was given" in one.output
    as_json = json.loads(invoke("list", "bundled", "--json").output)
    assert as_json["sets"] == {"iris": "bundled", "wine": "bundled", "digits": "bundled"}


def test_a_shown_protocol_is_one_to_start_from(tmp_path):
    (tmp_path / "mine.json").write_text(invoke("list", "rsec", "--show").output)
    assert load_protocol(tmp_path / "mine.json") == load_protocol("rsec")


def test_run_and_report_a_protocol_of_ones_own(write_protocol, tmp_path):
    method = [{"name": "Mine", "method": "bench_methods:First"}]
    path = write_protocol(methods=method, printed={"ACC": {"Mine": {"iris": [0.4, 0.1]}}}, repetitions=1)
    done = invoke("run", path, "--out", tmp_path / "out", "--jobs", 1, "--memory-limit", "2GB", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[0])["protocols"]["mine"]["done"] == 1
    told = invoke("report", tmp_path / "out", "--markdown", tmp_path / "page.md")
    assert told.exit_code == 0, told.output
    assert "| iris | Mine | 1 | **" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "mine,ACC,acc,iris,Mine,default,1," in (tmp_path / "out" / "report.csv").read_text()


def test_names_that_hold_commas_are_divided_by_semicolons(write_protocol, tmp_path):
    names = ["First", "First, again", "Another"]
    methods = [{"name": name, "method": "bench_methods:First"} for name in names]
    path = write_protocol(methods=methods, repetitions=1)
    done = invoke(
        "run", path, "--out", tmp_path / "out", "--jobs", 1, "--methods", "First, again;Another", "--json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[0])["protocols"]["mine"]["done"] == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "nothing", "--out", "x"], "is not known"),
        (["run", "bundled", "--out", "x", "--sets", "iriss"], "'iriss' is not in the protocol"),
        (
            ["run", "bundled", "spce", "--out", "x", "--sets", "iris,iriss"],
            "None of the protocols has the sets 'iriss'",
        ),
        (["run", "bundled", "--out", "x", "--memory-limit", "much"], "is not a size"),
        (["report", "nowhere"], "holds no results"),
        (["list", "--show"], "needs the name"),
    ],
)
def test_mistakes_are_explained(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*args)
    assert result.exit_code == 2
    assert message in result.output
    assert not list(tmp_path.iterdir())
