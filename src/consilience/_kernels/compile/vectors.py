"""Sums over two vectors of one length, for compiled loops to call.

Whole vectors are contiguous, and become vector code.
"""

from __future__ import annotations

from .jit import fast_kernel


@fast_kernel(forceinline=True)
def dot(x, y):
    """x'y."""
    total = 0.0
    for t in range(x.size):
        total += x[t] * y[t]
    return total


@fast_kernel(forceinline=True)
def square(x, y):
    """|x - y|^2."""
    total = 0.0
    for t in range(x.size):
        difference = x[t] - y[t]
        total += difference * difference
    return total
