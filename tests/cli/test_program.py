"""The program as a process: exit codes, messages, interrupts, and how little it imports."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import consilience as cs
from consilience._cli import _program


def process(*args: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


CLI = ("-m", "consilience")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["consensus", "none.csv", "-k", "3"], "consilience: error: none.csv: no such file."),
        (["cluster", "none.csv", "-k", "3", "-g", "kmens"], "spectral, bagging. Did you mean 'kmeans'?"),
        (
            ["consensus", "ensemble.csv", "-k", "0"],
            "n_clusters=0 is not valid: expected a whole number of at least 1.",
        ),
        (["consensus", "ensemble.csv", "-k", "99"], "n_clusters=99 exceeds the 60 objects"),
        (["consensus", "ensemble.csv", "-k", "30"], "distinct objects"),
        (
            ["consensus", "ensemble.csv", "-k", "3", "-m", "magic"],
            "method='magic' is not known: choose one of",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "--method-param", "magic=1"],
            "LWGP has no parameter 'magic'; its parameters are instability_tolerance, n_init.",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "--method-param", "linkage"],
            "'linkage' is not a parameter: expected NAME=VALUE",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "--method-param", "n_init=odd"],
            "n_init='odd' is not valid",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "--method-param", "n_clusters=4"],
            "'n_clusters' is set by the option -k.",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "-c", "four"],
            "ensemble.csv has no column 'four'; it has 'one', 'two'",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "-o", "ensemble.csv"],
            "ensemble.csv is the input file itself",
        ),
        (["consensus", "ensemble.csv", "-k", "3", "-o", "./ensemble.csv"], "is the input file itself"),
        (
            ["consensus", "none.csv", "-k", "3", "-o", "nowhere/out.csv"],
            "Cannot write nowhere/out.csv: the folder",
        ),
        (
            ["consensus", "none.csv", "-k", "3", "-o", "out.xls"],
            "out.xls: unknown kind of file; the name must end in",
        ),
        (
            ["cluster", "features.csv", "-k", "3", "-g", "random-k", "--generator-param", "n_clsters=4"],
            "The generator random-k has no parameter 'n_clsters'; its parameters are n_clusters, init",
        ),
        (["cluster", "features.csv", "-k", "99"], "n_clusters=99"),
        (
            ["cluster", "none.csv", "-k", "3", "-g", "magic"],
            "generator='magic' is not known: choose one of kmeans, random-k",
        ),
        (
            ["cluster", "none.csv", "-k", "3", "-m", "magic"],
            "method='magic' is not known: choose one of evidence-",
        ),
        (
            ["cluster", "features.csv", "-k", "3", "-g", "spectral", "-n", "5"],
            "n_clusterings=5 is below the 9 bandwidths",
        ),
        (
            ["generate", "features.csv", "--generator-param", "n_clusterings=4"],
            "'n_clusterings' is set by the option -n.",
        ),
        (
            ["multitask", "none.csv", "--task-column", "t", "-k", "2", "-m", "magic"],
            "method='magic' is not known: choose one of spmtc, lssmtc, asi.",
        ),
        (["cluster", "truth.csv", "-k", "3"], "truth.csv, line 2, column 2 ('class'): 'x' is not a number."),
        (
            ["generate", "features.csv", "-g", "spectral"],
            "The generator spectral needs a number of clusters: give -k.",
        ),
        (
            ["generate", "features.csv", "-g", "random-k", "-k", "3", "--generator-param", "n_clusters=4"],
            "'n_clusters' is set by the option -k",
        ),
        (
            ["generate", "features.csv", "--json"],
            "--json prints on standard output, so the result needs a file: give -o FILE.",
        ),
        (["score", "-", "--labels-true", "-"], "Standard input can be read only once"),
        (
            ["score", "truth.csv", "--labels-true", "ensemble.csv"],
            "ensemble.csv has 3 columns ('one', 'two', 'three'); name the one",
        ),
    ],
)
def test_bad_input_is_exit_2_and_one_line(folder, run, args, message):
    result = run(*args, "-q")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not Path("out.csv").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["consens"], "There is no command 'consens'; did you mean 'consensus'?"),
        (["frobnicate"], "There is no command 'frobnicate'; choose one of cluster, generate"),
        (["consensus", "x.csv"], "Missing option '-k'"),
        (["cluster", "x.csv"], 'Give the number of clusters, or "-k auto" to have it chosen.'),
        (["cluster", "x.csv", "-k", "three"], "'three' is neither a whole number nor auto."),
        (["consensus", "x.csv", "-k", "three"], "'three' is neither a whole number nor auto"),
    ],
)
def test_bad_usage_is_exit_2(run, args, message):
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_our_fault_is_exit_1(folder, run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("consilience.io.read_labels", broken)
    result = run("consensus", "ensemble.csv", "-k", "3")
    assert result.exit_code == 1
    assert result.stderr == (
        "consilience: internal error: ZeroDivisionError: two lines. This is a bug in consilience. Please "
        "report it in the project's issue tracker with the "
        f"output of: consilience --debug consensus ensemble.csv -k 3 (version {cs.__version__})\n"
    )
    for place in (["--debug", "consensus"], ["consensus", "--debug"]):
        result = run(*place, "ensemble.csv", "-k", "3")
        assert result.exit_code == 1
        assert "Traceback (most recent call last)" in result.stderr


def test_out_of_memory_is_exit_2(folder, run, monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 10)
    result = run("consensus", "ensemble.npz", "-k", "3", "-q")
    assert result.exit_code == 2
    assert "are free" in result.stderr

    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr("consilience.io.read_labels", broken)
    result = run("consensus", "ensemble.csv", "-k", "3")
    assert result.exit_code == 2
    assert result.stderr.startswith("consilience: error: out of memory; use fewer objects")


def test_warnings_are_one_line_and_in_the_json(folder, run):
    import json

    rows = "\n".join(",".join("01"[(i + j) % 2] for j in range(12)) for i in range(3))
    Path("wide.csv").write_text(rows + "\n")
    result = run("consensus", "wide.csv", "-k", "2", "--json", "-q")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith(
        "warning: labels has shape (3, 12): rows are objects, columns are clusterings"
    )
    assert result.stderr.count("\n") == 1
    assert json.loads(result.stdout)["warnings"][0].startswith("labels has shape (3, 12)")


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"consilience {cs.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from consilience._cli import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'pandas', 'pyarrow', 'h5py', 'narwhals', 'tqdm'} & "
        "set(sys.modules)\n"
        "mine = {m for m in sys.modules if m.startswith('consilience')}\n"
        "assert not heavy, heavy\n"
        "assert 'consilience._cli.cluster' not in mine, mine\n"
    )
    child = process("-c", code)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert "Commands:" in out


@pytest.mark.parametrize("name", _program.COMMANDS)
def test_command_modules_import_nothing_heavy(name):
    code = (
        f"import sys, consilience._cli.{_program.COMMANDS[name][0]}\n"
        "assert not {'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)"
    )
    child = process("-c", code)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err


# Halts where the file is complete but not yet in its place, the worst moment to be interrupted.
HALTED = """
import os, sys, time
def halt(descriptor):
    print("written", flush=True)
    time.sleep(60)
os.fsync = halt
from consilience._cli import main
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("existed", [False, True])
def test_interrupts_leave_no_half_written_file(folder, number, code, existed):
    if existed:
        Path("out.csv").write_text("old")
    before = sorted(os.listdir())
    child = process("-c", HALTED, "consensus", "ensemble.csv", "-k", "3", "-q", "-o", "out.csv")
    assert child.stdout is not None
    assert child.stdout.readline() == "written\n"
    assert any(name.endswith(".tmp") for name in os.listdir())
    child.send_signal(number)
    _, err = child.communicate(timeout=30)
    assert child.returncode == code
    assert "Traceback" not in err
    assert sorted(os.listdir()) == before
    assert not existed or Path("out.csv").read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_interrupt_while_reading(folder):
    child = process(*CLI, "consensus", "-", "-k", "3", "-o", "out.csv", stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write("a,b\n1,2\n")
    child.stdin.flush()
    time.sleep(1.5)  # long enough to be waiting for more, most of the time; right in any case
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode in (130, -signal.SIGINT), err
    assert not Path("out.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
def test_a_reader_that_leaves_is_no_error(folder):
    child = process(*CLI, "generate", "features.csv", "-n", "2", "-q")
    assert child.stdout is not None
    child.stdout.close()
    assert child.stderr is not None
    err = child.stderr.read()
    assert child.wait(timeout=60) == 141
    assert err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        ["generate", "features.csv", "-n", "2", "-q"],
        ["consensus", "ensemble.csv", "-k", "3", "-q", "--json"],
        ["methods"],
    ],
)
def test_a_full_disk_behind_standard_output(folder, command):
    with open("/dev/full", "w") as full:
        child = subprocess.run(
            [sys.executable, *CLI, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    assert child.returncode == 2
    assert "No space left on device" in child.stderr
    assert len(child.stderr.splitlines()) == 1
    assert "internal error" not in child.stderr


@pytest.mark.skipif(os.name != "posix", reason="descriptors as POSIX has them")
@pytest.mark.parametrize(
    ("command", "closed", "code", "message"),
    [
        (
            ["cluster", "-", "-k", "2", "-q"],
            "<&-",
            2,
            "error: Standard input is closed; give a file instead of '-'.",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "-q"],
            ">&-",
            2,
            "error: Standard output is closed, so the result needs a file: give -o FILE.",
        ),
        (
            ["consensus", "ensemble.csv", "-k", "3", "-q", "-o", "out.csv", "--json"],
            ">&-",
            2,
            "error: cannot write to standard output: Bad file descriptor",
        ),
        (["methods"], ">&-", 2, "error: cannot write to standard output: Bad file descriptor"),
        (["--help"], ">&-", 2, "error: cannot write to standard output: Bad file descriptor"),
        (["consensus", "ensemble.csv", "-k", "3", "-q", "-o", "out.csv"], "<&- >&-", 0, ""),
        (["consensus", "ensemble.csv", "-k", "3", "-q", "-o", "out.csv"], "<&- >&- 2>&-", 0, ""),
    ],
)
def test_closed_standard_streams(folder, command, closed, code, message):
    line = f"exec {shlex.join([sys.executable, *CLI, *command])} {closed}"
    child = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, timeout=120)
    assert child.returncode == code, child.stderr
    assert message in child.stderr
    assert len(child.stderr.splitlines()) == (code != 0)
    assert code or "-o" not in command or Path("out.csv").read_text().startswith("name,label\n")


@pytest.mark.skipif(os.name != "posix", reason="devices as POSIX has them")
def test_output_to_a_device(folder, run):
    result = run("consensus", "ensemble.csv", "-k", "3", "-o", "/dev/null")
    assert result.exit_code == 0, result.output


def test_exit_codes_of_the_process(folder):
    for args, code in (
        (["consensus", "ensemble.csv", "-k", "3"], 0),
        (["consensus", "none.csv", "-k", "3"], 2),
    ):
        child = process(*CLI, *args)
        out, err = child.communicate(timeout=60)
        assert child.returncode == code, err
        assert (code == 0) == out.startswith("name,label\n")
