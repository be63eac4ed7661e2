"""Parent and child: the parent counts, saves and survives; the child runs the cases.

The child says on its output which case and which property it is at, and what came of the case:

    > SUITE <tab> NUMBER
    ? PROPERTY
    = {"checks": [...], "exempt": [...], "failures": [...], "refused": false}

If it ends, or says nothing for too long, the case it was at is the failure; the next child goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NO_CRASH = "no crash, no hang"
#: Kernels may be compiled in the first case of a child.
FIRST_CASE_SECONDS = 300.0
CASE_SECONDS = 60.0
CHILD_BYTES = 6 << 30
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Found:
    """One failure and where its case was saved."""

    suite: str
    seed: int
    number: int
    property: str
    words: str
    file: str | None = None


@dataclass
class Report:
    """Counts of a run."""

    cases: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)
    checks: Counter = field(default_factory=Counter)
    exempt: Counter = field(default_factory=Counter)
    reasons: Counter = field(default_factory=Counter)
    failed: Counter = field(default_factory=Counter)
    failures: list[Found] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        counts = {
            name: {"checks": self.checks[name], "exempt": self.exempt[name], "failures": self.failed[name]}
            for name in self.checks | self.failed
        }
        return {
            "cases": dict(self.cases),
            "refused": dict(self.refused),
            "properties": counts,
            "exemptions": dict(self.reasons),
            "failures": [asdict(found) for found in self.failures],
            "seconds": round(self.seconds, 1),
        }

    def table(self) -> str:
        lines = ["| input | cases | refused |", "|---|---:|---:|"]
        lines += [f"| {name} | {count:,} | {self.refused[name]:,} |" for name, count in self.cases.items()]
        lines += [f"| all | {sum(self.cases.values()):,} | {sum(self.refused.values()):,} |", ""]
        lines += ["| property | checks | exempt | failures |", "|---|---:|---:|---:|"]
        lines += [
            f"| {name} | {self.checks[name]:,} | {self.exempt[name]:,} | {self.failed[name]:,} |"
            for name in self.checks | self.failed
        ]
        if self.reasons:
            lines += ["", *(f"exempt: {reason} ({count})" for reason, count in self.reasons.items())]
        return "\n".join(lines)


# The child -------------------------------------------------------------------------------------------------


def numbered(names: Sequence[str], seed: int, start: int, step: int) -> Iterator[tuple[str, int]]:
    """(suite, number) for start, start + step, ...

    The suite is drawn by (seed, number), so that any number can be had by itself.
    """
    import numpy as np

    from .suites import SUITES

    weights = np.array([SUITES[name].weight for name in names])
    number = start
    while True:
        yield str(np.random.default_rng([seed, number]).choice(names, p=weights / weights.sum())), number
        number += step


def child(names: list[str], seed: int, start: int, step: int, stop: int, deadline: float) -> None:
    """Run cases until ``stop`` or ``deadline``, telling the parent."""
    _limit_memory()
    from .properties import run
    from .suites import SUITES

    for name, number in numbered(names, seed, start, step):
        if number >= stop or time.time() > deadline:
            break
        _say(f"> {name}\t{number}")
        suite = SUITES[name]
        outcome = run(suite.case(seed, number), suite, say=lambda at: _say(f"? {at}"))
        _say("= " + json.dumps(asdict(outcome)))


def child_replay(path: str) -> None:
    """Run the case of a file, every property."""
    _limit_memory()
    from .properties import load, run
    from .suites import SUITES

    case = load(Path(path))
    _say(f"> {case.suite}\t{case.number}")
    outcome = run(case, SUITES[case.suite], every=True, say=lambda at: _say(f"? {at}"))
    _say("= " + json.dumps(asdict(outcome)))


def _say(line: str) -> None:
    os.write(1, line.encode(errors="backslashreplace") + b"\n")


def _limit_memory() -> None:
    """A case that takes all memory fails by itself, without the machine."""
    import faulthandler

    faulthandler.enable()
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES, CHILD_BYTES))


# The parent ------------------------------------------------------------------------------------------------


class Child:
    """A child process and the lines it says."""

    def __init__(self, arguments: list[str]):
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        environment = {**os.environ, **_ONE_THREAD}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", *arguments],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            env=environment,
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.decode().rstrip("\n"))
        self.lines.put(None)

    def next(self, seconds: float) -> str | None:
        """The next line; None at the end. Raises queue.Empty after so many seconds of silence."""
        return self.lines.get(timeout=seconds)

    def last_words(self) -> str:
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")
        inside = re.findall(r'File ".*?(\w+\.py)", line (\d+) in (\w+)', text)
        if "Fatal Python error" in text and inside:
            return text.splitlines()[0] + " at " + " < ".join(f"{f}:{n} {name}" for f, n, name in inside[:6])
        return " ".join(text.strip().splitlines()[-3:])[-400:]

    def worked(self) -> float:
        """Seconds of processor time so far; infinite where the system does not say."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            return float("inf")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> int:
        self.process.kill()
        return self.process.wait()

    def close(self) -> None:
        self.end()
        self.errors.close()


def follow(running: Child, report: Report, lock: threading.Lock, seed: int, keep) -> int | None:
    """Count what a child says until it ends; the number of the case it died in, or None if it ended well."""
    at: tuple[str, int] | None = None
    where, limit = "", FIRST_CASE_SECONDS
    silent, began = 0.0, 0.0
    while True:
        try:
            line = running.next(limit)
        except queue.Empty:
            # On a busy machine silence may be waiting for a core: only work, or very long silence, is a hang.
            silent += limit
            if silent < 10 * limit and running.worked() - began < limit / 2:
                continue
            running.end()
            assert at is not None, "the child never began"
            keep(Found(at[0], seed, at[1], NO_CRASH, f"in {where!r}: no answer within {silent:.0f} s"))
            return at[1]
        if line is None:
            code = running.process.wait()
            if at is None and code == 0:
                return None
            if at is None:
                raise RuntimeError(f"the child could not begin: {running.last_words()}")
            keep(Found(at[0], seed, at[1], NO_CRASH, f"in {where!r}: exit {code}. {running.last_words()}"))
            return at[1]
        if line.startswith("> "):
            name, number = line[2:].split("\t")
            at, where = (name, int(number)), "making the case"
            silent = 0.0
        elif line.startswith("? "):
            where = line[2:]
        elif line.startswith("= "):
            assert at is not None
            with lock:
                _count(report, at[0], json.loads(line[2:]))
            for kind, words in json.loads(line[2:])["failures"]:
                keep(Found(at[0], seed, at[1], kind, words))
            at, limit, silent, began = None, CASE_SECONDS, 0.0, running.worked()


def _count(report: Report, name: str, outcome: dict) -> None:
    report.cases[name] += 1
    report.refused[name] += outcome["refused"]
    report.checks.update(outcome["checks"])
    report.exempt.update(kind for kind, _ in outcome["exempt"])
    report.reasons.update(reason for _, reason in outcome["exempt"])


def fuzz(
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    cases: int | None = None,
    start: int = 0,
    minutes: float | None = None,
    jobs: int = 1,
    folder: Path | None = None,
    show=lambda line: None,
) -> Report:
    """Run cases start, start + 1, ... of a seed; stop after so many, or so many minutes."""
    from .suites import SUITES

    names = list(names or SUITES)
    stop = start + cases if cases is not None else sys.maxsize
    deadline = time.time() + 60 * minutes if minutes is not None else float("inf")
    report, lock, begin = Report(), threading.Lock(), time.time()
    kept: defaultdict[str, int] = defaultdict(int)

    def keep(found: Found) -> None:
        with lock:
            report.failed[found.property] += 1
            if found.property == NO_CRASH:
                report.cases[found.suite] += 1
            kept[found.suite + found.property] += 1
            if (
                folder is not None and kept[found.suite + found.property] <= 50
            ):  # one fault can fail thousands
                found.file = str(write_case(folder, found))
            report.failures.append(found)
            show(f"{found.suite} {found.number}: {found.property}: {' '.join(found.words.split())[:400]}")

    def work(first: int) -> None:
        at = first
        while at < stop and time.time() < deadline:
            arguments = ["--child", json.dumps([names, seed, at, jobs, stop, deadline])]
            running = Child(arguments)
            try:
                died = follow(running, report, lock, seed, keep)
            finally:
                running.close()
            if died is None:
                return
            at = died + jobs

    threads = [threading.Thread(target=work, args=(start + w,)) for w in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with lock:
        report.checks[NO_CRASH] = sum(report.cases.values())
    report.seconds = time.time() - begin
    return report


def write_case(folder: Path, found: Found) -> Path:
    """Draw the case again (without the library) and save it; a second failure of it is added."""
    from .properties import save
    from .suites import SUITES

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found.suite.replace(' ', '-')}-{found.seed}-{found.number}.json"
    known = json.loads(path.read_text())["failures"] if path.exists() else []
    save(path, SUITES[found.suite].case(found.seed, found.number), [*known, [found.property, found.words]])
    return path


def replay(path: Path, show=print) -> Report:
    """The case of a saved file, every property, in a child."""
    report, lock = Report(), threading.Lock()

    def keep(found: Found) -> None:
        report.failed[found.property] += 1
        report.failures.append(found)
        show(f"{found.suite} {found.number}: {found.property}: {found.words}")

    content = json.loads(path.read_text())
    running = Child(["--child-replay", str(path.resolve())])
    try:
        follow(running, report, lock, content["seed"], keep)
    finally:
        running.close()
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--minutes", type=float, help="stop after so long (default: 1, unless --cases is given)"
    )
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument(
        "--only", action="append", metavar="SUITE", help="this kind of input alone (may be repeated)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="children at the same time, each on one core")
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), help="folder for failing cases")
    parser.add_argument("--json", type=Path, help="write the counts and failures there as well")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one saved case again")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--child-replay", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(*json.loads(options.child))
        return 0
    if options.child_replay:
        child_replay(options.child_replay)
        return 0
    from .suites import SUITES

    unknown = [name for name in options.only or [] if name not in SUITES]
    if unknown:
        parser.error(f"no suite is called {unknown[0]!r}; choose one of {', '.join(SUITES)}")
    if options.replay:
        report = replay(options.replay)
        print("failed" if report.failures else "passed")
        return 1 if report.failures else 0
    minutes = options.minutes if options.minutes or options.cases else 1.0
    report = fuzz(
        options.only,
        seed=options.seed,
        cases=options.cases,
        start=options.start,
        minutes=minutes,
        jobs=options.jobs,
        folder=options.save,
        show=lambda line: print(line, flush=True),
    )
    print(f"\nseed {options.seed}, {report.seconds:.0f} s\n\n{report.table()}")
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    return 1 if report.failures else 0
