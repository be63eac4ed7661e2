"""The runner: cells in parallel worker processes, each result on disk before the next begins.

The runner alone writes the store. A cell that fails, runs out of time or memory, or takes its worker down is recorded as
such and the rest go on. Started again on the same folder, it continues where it was stopped, however that was.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import ConsilienceError, InputError
from ..io import atomic_write
from ..kernels.memory import size as shown_size
from ..kernels.parallel import cores, resolve_jobs
from ..progress import progress
from ._cells import Base, Cell, Plan, make_plan, seed_of
from ._protocol import Protocol, load_protocol
from ._store import Store, read_store
from ._work import read_base

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
_STARTS = 3  # workers in a row that may fail to start before the run gives up


@dataclass
class Outcome:
    """What a run did: cells finished now, found done before, failed; and what was left out, with the reason."""

    done: int = 0
    before: int = 0
    failed: int = 0
    bases: int = 0
    seconds: float = 0.0
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.done} cells run ({self.failed} failed), {self.before} done before, {self.bases} sets of base "
            f"clusterings made, {self.seconds:.1f} s"
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
    report: Callable[[str], None] | None = None,
) -> Outcome:
    """Run a protocol, or what is left of it, into a results folder.

    Parameters
    ----------
    protocol : Protocol or str
        One of :func:`protocols`, or the path of a ``.json`` file of your own.
    out : path
        The results folder. Results are added to what it holds; a cell that is there already is not run again.
    data : path, optional
        The folder of data sets; sets bundled with scikit-learn need none.
    sets, methods : iterables of str, optional
        Restrict the run to these rows and columns.
    repetitions : int, optional
        Fewer repetitions than the protocol has.
    tuned : bool, default=True
        Whether to run the grids that are tuned by the truth, beside the defaults.
    jobs : int, optional
        Worker processes; by default as many as fit the cores with ``threads`` each.
    threads : int, default=1
        Threads of each worker.
    time_limit : float, optional
        Seconds a cell may take.
    memory_limit : float, optional
        Bytes a cell may take above what its worker process holds before.
    retry : bool, default=False
        Run cells again whose failure is recorded.
    report : callable, optional
        Called with each sentence about what is left out or differs, for instance ``print``.

    Examples
    --------
    >>> from consilience.bench import run
    >>> outcome = run("bundled", out="results", sets=["iris"], repetitions=2)  # doctest: +SKIP
    """
    protocol = load_protocol(protocol) if isinstance(protocol, str) else protocol
    protocol = protocol.restricted(list(sets or []), list(methods or []), repetitions)
    if threads < 1:
        raise InputError(f"threads={threads} is not valid: expected a whole number of at least 1.")
    for name, limit in (("time_limit", time_limit), ("memory_limit", memory_limit)):
        if limit is not None and not limit > 0:
            raise InputError(f"{name}={limit} is not valid: expected a positive number.")
    workers = max(1, cores() // threads) if jobs is None else resolve_jobs(jobs)
    say = report or (lambda sentence: None)
    started = time.perf_counter()
    plan = make_plan(protocol, data, tuned=tuned)
    _tell(plan, say)
    outcome = Outcome(skipped=plan.skipped)
    with Store(out) as store:
        _keep_protocol(protocol, store.folder)
        held = read_store(store.folder)
        if held.damaged:
            say(f"{held.damaged} unreadable line(s) in the store were skipped; their cells are run again.")
        finished = {
            (record["name"], record["digest"], record["data_sha"])
            for record in held.of("cell")
            if not (retry and "error" in record)
        }
        left = [cell for cell in plan.cells if cell.key not in finished]
        outcome.before = len(plan.cells) - len(left)
        if left:
            store.append(_run_record(protocol, plan, workers, threads))
            pool = _Pool(store, data, protocol, workers, threads, time_limit, memory_limit, outcome)
            pool.run(left)
    outcome.seconds = time.perf_counter() - started
    return outcome


def _tell(plan: Plan, say: Callable[[str], None]) -> None:
    for what, why in plan.skipped:
        say(f"Left out {what}: {why}")
    for name, notes in plan.notes.items():
        for note in notes:
            say(f"{name}: {note}")


def _keep_protocol(protocol: Protocol, folder: Path) -> None:
    """The protocol as it was run, so that the report needs nothing else."""
    target = folder / "protocols" / f"{protocol.name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target, "w", encoding="utf-8") as handle:
        json.dump(protocol.raw, handle, indent=1)


def _run_record(protocol: Protocol, plan: Plan, workers: int, threads: int) -> dict:
    import numpy
    import scipy
    import sklearn

    return {
        "kind": "run",
        "protocol": protocol.name,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "workers": workers,
        "threads": threads,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "versions": {
            "consilience": __version__,
            "python": platform.python_version(),
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "skipped": [list(pair) for pair in plan.skipped],
        "notes": plan.notes,
        "shapes": {name: list(shape) for name, shape in plan.shapes.items()},
    }


# Workers ---------------------------------------------------------------------------------------------------


class _Worker:
    """A worker process and the thread that listens to it."""

    def __init__(self, answers: queue.Queue, threads: int):
        environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
        package = str(Path(__file__).resolve().parents[2])
        environment["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), package])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "consilience.bench._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=environment,
            # A Ctrl-C is the runner's to handle: it ends the workers itself.
            start_new_session=os.name == "posix",
        )
        self.task: dict | None = None
        self.since = 0.0
        self.limit: float | None = None
        self.memory: int | None = None
        self.ready = False  # its libraries are loaded: only then does time count
        self.listener = threading.Thread(target=self._listen, args=(answers,), daemon=True)
        self.listener.start()

    def _listen(self, answers: queue.Queue) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                answers.put((self, json.loads(line)))
        answers.put((self, None))

    def send(self, task: dict, limit: float | None) -> None:
        assert self.process.stdin is not None
        self.task, self.since = task, time.monotonic()
        self.limit, self.memory = limit, task.get("memory_limit")
        with contextlib.suppress(OSError):  # a worker that died is noticed by its listener
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()

    def overdue(self) -> bool:
        return self.limit is not None and time.monotonic() - self.since > self.limit

    def held(self) -> int:
        """Resident bytes of the process; 0 where that cannot be read."""
        try:
            with open(f"/proc/{self.process.pid}/statm") as handle:
                return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError, AttributeError):
            return 0

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.listener.join(5)  # it ends with the pipe
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError, ValueError):
                pipe.close()  # type: ignore[union-attr]


class _Pool:
    """Hands out tasks: base clusterings first, then the cells that wait for them."""

    def __init__(self, store, data, protocol, workers, threads, time_limit, memory_limit, outcome):
        self.store, self.protocol, self.outcome = store, protocol, outcome
        self.data = None if data is None else str(Path(data).resolve())
        self.n_workers, self.threads = workers, threads
        self.time_limit = time_limit
        self.memory_limit = None if memory_limit is None else int(memory_limit)
        self.bases = (store.folder / "base").resolve()
        self.bases.mkdir(parents=True, exist_ok=True)
        self.answers: queue.Queue = queue.Queue()
        self.workers: list[_Worker] = []
        self.ready: deque[dict] = deque()
        self.waiting: dict[str, list[dict]] = {}
        self.cells: dict[int, Cell | Base] = {}
        self.idle_bytes: dict[_Worker, int] = {}
        self.usable: dict[str, bool] = {}
        self.failed_starts = 0

    def run(self, cells: list[Cell]) -> None:
        self._queue(cells)
        total = len(cells)
        with progress(total=total, what=self.protocol.name, unit="cell") as self.bar:
            self.bar.bar_format = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
            self.clock = _TimeLeft(cells, self.n_workers)
            try:
                self._loop(total)
            finally:
                for worker in self.workers:
                    worker.end()

    def _queue(self, cells: list[Cell]) -> None:
        """Tasks in order; a cell whose base clusterings are not on disk waits for the task that makes them."""
        for cell in cells:
            task = self._task(cell)
            base = cell.base
            if base is None or self._usable(base):
                self.ready.append(task)
                continue
            if base.key not in self.waiting:
                self.waiting[base.key] = []
                self.ready.append(self._base_task(base))
            self.waiting[base.key].append(task)

    def _usable(self, base: Base) -> bool:
        if base.key not in self.usable:
            try:
                read_base(self._file(base))
                self.usable[base.key] = True
            except InputError:
                self.usable[base.key] = False
        return self.usable[base.key]

    def _file(self, base: Base) -> str:
        return str(self.bases / f"{base.key}.npz")

    def _common(self, item: Any, thing: Cell | Base) -> dict:
        number = len(self.cells)
        self.cells[number] = thing
        return {
            "id": number,
            "name": thing.name,
            "data": item.data,
            "transform": thing.transform,
            "folder": self.data,
            "protocol_folder": self.protocol.folder,
            "memory_limit": self.memory_limit,
        }

    def _base_task(self, base: Base) -> dict:
        return {
            **self._common(base.item, base),
            "kind": "base",
            "recipe": dict(base.recipe),
            "file": self._file(base),
            "key": base.key,
        }

    def _task(self, cell: Cell) -> dict:
        base, ensembles = cell.base, cell.ensembles
        method = {key: getattr(cell.method, key) for key in ("method", "input", "fill")}
        variation = "" if cell.variation is None else cell.variation.label
        return {
            **self._common(cell.item, cell),
            "kind": "cell",
            "method": method,
            "params": dict(cell.params),
            "seed": seed_of(cell.name),
            "file": None if base is None else self._file(base),
            # Shared by all methods: the same columns and the same missing labels for each of them.
            "ensemble_name": f"{cell.item.data}/{variation}/{cell.repetition}",
            "repetition": cell.repetition,
            "size": ensembles.size,
            "take": ensembles.take,
            "missing": ensembles.missing,
        }

    def _loop(self, total: int) -> None:
        counted, looked = 0, time.monotonic()
        while counted < total:
            self._hand_out()
            with contextlib.suppress(queue.Empty):
                counted += self._take_in(*self.answers.get(timeout=_WATCH))
            # By the clock, not only when all is quiet: quick cells must not hide a slow one from its limits.
            if time.monotonic() - looked >= _WATCH:
                counted += self._watch()
                looked = time.monotonic()

    def _take_in(self, worker: _Worker, answer: dict | None) -> int:
        """What a worker said, or None if its process ended; returns how many cells that settles."""
        task = worker.task
        if task is None:  # starting, at rest, or ended by us
            self._settle(worker, answer)
            return 0
        if answer is None:
            code = worker.process.wait()
            self._replace(worker)
            return self._finish(task, _failure("WorkerDied", f"the worker process ended with code {code}"))
        worker.task = None
        if answer.pop("fresh", False):
            self._replace(worker)
        answer.pop("id")
        return self._finish(task, answer)

    def _settle(self, worker: _Worker, answer: dict | None) -> None:
        if answer is not None:
            worker.ready, self.failed_starts = True, 0
        elif worker in self.workers:
            self._replace(worker)
            self.failed_starts += not worker.ready
            if self.failed_starts >= _STARTS:
                raise ConsilienceError(
                    "Worker processes end as soon as they start; run 'python -m consilience.bench._worker' to see why."
                )

    def _hand_out(self) -> None:
        while self.ready and len(self.workers) < min(self.n_workers, len(self.ready) + self._busy()):
            self.workers.append(_Worker(self.answers, self.threads))
        for worker in self.workers:
            if worker.ready and worker.task is None and self.ready:
                self.clock.start()
                self.idle_bytes[worker] = worker.held()
                worker.send(self.ready.popleft(), self.time_limit)

    def _busy(self) -> int:
        return sum(worker.task is not None for worker in self.workers)

    def _watch(self) -> int:
        """End the cells that are over time or memory."""
        counted = 0
        for worker in list(self.workers):
            task = worker.task
            if task is None:
                continue
            if worker.overdue():
                failure = _failure("TimeLimit", f"took longer than the limit of {self.time_limit:g} s")
            elif worker.memory is not None and worker.held() - self.idle_bytes[worker] > worker.memory:
                failure = _failure("MemoryLimit", f"took more than the limit of {shown_size(worker.memory)}")
            else:
                continue
            worker.task = None
            self._replace(worker)
            counted += self._finish(task, failure)
        return counted

    def _replace(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        self.idle_bytes.pop(worker, None)
        worker.end()

    def _finish(self, task: dict, answer: dict) -> int:
        """Record what came of a task; returns how many cells that settles."""
        thing = self.cells[task["id"]]
        if task["kind"] == "cell":
            assert isinstance(thing, Cell)
            self._record(thing, answer)
            return 1
        assert isinstance(thing, Base)
        self.store.append({"kind": "base", "name": thing.name, "key": thing.key, **answer})
        waiting = self.waiting.pop(task["key"])
        if "error" not in answer:
            self.outcome.bases += 1
            self.ready.extendleft(reversed(waiting))
            return 0
        error = answer["error"]
        message = f"the base clusterings could not be made: {error['type']}: {error['message']}"
        for cell_task in waiting:
            cell = self.cells[cell_task["id"]]
            assert isinstance(cell, Cell)
            self._record(cell, _failure("NoEnsemble", message))
        return len(waiting)

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
                "column": "tuned" if cell.tuned else "default",
                "setting": cell.setting,
                "params": dict(cell.params),
                "repetition": cell.repetition,
                "version": __version__,
                **answer,
            }
        )
        self.outcome.done += 1
        self.outcome.failed += "error" in answer
        self.clock.finished(cell, answer.get("seconds"))
        self.bar.set_postfix_str(f"{self.clock.words()}, {cell.item.name} {cell.method.name}")
        self.bar.update(1)


def _failure(kind: str, message: str) -> dict:
    return {"error": {"type": kind, "message": message}}


class _TimeLeft:
    """Time left, from what cells like the ones left have taken: a large set late in the list is not a surprise."""

    def __init__(self, cells: list[Cell], workers: int):
        self.left: dict[tuple[str, str], int] = {}
        for cell in cells:
            self.left[self._kind(cell)] = self.left.get(self._kind(cell), 0) + 1
        self.spent: dict[tuple[str, str], list[float]] = {}
        self.workers = workers
        self.started: float | None = None
        self.done = 0

    @staticmethod
    def _kind(cell: Cell) -> tuple[str, str]:
        return cell.item.name, cell.method.name

    def start(self) -> None:
        """From the first task on: loading the libraries says nothing about the cells."""
        if self.started is None:
            self.started = time.monotonic()

    def finished(self, cell: Cell, seconds: float | None) -> None:
        kind = self._kind(cell)
        self.left[kind] -= 1
        self.done += 1
        if seconds is not None:
            self.spent.setdefault(kind, []).append(seconds)

    def seconds(self) -> float:
        """Expected seconds left; a kind not seen yet is taken for the mean of its method, or of all."""
        elapsed = 0.0 if self.started is None else time.monotonic() - self.started
        measured = sum(sum(values) for values in self.spent.values())
        overhead = max(elapsed * self.workers - measured, 0.0) / max(self.done, 1)
        everything = [value for values in self.spent.values() for value in values]
        usual = sum(everything) / len(everything) if everything else 0.0
        total = 0.0
        for kind, count in self.left.items():
            same = self.spent.get(kind) or [v for k, vs in self.spent.items() if k[1] == kind[1] for v in vs]
            total += count * ((sum(same) / len(same) if same else usual) + overhead)
        return total / self.workers

    def words(self) -> str:
        seconds = self.seconds()
        if seconds < 90:
            return f"about {seconds:.0f} s left"
        return (
            f"about {seconds / 60:.0f} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"
        )
