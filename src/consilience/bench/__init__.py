"""Published comparisons, rerun: protocols as data, a runner that survives being killed, and honest tables.

>>> from consilience import bench
>>> sorted(bench.protocols())[:2]
['bundled', 'lwgp']

A protocol names sets, generators, methods, grids and the printed figures (:func:`load_protocol`); :func:`run` fills a results
folder cell by cell; :func:`report` sets ours beside the printed figures as Markdown, CSV and one HTML page. Names are imported
when first used: worker processes start without what only reports need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._protocol import Protocol, load_protocol, protocols
    from ._report import report
    from ._runner import Outcome, run
    from ._store import Records, read_store
    from ._summary import Summary, summarise

_HOMES = {
    "Outcome": "_runner",
    "Protocol": "_protocol",
    "Records": "_store",
    "Summary": "_summary",
    "load_protocol": "_protocol",
    "protocols": "_protocol",
    "read_store": "_store",
    "report": "_report",
    "run": "_runner",
    "summarise": "_summary",
}

__all__ = [
    "Outcome",
    "Protocol",
    "Records",
    "Summary",
    "load_protocol",
    "protocols",
    "read_store",
    "report",
    "run",
    "summarise",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
