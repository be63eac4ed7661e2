"""Who waits for the compiler sees what it is at: a bar in a terminal, one line elsewhere."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest

from consilience._kernels.compile import notice

from .conftest import environment, run

COMPILES = """
import time
from consilience._kernels.compile import jit, notice
from consilience._base.progress import progress_shown
notice._AFTER, notice._TICK, notice._OVER = 0.05, 0.01, 0.1
{before}
@jit.kernel
def slowly(x):
    return x + 1
compile = slowly._compiler.compile
def slow(*arguments):
    time.sleep(0.6)
    return compile(*arguments)
slowly._compiler.compile = slow
with progress_shown({shown}):
    assert slowly(1) == 2
    assert slowly(1.0) == 2.0
    time.sleep(0.5)
"""


def code(before="", shown=None):
    return COMPILES.format(before=before, shown=shown)


def seen_in_a_terminal(program, package, tmp_path):
    fcntl, pty, termios = map(pytest.importorskip, ("fcntl", "pty", "termios"))
    (tmp_path / "program.py").write_text(program)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    env = environment(package, TERM="xterm")
    with subprocess.Popen([sys.executable, tmp_path / "program.py"], env=env, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:  # the other end is closed
            pass
        assert process.wait(300) == 0, shown
    os.close(ours)
    return shown.decode()


def test_a_bar_moves_in_a_terminal_and_leaves_nothing(package, tmp_path):
    shown = seen_in_a_terminal(code(), package, tmp_path)
    states = [state for state in shown.split("\r") if "compiling" in state]
    assert len(set(states)) > 2
    assert "slowly, kernel 1 of about 1 (first use only)" in states[0]
    assert not shown.rpartition("\r")[0].rpartition("\r")[2].strip(), "the line is empty in the end"
    assert "\n" not in shown


def test_nothing_is_shown_where_that_is_asked_for(package, tmp_path):
    assert "compiling" not in seen_in_a_terminal(code("jit.NOTICE.said = True"), package, tmp_path)


def test_elsewhere_it_is_one_line(package, tmp_path):
    (tmp_path / "program.py").write_text(code())
    out, said = run(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r})", package)
    assert out == ""
    assert said.count("compiling for this machine") == said.count("\n") == 1
    (tmp_path / "program.py").write_text(code("jit.NOTICE.announced = True"))
    assert run(f"import runpy; runpy.run_path({str(tmp_path / 'program.py')!r})", package) == ("", "")


def test_what_is_left_is_told_by_what_was_taken_for_the_first(monkeypatch):
    kernels = [("room.a", 1.0), ("room.b", 2.0), ("room.c", 4.0)]
    monkeypatch.setattr(notice, "_listed", lambda: (kernels, [[0, 1], [1, 2], [0, 1, 2]]))
    estimate = notice.Estimate()
    assert estimate.still("room.a") == (2, 3.0)  # the first on the list that has it
    assert estimate.still("elsewhere.d") == (1, 0.0)
    estimate.taken["room.a"] = 3.0  # three times what the list says
    assert estimate.still("room.b") == (1, 6.0)
    assert estimate.still("room.c") == (1, 12.0)
    estimate.taken["room.b"] = 5.0
    assert estimate.still("room.c") == (1, pytest.approx(4.0 * 8 / 3))


def test_the_list_can_be_read():
    kernels, uses = notice._listed()
    assert len(kernels) > 50
    assert max(max(use) for use in uses if use) < len(kernels)
