"""Every suite by name."""

from __future__ import annotations

from importlib.util import find_spec

from . import consensus, doors, makers, measures, models, tables, tasks, trips, views
from .properties import Suite

ALL: list[Suite] = [
    consensus.suite,
    views.suite,
    measures.suite,
    makers.suite,
    makers.whole_suite,
    tasks.suite,
    doors.suite,
    doors.parameter_suite,
    trips.suite,
    models.suite,
    tables.suite,
]
if find_spec(f"{__package__}.files"):
    from . import hostile_files

    ALL.append(hostile_files.suite)

SUITES: dict[str, Suite] = {suite.name: suite for suite in ALL}
