"""A Ctrl-C is raised, and never where compiled code cannot bear it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import types

import pytest

from consilience._kernels.compile.interrupts import (
    INTERRUPTS_LATER,
    interrupts_outside_kernels,
    raise_interrupt,
)
from consilience._kernels.runtime.threads import one_blas_thread

#: A kernel that runs for a while and returns two arrays, and a Ctrl-C meanwhile.
IN_A_KERNEL = """
import os, signal, threading, time
import numpy as np
from numba import njit
from consilience._kernels.runtime.threads import one_blas_thread

@njit(nogil=True)
def work(seconds):
    x = np.empty(3)
    for _ in range(int(seconds * 1e8)):
        x[1] = np.sin(x[1])
    return x, x.copy()

signal.signal(signal.SIGINT, signal.default_int_handler)
work(0.0)
for _ in range(5):
    begun = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with one_blas_thread():
            begun.start()
            work(0.2)
            time.sleep(5)
        print("missed")
    except KeyboardInterrupt:
        print("raised")
"""


@pytest.fixture(autouse=True)
def default_handler():
    """As in a terminal: what runs in the background of a shell ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_that_falls_into_the_compiler_is_raised_after_it():
    reached = []

    def compile_two():
        with INTERRUPTS_LATER:
            with INTERRUPTS_LATER:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        compile_two()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is before
    with INTERRUPTS_LATER:
        pass  # raised once


def test_an_interrupt_in_a_kernel_is_raised_after_it():
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_KERNEL], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ran.returncode, ran.stdout.split()) == (0, ["raised"] * 5), ran.stderr


def test_an_interrupt_comes_again_where_a_kernel_returns():
    from numba.core.serialize import _numba_unpickle

    came = []

    def handle(number, frame):
        came.append(frame)
        raise_interrupt(
            number, types.SimpleNamespace(f_code=_numba_unpickle.__code__) if len(came) == 1 else None
        )

    signal.signal(signal.SIGINT, handle)  # the fixture puts back what was
    signal.raise_signal(signal.SIGINT)
    assert len(came) == 1
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)
    assert len(came) == 2


@pytest.mark.parametrize("block", [interrupts_outside_kernels, one_blas_thread])
def test_a_block_changes_the_default_handler_and_puts_it_back(block):
    def fail():
        with block():
            assert signal.getsignal(signal.SIGINT) is raise_interrupt
            with block(), INTERRUPTS_LATER:
                pass
            assert signal.getsignal(signal.SIGINT) is raise_interrupt
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("block", [interrupts_outside_kernels, one_blas_thread, lambda: INTERRUPTS_LATER])
def test_who_handles_interrupts_otherwise_keeps_doing_so(block):
    came = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        with block():
            signal.raise_signal(signal.SIGINT)
            assert came == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("block", [interrupts_outside_kernels, one_blas_thread, lambda: INTERRUPTS_LATER])
def test_threads_other_than_the_main_one_leave_signals_alone(block):
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with block():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
