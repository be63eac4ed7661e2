"""Published comparisons, rerun: protocols as data, a runner that survives being killed, and honest tables.

>>> from consilience import bench
>>> sorted(bench.protocols())[:2]
['bundled', 'mdec']

A protocol names sets, generators, methods, grids and the printed figures (:func:`load_protocol`); :func:`run` fills a results
folder cell by cell; :func:`report` sets ours beside the printed figures as Markdown, CSV and one HTML page.
"""

from ._protocol import Protocol, load_protocol, protocols
from ._report import report
from ._runner import Outcome, run
from ._store import Records, read_store
from ._summary import Summary, summarise

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
