"""The compilation of `rows.prefetch` to the processor's prefetch instruction."""

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import types
from numba.np import arrayobj

from bestbefore.replay.kernels.arrays.rows import prefetch
from bestbefore.replay.kernels.compilable import leave_compilable

# Some versions of numba have types and others not; none knows of all that is used here.
_extending: Any = extending
_arrays: Any = arrayobj
_INT = ir.IntType(32)
_READ, _KEEP, _DATA = _INT(0), _INT(3), _INT(1)


def make_prefetch_compilable() -> None:
    """Register `prefetch` for compiled code."""
    leave_compilable(prefetch)
    _extending.overload(prefetch, inline="always")(_choose)


def _choose(column: Any, place: Any) -> Any:  # noqa: ARG001
    def load(column: Any, place: Any) -> Any:
        _instruction(column, place)

    return load


def _typed(_: Any, column: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        array = _arrays.make_array(column)(context, builder, arguments[0])
        row = context.cast(builder, arguments[1], place, types.intp)
        stride = builder.extract_value(array.strides, 0)
        address = builder.add(builder.ptrtoint(array.data, stride.type), builder.mul(row, stride))
        pointer = builder.inttoptr(address, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
        load = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(load, [pointer, _READ, _KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(column, place), generate


_instruction: Any = _extending.intrinsic(_typed)
