"""Time and memory of a block of code, as the operating system counts them."""

from __future__ import annotations

import time
from typing import Any


def held_bytes(field: str = "VmRSS") -> int:
    """A line of /proc/self/status in bytes; 0 where there is none."""
    try:
        with open("/proc/self/status") as handle:
            for line in handle:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Meter:
    """Wall and processor seconds and peak memory of a block, above what the process held before it."""

    def __enter__(self) -> Meter:
        try:
            with open("/proc/self/clear_refs", "w") as handle:
                handle.write("5")  # restart the high-water mark
            self._resettable = True
        except OSError:
            self._resettable = False
        self._before = held_bytes()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.seconds = time.perf_counter() - self._wall
        self.cpu_seconds = time.process_time() - self._cpu
        self.peak_bytes = max(held_bytes("VmHWM") - self._before, 0) if self._resettable else None

    def figures(self) -> dict:
        return {
            "seconds": round(self.seconds, 6),
            "cpu_seconds": round(self.cpu_seconds, 6),
            "peak_bytes": self.peak_bytes,
        }
