"""The runner: cells in parallel worker processes, each result on disk before the next begins.

The runner alone writes the store. A cell that fails, runs out of time or memory, or takes its worker down is
recorded as such and the rest go on. Started again on the same folder, it continues where it was stopped,
however that was.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import platform
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any
from unittest import mock

from consilience import __version__
from consilience._base.progress import progress
from consilience._kernels.runtime.memory import size as shown_size
from consilience._kernels.runtime.threads import cores, resolve_jobs
from consilience.errors import ConsilienceError, InputError
from consilience.io import atomic_write

from .cells import Base, Cell, Plan, make_plan
from .protocol import Protocol, load_protocol, plain
from .store import Store, read_store
from .work import failure, held_bytes, read_base, serve

#: Read by BLAS, OpenMP, numba and joblib before they start any thread.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
_WATCH = 0.2  # seconds between looks at time and memory of the running cells
_LIMITS = ("TimeLimit", "MemoryLimit")
_STARTS = 3  # workers in a row that may fail to start before the run gives up
_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit loaded libraries and their threads


@dataclass
class Outcome:
    """What a run did: cells finished, found done before, failed; and what was left out, with the reason."""

    done: int = 0
    before: int = 0
    failed: int = 0
    bases: int = 0
    seconds: float = 0.0
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.done} cells run ({self.failed} failed), {self.before} done before, {self.bases} sets of "
            f"base clusterings made, {self.seconds:.1f} s"
        )


def run(
    protocol: Protocol | str,
    *,
    out: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    sets: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    repetitions: int | None = None,
    tuned: bool = True,
    jobs: int | None = None,
    threads: int = 1,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    retry: bool = False,
    on_note: Callable[[str], None] = lambda sentence: None,
) -> Outcome:
    """Run a protocol, or what is left of it, into a results folder.

    ``protocol`` is one of :func:`protocols` or the path of a ``.json`` file, ``out`` the results folder: a
    cell that it holds is not run again (a failed one with ``retry``). ``sets``, ``methods`` and
    ``repetitions`` restrict the run; ``tuned`` says whether to run the grids that are tuned by the truth.
    There are ``jobs`` workers of ``threads`` each, by default as many as fit the cores. ``time_limit`` in
    seconds, and ``memory_limit`` in bytes above what its worker holds before, are each cell's; by default
    they are the protocol's. Once a cell is over one of them its other repetitions are not tried. ``on_note``
    is called with each sentence about what is left out or differs.
    """
    protocol = load_protocol(protocol) if isinstance(protocol, str) else protocol
    chosen = protocol.restricted(list(sets or []), list(methods or []), repetitions)
    if threads < 1:
        raise InputError(f"threads={threads} is not valid: expected a whole number of at least 1.")
    for name, limit in (("time_limit", time_limit), ("memory_limit", memory_limit)):
        if limit is not None and not limit > 0:
            raise InputError(f"{name}={limit} is not valid: expected a positive number.")
    time_limit = protocol.time_limit if time_limit is None else time_limit
    memory_limit = protocol.memory_limit if memory_limit is None else memory_limit
    workers = max(1, cores() // threads) if jobs is None else resolve_jobs(jobs)
    started = time.perf_counter()
    plan = make_plan(chosen, data, tuned=tuned)
    if not plan.cells:
        what, why = next(iter(plan.skipped), ("its methods", "no settings are left."))
        others = f" So it is, or much the same, with {n} more." if (n := len(plan.skipped) - 1) > 0 else ""
        raise InputError(f"{protocol.name}: nothing can be run. {what}: {why}{others}")
    for what, why in plan.skipped:
        on_note(f"Left out {what}: {why}")
    for name, notes in plan.notes.items():
        for note in notes:
            on_note(f"{name}: {note}")
    outcome = Outcome(skipped=plan.skipped)
    with Store(out) as store:
        _keep_protocol(protocol, store.folder)
        held = read_store(store.folder)
        if held.damaged:
            on_note(
                f"{held.damaged} unreadable line(s) in the store were skipped; their cells are run again."
            )
        finished = {
            (record["name"], record["digest"], record["data_sha"])
            for record in held.of("cell")
            if not (retry and "error" in record)
        }
        left = [cell for cell in plan.cells if cell.key not in finished]
        outcome.before = len(plan.cells) - len(left)
        if left:
            store.append(_run_record(protocol, plan, data, workers, threads))
            limits = time_limit, None if memory_limit is None else int(memory_limit)
            # Workers inherit it: threads must be held before any library is loaded there.
            with mock.patch.dict(os.environ, dict.fromkeys(_THREADS, str(threads))):
                _Pool(store, data, workers, limits, outcome).run(left)
    outcome.seconds = time.perf_counter() - started
    return outcome


def _keep_protocol(protocol: Protocol, folder: Path) -> None:
    """The protocol as it was run, so that the report needs nothing else."""
    target = folder / "protocols" / f"{protocol.name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target, "w", encoding="utf-8") as handle:
        json.dump(plain(protocol), handle, indent=1)


def commit(folder: Path = Path(__file__).parent) -> str:
    """The commit of this checkout, with a + if files differ from it; empty where git does not know."""
    try:
        head, changes = (
            subprocess.run(
                ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
            ).stdout
            for words in (
                ["rev-parse", "--short=10", "HEAD"],
                ["status", "--porcelain", "--untracked-files=no"],
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.strip() + ("+" if changes.strip() else "")


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def _run_record(
    protocol: Protocol, plan: Plan, data: str | os.PathLike[str] | None, workers: int, threads: int
) -> dict:
    libraries = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return {
        "kind": "run",
        "protocol": protocol.name,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "workers": workers,
        "threads": threads,
        "cores": os.cpu_count(),
        # Products are rounded otherwise on another processor, which ties (equal eigenvalues, distances of
        # whole numbers) turn on.
        "machine": " ".join(filter(None, [processor(), platform.machine()])),
        "commit": commit(),
        "versions": {"consilience": __version__, "python": platform.python_version(), **libraries},
        # Tables and pages are made of this: where the data lie on one machine is not for them.
        "skipped": [
            (what, why.replace(f" is in {data}.", " is in the data folder.")) for what, why in plan.skipped
        ],
        "notes": plan.notes,
        "shapes": plan.shapes,
    }


# Workers ---------------------------------------------------------------------------------------------------


class _Worker:
    """A worker process, what it is doing, and since when."""

    def __init__(self) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=serve, args=(theirs,))
        self.process.start()
        theirs.close()  # so that the pipe ends when the worker does
        self.task: Cell | Base | None = None
        self.ready = False  # its libraries are loaded: only then does time count
        self.since = 0.0
        self.idle_bytes = 0

    def give(self, task: Cell | Base, *rest: Any) -> None:
        self.task, self.since, self.idle_bytes = task, time.monotonic(), self.held()
        with contextlib.suppress(OSError):  # a worker that died is noticed by the end of its pipe
            self.connection.send((task, *rest))

    def answer(self) -> dict | None:
        """What it says, or None if its process has ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def held(self) -> int:
        return held_bytes(process=self.process.pid or 0)

    def end(self) -> int | None:
        self.connection.close()
        if self.task is None:  # at rest it leaves by itself, and tidily
            self.process.join(1)
        self.process.kill()
        self.process.join()
        return self.process.exitcode


class _Pool:
    """Hands out tasks: base clusterings first, then the cells that wait for them.

    A pool of our own and not a library's: each cell has limits of its own, and a worker that ends must be
    missed whatever its exit code (pebble waits for ever on one that ends with 0; concurrent.futures gives up
    all cells with one).
    """

    def __init__(self, store: Store, data: Any, n_workers: int, limits: tuple, outcome: Outcome):
        self.store, self.outcome, self.n_workers = store, outcome, n_workers
        self.data = None if data is None else str(Path(data).resolve())
        self.time_limit, self.memory_limit = limits
        self.bases = (store.folder / "base").resolve()
        self.bases.mkdir(parents=True, exist_ok=True)
        self.commit = commit()
        self.workers: list[_Worker] = []
        self.ready: deque[Cell | Base] = deque()
        self.waiting: dict[str, list[Cell]] = {}
        #: What was over a limit, whatever its repetition: another seed makes no cell smaller, so the others
        #: are not tried.
        self.over: dict[tuple, dict] = {}
        self.failed_starts = 0

    def run(self, cells: list[Cell]) -> None:
        usable: dict[str, bool] = {}
        for cell in cells:
            base = cell.base
            if base is not None and base.key not in usable:
                usable[base.key] = self._usable(base)
            if base is None or usable[base.key]:
                self.ready.append(cell)
            else:  # it waits for the task that makes its base clusterings
                if base.key not in self.waiting:
                    self.ready.append(base)
                self.waiting.setdefault(base.key, []).append(cell)
        with progress(total=len(cells), what=cells[0].protocol, unit="cell") as self.bar:
            try:
                while self.ready or any(worker.task for worker in self.workers):
                    self._step()
            finally:
                for worker in self.workers:
                    worker.end()

    def _usable(self, base: Base) -> bool:
        try:
            read_base(self._file(base))
        except InputError:
            return False
        return True

    def _file(self, base: Base) -> str:
        return str(self.bases / f"{base.key}.npz")

    def _step(self) -> None:
        """Hand out what is ready, take in what was done, and look after the limits."""
        busy = sum(worker.task is not None for worker in self.workers)
        while len(self.workers) < min(self.n_workers, len(self.ready) + busy):
            self.workers.append(_Worker())
        for worker in self.workers:
            if worker.ready and worker.task is None and (task := self._next()) is not None:
                base = task if isinstance(task, Base) else task.base
                worker.give(task, self.data, None if base is None else self._file(base), self.memory_limit)
        talking = wait([worker.connection for worker in self.workers], timeout=_WATCH)
        for worker in [worker for worker in self.workers if worker.connection in talking]:
            self._take_in(worker)
        for worker in [worker for worker in self.workers if worker.task]:
            self._watch(worker)

    def _next(self) -> Cell | Base | None:
        """What to do next.

        Cells that another repetition has shown to be over a limit are recorded on the way.
        """
        while self.ready:
            task = self.ready.popleft()
            if not isinstance(task, Cell) or (over := self.over.get(task.group)) is None:
                return task
            self._record(task, failure(over["type"], f"not tried, as another repetition {over['message']}"))
        return None

    def _take_in(self, worker: _Worker) -> None:
        answer, task = worker.answer(), worker.task
        if answer is None:
            worker.process.join(1)  # it ended by itself: its own exit code is the one to tell
            code = self._drop(worker)
            if task is not None:
                self._finish(task, failure("WorkerDied", f"the worker process ended with code {code}"))
            self.failed_starts += not worker.ready
            if self.failed_starts >= _STARTS:
                raise ConsilienceError("Worker processes end as soon as they start; what they said is above.")
        elif task is None:
            worker.ready, self.failed_starts = True, 0
        else:
            worker.task = None
            self._finish(task, answer)
            if answer.get("error", {}).get("type") == "MemoryLimit":
                self._drop(worker)  # libraries may be left in any state

    def _watch(self, worker: _Worker) -> None:
        """End a cell that is over time or memory."""
        task = worker.task
        assert task is not None
        if worker.connection.poll():  # it answered while the runner was writing: not the cell's time
            return
        if self.time_limit is not None and time.monotonic() - worker.since > self.time_limit:
            answer = failure("TimeLimit", f"took longer than the limit of {self.time_limit:g} s")
        elif self.memory_limit is not None and worker.held() - worker.idle_bytes > self.memory_limit:
            answer = failure("MemoryLimit", f"took more than the limit of {shown_size(self.memory_limit)}")
        else:
            return
        self._drop(worker)
        self._finish(task, answer)

    def _drop(self, worker: _Worker) -> int | None:
        """End a worker; another takes its place when there is something to do."""
        self.workers.remove(worker)
        return worker.end()

    def _finish(self, task: Cell | Base, answer: dict) -> None:
        """Record what came of a task; what waited for base clusterings goes on, or fails with them."""
        if isinstance(task, Cell):
            self._record(task, answer)
            if answer.get("error", {}).get("type") in _LIMITS:
                self.over[task.group] = answer["error"]
            return
        self.store.append({"kind": "base", "name": task.name, "key": task.key, **answer})
        waiting = self.waiting.pop(task.key)
        if "error" not in answer:
            self.outcome.bases += 1
            self.ready.extendleft(reversed(waiting))
            return
        why = "the base clusterings could not be made: {type}: {message}".format(**answer["error"])
        for cell in waiting:
            self._record(cell, failure("NoEnsemble", why))

    def _record(self, cell: Cell, answer: dict) -> None:
        self.store.append(
            {
                "kind": "cell",
                "protocol": cell.protocol,
                "name": cell.name,
                "digest": cell.digest,
                "data_sha": cell.data_sha,
                "set": cell.item.name,
                "variation": None if cell.variation is None else cell.variation.label,
                "method": cell.method.name,
                "column": cell.column,
                "setting": cell.setting,
                "params": cell.params,
                "repetition": cell.repetition,
                "version": __version__,
                "commit": self.commit,
                **answer,
            }
        )
        self.outcome.done += 1
        self.outcome.failed += "error" in answer
        self.bar.set_postfix_str(f"{cell.item.name} {cell.method.name}")
        self.bar.update(1)
