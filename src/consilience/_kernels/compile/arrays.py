"""New arrays inside kernels: what numpy gives, without a function to compile for each kind of them.

numba compiles ``np.empty`` and its like anew for every combination of types, each a twentieth of a second to
a tenth; these become a few instructions of the kernel itself. Sizes must not be negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import cgutils, config, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import _empty_nd_impl, make_array

# Not an attribute that type checkers know.
_Tuple: Any = vars(types)["BaseTuple"]


def _array_of(shape: Any, dtype: Any) -> types.Array:
    sizes = shape if isinstance(shape, _Tuple) else (shape,)
    if not isinstance(dtype, types.NumberClass) or not all(isinstance(n, types.Integer) for n in sizes):
        raise TypingError(f"No array of shape {shape} and type {dtype}.")
    return types.Array(dtype.dtype, len(sizes), "C")


def _allocate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    given, kind = arguments[0], signature.args[0]
    many = isinstance(kind, _Tuple)
    sizes = cgutils.unpack_tuple(builder, given) if many else [given]
    kinds = kind if many else [kind]
    sizes = [context.cast(builder, size, one, types.intp) for size, one in zip(sizes, kinds)]
    return _empty_nd_impl(context, builder, signature.return_type, sizes)


@intrinsic
def _empty(typing_context, shape, dtype):
    def generate(context, builder, signature, arguments):
        return _allocate(context, builder, signature, arguments)._getvalue()

    return _array_of(shape, dtype)(shape, dtype), generate


@intrinsic
def _zeros(typing_context, shape, dtype):
    def generate(context, builder, signature, arguments):
        value = _allocate(context, builder, signature, arguments)._getvalue()
        array = make_array(signature.return_type)(context, builder, value)
        cgutils.memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
        return value

    return _array_of(shape, dtype)(shape, dtype), generate


#: ``empty_array(shape, np.float64)`` and ``zero_array(shape, np.float64)``, for a size or a tuple of sizes.
empty_array, zero_array = (np.empty, np.zeros) if config.DISABLE_JIT else (_empty, _zeros)
