"""Run every benchmark (or those named): python -m benchmarks [signatures which-method ...]."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from . import __path__
from ._measure import table

names = sorted(
    name.removeprefix("bench_") for _, name, _ in pkgutil.iter_modules(__path__) if name.startswith("bench_")
)
chosen = [name.replace("-", "_") for name in sys.argv[1:]] or names
for name in chosen:
    if name not in names:
        sys.exit(f"No benchmark is called {name!r}; there are {', '.join(names)}.")
for name in chosen:
    module = importlib.import_module(f"benchmarks.bench_{name}")
    print(f"\n## {name}\n\n{(module.__doc__ or '').strip().splitlines()[0]}\n", flush=True)
    print(table(module.run()), flush=True)
