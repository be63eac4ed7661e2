"""One worker process: reads tasks as JSON lines on stdin, answers as JSON lines on stdout.

Run as ``python -m consilience.bench._worker``. The runner holds its threads by environment variables, so that they are in
force before any library is loaded. A thread reads stdin; when that ends the runner is gone and the worker leaves at
once, even in the middle of a cell.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import traceback
import warnings
from typing import Any


def main() -> None:
    """Serve until stdin ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not mix with the answers
    from . import _work  # noqa: F401  (loads the libraries before any clock runs)

    answers.write('{"ready": true}\n')
    answers.flush()
    tasks: queue.Queue[dict] = queue.Queue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        task = tasks.get()
        answer = {"id": task["id"], **perform(task)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _listen(tasks: queue.Queue) -> None:
    for line in sys.stdin:
        tasks.put(json.loads(line))
    os._exit(0)


def perform(task: dict) -> dict:
    """Do one task; an exception becomes part of the answer."""
    from ..errors import ConsilienceError
    from . import _work

    try:
        limit_memory(task.get("memory_limit"))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = getattr(_work, task["kind"])(task)
        notes = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught if _matters(w)))
        return {**clean(answer), **({"warnings": notes[:3]} if notes else {})}
    except MemoryError as error:
        kind = type(error).__name__ if isinstance(error, ConsilienceError) else "MemoryLimit"
        message = str(error) or "the cell asked for more memory than it may use"
        return {"error": {"type": kind, "message": message}, "fresh": True}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {
            "error": {
                "type": type(error).__name__,
                "message": str(error),
                "where": f"{os.path.basename(where.filename)}:{where.lineno}",
            }
        }


def _matters(caught: warnings.WarningMessage) -> bool:
    return not issubclass(caught.category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning))


def limit_memory(n_bytes: int | None) -> None:
    """Refuse allocations beyond ``n_bytes`` above what the process holds now; the runner watches what this misses."""
    if n_bytes is None:
        return
    from ._meter import held_bytes

    try:
        import resource

        kind = resource.RLIMIT_DATA
        hard = resource.getrlimit(kind)[1]
        soft = held_bytes("VmData") + n_bytes
        resource.setrlimit(kind, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    except (ImportError, AttributeError, ValueError, OSError):
        pass  # not on this system: the runner's watch is left


def clean(value: Any) -> Any:
    """Plain data: numpy numbers become Python's, and a number that is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if hasattr(value, "tolist"):
        return clean(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


if __name__ == "__main__":
    main()
