"""The steps that make the kept tables.

One command makes all of them in one folder, from one state of the code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from consilience.errors import InputError

from .protocol import Count, Protocol, load_protocol
from .run import Outcome, run

PLAN = Path(__file__).parent / "kept.json"


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a protocol, or all of it by default.

    Slow methods and large sets have fewer repetitions.
    """

    protocol: str
    sets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    repetitions: Count | None = None
    tuned: bool = True
    #: Seconds per cell where some of a step's methods would take many times what is known to come of them.
    time_limit: float | None = None

    def restricted(self) -> Protocol:
        """The protocol with what this step runs of it."""
        return load_protocol(self.protocol).restricted([*self.sets], [*self.methods], self.repetitions)


def steps(plan: Path = PLAN) -> tuple[Step, ...]:
    """The plan of the kept tables, in the order in which it is run."""
    return msgspec.json.decode(plan.read_bytes(), type=tuple[Step, ...])


def run_kept(
    *,
    out: str | os.PathLike[str],
    only: list[str] | None = None,
    on_note: Callable[[str], None] = lambda sentence: None,
    **options: Any,
) -> Iterator[tuple[Step, Outcome]]:
    """Run the steps of the plan (of some protocols ``only``) into one results folder.

    ``options`` are those of :func:`.run`.

    Each step is told as it ends, with what came of it. A step whose sets are not there is noted, and the
    others go on.
    """
    wanted = steps()
    if unknown := sorted(set(only or ()) - {step.protocol for step in wanted}):
        raise InputError(f"The kept tables hold nothing of {', '.join(unknown)}.")
    for step in wanted:
        if only and step.protocol not in only:
            continue
        part: dict[str, Any] = {
            "sets": step.sets,
            "methods": step.methods,
            "repetitions": step.repetitions,
            "tuned": step.tuned,
        }
        if step.time_limit is not None:
            part["time_limit"] = step.time_limit
        try:
            yield step, run(step.protocol, out=out, on_note=on_note, **options | part)
        except InputError as error:
            on_note(str(error))
