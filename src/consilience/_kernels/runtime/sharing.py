"""Whether threads pay: what is known of the work at one place in the code from its last runs.

A second thread may cost more than it brings. Where tasks hold the interpreter's lock, threads take turns, and
each turn costs some milliseconds; beside other processes a helper may lose its core in the middle of a task,
and is waited for. Neither is known beforehand, and both show in one number, the **rate**: seconds of work
that were done in a second by the clock, by all threads together. It is about 1 alone on a free core, 2/3
alone beside two busy processes on two cores, near 2 where two threads share well, and below 1 where they
stand in each other's way. Each place remembers both rates, and is shared out where that is the better one.
Where it is not, the caller works alone, and now and then it is tried again.

Work is counted as what it takes the caller alone: threads that pass the interpreter's lock or the lines of a
cache to and fro are busy doing so, and need up to twice the processor's time for the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Seconds of work that a caller does alone. A thread woken for less gains little on a quiet machine, and on a
#: busy one it may lose its core with the interpreter's lock or in the middle of a task, and be waited for:
#: schedulers hand out cores for some milliseconds.
ALONE = 0.003
# seconds in which a caller alone may seem to do nothing, and the most that it is left alone before a trial
WAITING = 0.5
_GAIN = 1.1  # that threads must bring: shared caches make the same work slower by some hundredths
_MEMORY = 0.1  # seconds by the clock after which a measurement counts half
_PRIOR = 0.005  # seconds that what is assumed before the first measurement counts for
# power of a caller's own rate after each section shared out: what was measured long ago nears a free core's
_FADING = 0.97
_DEARER = 4.0  # times what a task took alone, up to which it is the same work and threads made it slower
_OTHER = 1.5  # times, or less than one in so many: other work than the last time
# seconds up to which passing things to and fro may make a task slower: twice a turn of the interpreter's lock
_SHORT = 0.01
_SOONER = 0.97  # by each section done alone, of the patience: one in some twenty is tried again


class Rate:
    """Work done in a second by the clock, of late."""

    def __init__(self, assumed: float):
        self.work, self.clock = assumed * _PRIOR, _PRIOR

    def add(self, work: float, clock: float) -> None:
        kept = 0.5 ** (clock / _MEMORY)
        self.work, self.clock = kept * self.work + work, kept * self.clock + clock

    def fade(self) -> None:
        self.work = self.clock * self.value**_FADING

    @property
    def value(self) -> float:
        return self.work / self.clock


class Place:
    """What is known of one place. Threads may write at the same time: a lost measurement does no harm."""

    def __init__(self) -> None:
        self.seconds: float | None = None  # that a task took of its thread, the last time
        self.unit: float | None = None  # the same, the last time that nobody helped
        self.patience = ALONE  # seconds of work done alone before a trial, where sharing does not pay
        self.alone, self.shared = Rate(1.0), Rate(2.0)

    @property
    def limit(self) -> float:
        """Seconds of work that the caller does before others join."""
        return ALONE if self.pays(self.shared.value) else self.patience

    def brief(self, tasks: int) -> bool:
        """Whether the caller does so many tasks alone, at least until their cost is known."""
        if self.seconds is None:
            return False
        return self.seconds * tasks <= self.limit or (self.unit is None and self.seconds <= _SHORT)

    def was_alone(self, work: float, clock: float, tasks: int) -> None:
        """The caller alone did so many tasks, so much work, in so many seconds."""
        unit, self.unit = self.unit, work / tasks
        if unit is not None and not unit / _OTHER <= self.unit <= unit * _OTHER:
            self.shared, self.patience = Rate(2.0), ALONE  # what is known of threads is of other work
        self.alone.add(work, clock)
        self.patience = max(ALONE, _SOONER * self.patience)

    def worth(self, work: float, tasks: int) -> float:
        """Seconds that so many tasks would have taken alone, where they took so much work with threads."""
        return work if self.unit is None else min(work, self.unit * tasks)

    def was_shared(self, work: float, clock: float, tasks: int) -> None:
        """All threads together did so many tasks, so much work, in so many seconds."""
        if self.unit is not None and not self.unit / _OTHER <= work / tasks <= _DEARER * self.unit:
            self.unit = None  # it is of other work
        self.shared.add(self.worth(work, tasks), clock)
        self.alone.fade()
        if self.pays(self.shared.value):
            self.patience = ALONE
        else:
            # A trial would cost as much again. The bound is for clocks that say that no work was done at all.
            worse = max(1.0, self.alone.value / max(self.shared.value, 0.01))
            self.patience = min(WAITING, 2 * max(self.patience, work) * worse**2)

    def pays(self, rate: float) -> bool:
        """Whether this rate of several threads is above that of the caller alone."""
        return rate > _GAIN * self.alone.value


_places: dict[Any, Place] = {}


def place_of(function: Callable, tasks: int) -> Place:
    """Calls from one place in the code with about as many tasks have in common how long those take."""
    key = getattr(function, "__code__", None) or type(function), tasks.bit_length()
    found = _places.get(key)
    return _places.setdefault(key, Place()) if found is None else found
