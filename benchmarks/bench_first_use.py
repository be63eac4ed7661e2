"""First use on a fresh machine: seconds of the processor that compiling takes, for every method, generator and measure alone.

    python -m benchmarks first-use                          each in a process and with a cache folder of its own (long)
    python -m benchmarks.bench_first_use MDEC SPCE          some of them
    python -m benchmarks.bench_first_use --together         one after the other in one process, and the dearest kernels

A kernel's seconds are its own: what it calls is counted where it was compiled. `consilience warm-up` compiles the same in as many processes
as there are cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

from ._measure import table


class Costs:
    """CPU seconds of the compiler by kernel, from numba's events."""

    def __init__(self) -> None:
        from numba.core import event

        self.seconds: Counter[str] = Counter()
        self.times: Counter[str] = Counter()
        open_: list[list[float]] = []  # since when, and of that within others
        costs = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                open_.append([time.thread_time(), 0.0])

            def on_end(self, event: Any) -> None:
                begun, within = open_.pop()
                taken = time.thread_time() - begun
                if open_:
                    open_[-1][1] += taken
                function = event.data["dispatcher"].py_func
                name = f"{function.__module__}.{function.__name__}"
                costs.seconds[name] += taken - within
                costs.times[name] += 1

        event.register("numba:compile", Listener())


def here(names: list[str]) -> dict[str, Any]:
    """Warm these up in this process; what the compiler took of it."""
    from consilience.warming import tasks, warm_up

    costs, rows = Costs(), []
    for name in names or list(tasks()):
        before, begun = costs.seconds.total(), time.process_time()
        (warmed,) = warm_up([name], n_jobs=1)
        rows.append(
            {
                "what": name,
                "CPU s": time.process_time() - begun,
                "of which compiling": costs.seconds.total() - before,
                "kernels": warmed.compiled,
            }
        )
    dearest = [
        {"kernel": name, "CPU s": seconds, "times": costs.times[name]}
        for name, seconds in costs.seconds.most_common(20)
    ]
    return {"rows": rows, "dearest": dearest, "total": costs.seconds.total()}


def fresh(names: list[str]) -> dict[str, Any]:
    """The same in a new process that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_first_use", "--here", *names],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def run(names: list[str] | None = None) -> list[dict]:
    from consilience.warming import tasks

    return [fresh([name])["rows"][0] for name in names or list(tasks())]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="what to warm up (default: everything)")
    parser.add_argument("--together", action="store_true", help="in one process, one after the other")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(here(options.names)))
    elif options.together:
        found = fresh(options.names)
        print(table(found["rows"]), f"\n\n{found['total']:.1f} CPU s of compiling in all\n")
        print(table(found["dearest"]))
    else:
        print(table(run(options.names)))


if __name__ == "__main__":
    main()
