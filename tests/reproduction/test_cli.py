import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from consilience._cli import cli as installed
from reproduction.__main__ import cli
from reproduction.protocol import load_protocol
from reproduction.store import read_store

from ..commands import runner

ROOT = Path(__file__).parents[2]


def invoke(*args):
    return runner().invoke(cli, [*map(str, args)])


def finished(folder):
    return len(list(read_store(folder).of("cell")))


def test_list_names_every_protocol_and_its_parts():
    listed = invoke("list")
    assert listed.exit_code == 0
    assert "spce-spectral" in listed.output
    one = invoke("list", "sccabg")
    assert "KM-best: available" in one.output
    assert "no data folder was given" in one.output
    assert "iris: bundled" in invoke("list", "bundled").output


def test_a_shown_protocol_is_one_to_start_from(tmp_path):
    (tmp_path / "mine.json").write_text(invoke("list", "rsec", "--show").output)
    assert load_protocol(tmp_path / "mine.json") == load_protocol("rsec")


def test_run_and_report_a_protocol_of_ones_own(write_protocol, tmp_path):
    method = [{"name": "Mine", "method": "bench_methods:First"}]
    path = write_protocol(methods=method, printed={"ACC": {"Mine": {"iris": [0.4, 0.1]}}}, repetitions=4)
    options = ("--jobs", 1, "--repetitions", 1, "--memory-limit", "2GB")
    done = invoke("run", path, "--out", tmp_path / "out", *options)
    assert done.exit_code == 0, done.output
    assert "1 cells run (0 failed)" in done.stdout + done.stderr
    told = invoke("report", tmp_path / "out", "--out", tmp_path / "pages")
    assert told.exit_code == 0, told.output
    page = (tmp_path / "pages" / "mine.md").read_text()
    assert "| iris | 1 | **" in page
    assert "1 of 4 planned repetitions" in page  # as many as were run, not as many as are planned
    assert "mine,ACC,iris,,Mine,default,1," in (tmp_path / "pages" / "figures.csv").read_text()
    assert "[mine](mine.md)" in (tmp_path / "pages" / "index.md").read_text()


def test_names_that_hold_commas_are_divided_by_semicolons(write_protocol, tmp_path):
    names = ["First", "First, again", "Another"]
    methods = [{"name": name, "method": "bench_methods:First"} for name in names]
    path = write_protocol(methods=methods, repetitions=1)
    done = invoke("run", path, "--out", tmp_path / "out", "--jobs", 1, "--methods", "First, again;Another")
    assert done.exit_code == 0, done.output
    assert finished(tmp_path / "out") == 2


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
        (
            ["run", "spce", "--out", "x"],
            "spce: nothing can be run. AR: ar840: no data folder was given (--data DIR)",
        ),
        (["report", "nowhere"], "holds no results"),
        (["report"], "give a results folder"),
        (["report", "--out", "nowhere"], "holds no tables"),
        (["list", "--show"], "needs the name"),
    ],
)
def test_mistakes_are_explained(args, message, tmp_path):
    path = [str(ROOT), str(ROOT / "src")]
    code = f"import sys; sys.path[:0] = {path}; from reproduction.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *args], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_cannot_run_does_not_keep_the_rest_from_running(write_protocol, tmp_path):
    done = invoke("run", write_protocol(repetitions=1), "spce", "--out", tmp_path / "out", "--jobs", 1)
    assert "spce: nothing can be run" in str(done.exception)
    assert finished(tmp_path / "out") == 1


def test_the_laboratory_is_not_in_the_package():
    assert find_spec("consilience.bench") is None
    assert "bench" not in runner().invoke(installed, ["--help"]).output
    assert 'packages = ["src/consilience"]' in (ROOT / "pyproject.toml").read_text()


def test_lists_are_json_where_they_are_shown():
    assert json.loads(invoke("list", "bundled", "--show").output)["name"] == "bundled"
