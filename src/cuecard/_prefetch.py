"""Ask for a piece of memory before it is needed, from within a compiled loop."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cuecard._compiled import njit

#: A cache line has 64 bytes.
_LINE = 64


@intrinsic
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Load the cache line of an array's entry while other work continues; nothing is returned or changed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        # To be read (0), kept in all levels of the cache (3), as data (1).
        builder.call(call, [place, *(ir.Constant(number, n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@njit(cache=True, nogil=True, inline="always")
def prefetch_range(array: Any, first: int, last: int) -> None:
    """Prefetch the entries of a contiguous array from `first` up to `last`."""
    for t in range(first, last, _LINE // array.itemsize):
        prefetch(array, t)
