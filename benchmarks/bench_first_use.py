"""First use on a fresh machine: CPU seconds of compiling every method, generator and measure alone.

    python -m benchmarks first-use                          each in a process and with a cache folder of its
                                                            own (long)
    python -m benchmarks.bench_first_use MDEC SPCE          some of them
    python -m benchmarks.bench_first_use --together         one after the other in one process, and the
                                                            most expensive kernels
    python -m benchmarks.bench_first_use --store            the package's list of what each compiles, with
                                                            seconds (src/consilience/_warmup/first_use.json)
    python -m benchmarks.bench_first_use --beside MDEC      clock and CPU seconds with one process and with
                                                            one beside it

A kernel's seconds are its own: what it calls is counted where it was compiled. `consilience warm-up` compiles
the same in as many processes as there are cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ._measure import table


class Costs:
    """CPU seconds of the compiler by kernel, from numba's events."""

    def __init__(self) -> None:
        from numba.core import event

        from consilience._kernels.compile.text import text_of

        self.seconds: Counter[str] = Counter()
        self.times: Counter[str] = Counter()
        self.whole: dict[tuple[str, str], float] = {}  # kernel and types: seconds with all that it calls
        self.open: list[list[float]] = []  # since when, and of that within others
        costs = self

        class Listener(event.Listener):
            def on_start(self, event: Any) -> None:
                costs.open.append([time.thread_time(), 0.0])

            def on_end(self, event: Any) -> None:
                begun, within = costs.open.pop()
                taken = time.thread_time() - begun
                if costs.open:
                    costs.open[-1][1] += taken
                function = event.data["dispatcher"].py_func
                name = f"{function.__module__}.{function.__name__}"
                costs.whole[name, text_of(event.data["args"])] = round(taken, 2)
                costs.seconds[name] += taken - within
                costs.times[name] += 1

        event.register("numba:compile", Listener())


def here(names: list[str]) -> dict[str, Any]:
    """Warm these up in this process; what the compiler took of it."""
    from consilience._warmup.warm_up import tasks, warm_up

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


def fresh(names: list[str], how: str = "--here", **environment: str) -> dict[str, Any]:
    """The same in a new process that finds nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_first_use", how, *names],
            env={**os.environ, "NUMBA_CACHE_DIR": folder, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def run(names: list[str] | None = None) -> list[dict]:
    from consilience._warmup.warm_up import tasks

    return [fresh([name])["rows"][0] for name in names or list(tasks())]


def listed(name: str, connection: Any) -> None:
    """Warm this up; send the kernels that Python called, in order, and the compile time of each."""
    from consilience._kernels.compile import jit
    from consilience._kernels.compile.text import text_of
    from consilience._warmup.warm_up import warm

    costs, called = Costs(), []
    load = jit._KernelCache.load_overload

    def noted(cache: Any, sig: Any, context: Any) -> Any:
        if not costs.open:  # else it is called by the one that is being compiled
            called.append((f"{cache._py_func.__module__}.{cache._py_func.__name__}", text_of(sig)))
        return load(cache, sig, context)

    jit._KernelCache.load_overload = noted
    warm(name)
    connection.send((called, costs.whole))


def store() -> None:
    """The package's list of what is compiled at first use, with seconds, and the table made of it."""
    from consilience._warmup.first_use import LIST
    from consilience._warmup.warm_up import tasks

    names, called, seconds = list(tasks()), {}, {}
    # Forked from one that has imported everything: each finds on disk what those before it have compiled, and
    # nothing in memory.
    context = multiprocessing.get_context("fork")
    for name in names:
        ours, theirs = context.Pipe()
        process = context.Process(target=listed, args=(name, theirs))
        process.start()
        theirs.close()  # so that a child that fails ends the wait
        called[name], whole = ours.recv()
        process.join()
        seconds = whole | seconds
        print(f"{name}: {len(called[name])} kernels", flush=True)
    kernels = list(dict.fromkeys(kernel for use in called.values() for kernel in use))
    place = {kernel: i for i, kernel in enumerate(kernels)}
    lines = [json.dumps([*kernel, seconds[kernel]]) for kernel in kernels]
    uses = [
        f"{json.dumps(name)}: {json.dumps([place[kernel] for kernel in use])}" for name, use in called.items()
    ]
    LIST.write_text('{"kernels": [\n' + ",\n".join(lines) + '\n],\n"uses": {\n' + ",\n".join(uses) + "\n}}\n")


def by_list() -> list[dict]:
    """What each has to compile, and the CPU seconds of that when the list was made."""
    from consilience._warmup.first_use import needed
    from consilience._warmup.warm_up import tasks

    found = {name: needed([name]) for name in tasks()}
    found["everything"] = needed(list(tasks()))
    return [
        {"what": name, "kernels": len(kernels), "CPU s": sum(kernel.seconds for kernel in kernels)}
        for name, kernels in found.items()
    ]


def with_and_without(names: list[str]) -> list[dict]:
    """Clock and CPU seconds of a first use, alone and with a process beside it."""
    from consilience._warmup.first_use import VARIABLE

    rows = []
    for name in names:
        alone, beside = (fresh([name], "--clocked", **{VARIABLE: on}) for on in ("0", "1"))
        rows.append(
            {"what": name, "alone, s": alone["clock"], "CPU s": alone["CPU"], "two, s": beside["clock"]}
        )
        rows[-1] |= {"two, CPU s": beside["CPU"], "CPU of the one beside": beside["beside"]}
    return rows


def clocked(names: list[str]) -> dict[str, float]:
    """From the start of Python, imports included."""
    begun = time.time() - float(Path("/proc/uptime").read_text().split()[0])
    begun += int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf(
        "SC_CLK_TCK"
    )
    from consilience._warmup.first_use import compiling_beside
    from consilience._warmup.warm_up import warm

    with compiling_beside(names, say=lambda text: print(text, file=sys.stderr)):
        for name in names:
            warm(name)
        clock = time.time() - begun
    of_others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"clock": clock, "CPU": time.process_time(), "beside": of_others.ru_utime + of_others.ru_stime}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="what to warm up (default: everything)")
    parser.add_argument("--together", action="store_true", help="in one process, one after the other")
    parser.add_argument("--store", action="store_true", help="make the package's list again")
    parser.add_argument("--beside", action="store_true", help="with one process and with one beside it")
    parser.add_argument("--clocked", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(here(options.names)))
    elif options.clocked:
        print(json.dumps(clocked(options.names)))
    elif options.store:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder  # before numba is imported
            store()
    elif options.beside:
        print(table(with_and_without(options.names)))
    elif options.together:
        found = fresh(options.names)
        print(table(found["rows"]), f"\n\n{found['total']:.1f} CPU s of compiling in all\n")
        print(table(found["dearest"]))
    else:
        print(table(run(options.names)))


if __name__ == "__main__":
    main()
