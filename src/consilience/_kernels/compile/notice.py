"""Why a first call takes its time: a bar that moves while kernels are compiled, or one line where none can.

How much is still to come is told by the list of what each method, generator and measure calls
(``_warmup/first_use.json``): the method is the one whose kernels have been seen so far, and what this machine
has taken for them, beside what the list says, is what it will take for the others.
"""

from __future__ import annotations

import json
import pkgutil
import sys
import threading
import time
from functools import cache
from typing import Any

from numba.core import event

from ..._base.progress import progress

_AFTER = 1.0  # seconds of compiling before anything is said
_TICK = 0.2  # seconds between two moves of the bar
_OVER = 1.0  # seconds without compiling after which the bar goes away


@cache
def _listed() -> tuple[list[tuple[str, float]], list[list[int]]]:
    """Kernels with their seconds, and what each method, generator and measure calls, in order."""
    found = json.loads(pkgutil.get_data("consilience._warmup", "first_use.json") or b"{}")
    return [(name, seconds) for name, _, seconds in found["kernels"]], list(found["uses"].values())


class Estimate:
    """What is still to be compiled, from what has been: kernels, and seconds of this machine."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}  # seconds by kernel that has been compiled here

    def still(self, current: str) -> tuple[int, float]:
        """Kernels from the current one on, and their seconds; (1, 0.0) if it is on no list."""
        kernels, uses = _listed()
        seen = {*self.taken, current}
        most, rest = 0, []
        for use in uses:
            names = [kernels[i][0] for i in use]
            known = len(seen.intersection(names))
            if current in names and known > most:
                # Kernels are listed in the order of their first calls.
                most, rest = known, [kernels[i] for i in use[names.index(current) :]]
        rest = [(name, seconds) for name, seconds in rest if name not in self.taken]
        listed = dict(kernels)
        both = [(seconds, listed[name]) for name, seconds in self.taken.items() if name in listed]
        slower = sum(a for a, _ in both) / max(sum(b for _, b in both), 0.01) if both else 1.0
        return max(1, len({name for name, _ in rest})), slower * sum(seconds for _, seconds in rest)


class Notice(event.Listener):
    """Tells the user what is compiled, once it takes more than a moment."""

    def __init__(self) -> None:
        self.said = False  # nothing is to be said (any more)
        self.announced = False  # a line has been printed; a bar may still move
        self.kept = True
        self._depth = 0
        self._spent = 0.0  # seconds of compiling so far
        self._begun = 0.0
        self._current = ""
        self._estimate = Estimate()
        self._ticker: threading.Thread | None = None

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._begun, self._current = time.monotonic(), "a kernel"
        if event.data:
            function = event.data["dispatcher"].py_func
            self._current = f"{function.__module__}.{function.__name__}"
        if not self.said and self._ticker is None:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()

    def on_end(self, event: Any) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth == 0:
            taken = time.monotonic() - self._begun
            self._spent += taken
            before = self._estimate.taken.get(self._current, 0.0)
            self._estimate.taken[self._current] = before + taken
            self._begun = time.monotonic()  # since when nothing is compiled

    def _tick(self) -> None:
        bar = None
        try:
            while not self.said:
                time.sleep(_TICK)
                passed = time.monotonic() - self._begun
                if self._depth == 0 and passed > _OVER:
                    return
                spent = self._spent + (passed if self._depth else 0.0)
                if spent < _AFTER:
                    continue
                if bar is None:
                    bar = self._open()
                    if bar is None:
                        return
                self._move(bar, spent)
        finally:
            self._ticker = None
            if bar is not None:
                bar.close()

    def _open(self) -> Any:
        """A bar, or a line where there is no terminal and no notebook."""
        bar = progress(total=100, what="consilience: compiling", unit="s")
        if not bar.disable:
            bar.delay = 0
            bar.bar_format = "{desc} |{bar}|"
            return bar
        if not self.announced:
            self.announced = True
            kept = "first use only; kept on disk for next time" if self.kept else "for this process only"
            print(
                f"consilience: compiling for this machine, some 2 to 20 seconds for a method ({kept}) ...",
                file=sys.stderr,
                flush=True,
            )
        return None

    def _move(self, bar: Any, spent: float) -> None:
        kernels, seconds = self._estimate.still(self._current)
        done = len(self._estimate.taken)
        left = max(0.0, seconds - (spent - self._spent))
        bar.n = max(bar.n, 100 * spent / (spent + max(left, 1.0)))
        text = f"{self._current.rpartition('.')[2].lstrip('_')}, kernel {done + 1} of about {done + kernels}"
        kept = "first use only" if self.kept else "for this process only"
        time_left = f", about {left:.0f} s left" if left >= 1 else ""
        bar.set_description_str(f"consilience: compiling {text}{time_left} ({kept})")
