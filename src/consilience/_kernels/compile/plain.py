"""Plain loops for compiled code to call instead of numpy's functions, at a tenth of their compile time.

The values are the same to the last bit: sums go from the first to the last, and sorted numbers are sorted
numbers.
"""

from __future__ import annotations

import numpy as np

from .arrays import empty_array
from .jit import kernel

_FEW = 16  # sorted by insertion


@kernel
def counting(n):
    """0, 1, ..., n - 1."""
    out = empty_array(n, np.int64)
    for i in range(n):
        out[i] = i
    return out


@kernel
def total(values):
    """The sum, from the first to the last."""
    found = 0.0
    for i in range(values.shape[0]):
        found += values[i]
    return found


@kernel
def copy_to(values, out):
    """``out[:] = values``, both of one length."""
    for i in range(out.shape[0]):
        out[i] = values[i]


@kernel
def split_inplace(values, low, high):
    """(j, i) with values[low..j] <= values[j + 1..i - 1], all equal, <= values[i..high]; none is NaN.

    They are split at the middle one of the first, the middle and the last value, so that sorted values are
    halved, too.
    """
    middle = (low + high) // 2
    if values[middle] < values[low]:
        values[middle], values[low] = values[low], values[middle]
    if values[high] < values[low]:
        values[high], values[low] = values[low], values[high]
    if values[high] < values[middle]:
        values[high], values[middle] = values[middle], values[high]
    pivot = values[middle]
    # Both ends stop at the pivot at the latest, and after a swap at what was swapped: no place outside
    # low..high is looked at.
    i, j = low, high
    while i <= j:
        while values[i] < pivot:
            i += 1
        while values[j] > pivot:
            j -= 1
        if i <= j:
            values[i], values[j] = values[j], values[i]
            i += 1
            j -= 1
    return j, i


@kernel
def kth_smallest_inplace(values, k):
    """The value at place k of the sorted values, none of which is NaN; their order is changed."""
    low, high = 0, values.shape[0] - 1
    while low < high:
        j, i = split_inplace(values, low, high)
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel
def sort_inplace(values):
    """Sort in rising order; no value is NaN."""
    # The smaller part is done first and the other waits: at most one for each bit of the length.
    waiting = empty_array((64, 2), np.int64)
    count, low, high = 0, 0, values.shape[0] - 1
    while True:
        if high - low >= _FEW:
            j, i = split_inplace(values, low, high)
            if j - low > high - i:
                waiting[count, 0], waiting[count, 1] = low, j
                low = i
            else:
                waiting[count, 0], waiting[count, 1] = i, high
                high = j
            count += 1
            continue
        for t in range(low + 1, high + 1):
            value = values[t]
            s = t
            while s > low and values[s - 1] > value:
                values[s] = values[s - 1]
                s -= 1
            values[s] = value
        if count == 0:
            return
        count -= 1
        low, high = waiting[count, 0], waiting[count, 1]
