"""The grid, tile counts, array views and lists."""

from __future__ import annotations

from tilewright.frontend.attributes import extent
from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.memory import access_shape, array_arg, axes_text, axis_order
from tilewright.frontend.calls.options import axis_of, bad, integer, integer_hints, member
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.promotion import cast, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import RawMemory, TiledView, Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arrays as ops
from tilewright.tileir.types import ArrayType


def _grid_axis(op: str, axis: Val) -> int:
    n = integer(op, "axis", axis)
    if n not in (0, 1, 2):
        raise bad(op, "axis", f"is {n}, but a grid has the axes 0, 1 and 2",
                  hints=["put two counts into one axis: i = ct.bid(0) // n, j = ct.bid(0) % n"])
    return n


@call_rule("bid")
def bid(t: Translator, axis: Val) -> Val:
    return t.emit(ops.BlockId, axis=_grid_axis("bid", axis))


@call_rule("num_blocks")
def num_blocks(t: Translator, axis: Val) -> Val:
    return t.emit(ops.NumBlocks, axis=_grid_axis("num_blocks", axis))


@call_rule("num_tiles")
def num_tiles(t: Translator, array: Val, /, axis: Val, shape: Val, order: Val = "C") -> Val:
    array = array_arg("num_tiles", array)
    rank = array.type.rank
    _, full = access_shape("num_tiles", shape, rank)
    k = axis_of("num_tiles", "axis", axis, rank)
    return count_tiles(t, array, axis_order("num_tiles", order, rank)[k], full[k])


def count_tiles(t: Translator, array: Value, axis: int, step: int) -> Value:
    """ceil(extent / step) as an int32 scalar."""
    length = extent(t, array, axis)
    count = binary(t, "cdiv", length, step) if step != 1 else length
    return typed(t, count, int32)


@call_rule("assume_divisible_by")
def assume_divisible_by(t: Translator, x: Val, divisor: Val) -> Val:
    op = "assume_divisible_by"
    n = integer(op, "divisor", divisor)
    if n < 1:
        raise bad(op, "divisor", f"is {n}, expected 1 or more")
    constant = known(x)
    if isinstance(constant, int):
        if constant % n:
            raise bad(op, "x", f"is {constant}, which {n} does not divide")
        return x
    if not is_tile(x) or x.type.shape or not x.type.dtype.is_int:
        raise bad(op, "x", f"must be an integer scalar, got {named(x)}", hints=integer_hints(x))
    return t.emit(ops.AssumeDivisible, src=x, divisor=n)


@call_rule("Array.slice")
def slice_array(t: Translator, array: Val, /, axis: Val, start: Val, stop: Val) -> Val:
    array = array_arg("slice", array)
    old: ArrayType = array.type
    k = axis_of("slice", "axis", axis, old.rank)
    first, last = (_bound(t, name, v, old, k) for name, v in (("start", start), ("stop", stop)))
    low, high = known(start), known(stop)
    length = None
    if isinstance(low, int) and isinstance(high, int):
        length = int(high) - int(low)
        if length < 0:
            raise bad("slice", "stop", f"is {high}, less than start, which is {low}",
                      hints=["stop is a position as start is, not a length"])
    extents = tuple(length if i == k else n for i, n in enumerate(old.extents))
    divisors = tuple(1 if i == k else n for i, n in enumerate(old.extent_div))
    constant_axes = {*old.declared[0]} - {k} | ({k} if length is not None else set())
    # The base moves by start * stride elements; without facts on both only the alignment of an element is sure.
    view = ArrayType(
        old.dtype, extents, old.strides, divisors, old.stride_div, align=_view_alignment(old, k, low),
        disjoint=old.disjoint, small=old.small, index=old.index,
        declared=(tuple(sorted(constant_axes)), old.declared[1]),
    )
    return t.emit(ops.SliceArray, array=array, start=first, stop=last, axis=k, type=view)


def _bound(t: Translator, name: str, value: Val, array: ArrayType, axis: int) -> Value:
    constant = known(value)
    if isinstance(constant, int) and not isinstance(constant, bool):
        if constant < 0:
            raise bad("slice", name, f"is {constant}; positions count from the start of the axis",
                      hints=[f"write a.shape[axis] - {-constant}"])
        extent = array.extents[axis]
        if constant > (array.index.int_range[1] if extent is None else extent):
            end = "positions of the array are int32" if extent is None else f"axis {axis} has {extent} elements"
            raise bad("slice", name, f"is {constant}, but {end}", hints=["stop is at most a.shape[axis]"])
    scalar = is_tile(value) and not value.type.shape and value.type.dtype.is_signed
    if (not scalar and not isinstance(value, int)) or isinstance(value, bool):
        raise bad("slice", name, f"must be a signed integer scalar, got {named(value)}", hints=integer_hints(value))
    if is_loose(value):
        return typed(t, value, array.index)
    # A wider scalar stays as it is: what it loses in a conversion could not be reported.
    return value if value.type.dtype.bitwidth > array.index.bitwidth else cast(t, value, array.index)


def _view_alignment(array: ArrayType, axis: int, start: bool | int | float | None) -> int:
    """Bytes to which the base of a view that starts at `start` is certainly aligned."""
    step = (array.strides[axis] or array.stride_div[axis]) * array.dtype.bytes
    offset = step * (int(start) if start is not None else 1)
    if not offset:
        return array.align
    return min(array.align, max(offset & -offset, array.dtype.bytes))


@call_rule("Array.tiled_view")
def tiled_view(
    t: Translator, array: Val, /, tile_shape: Val, *, padding_mode: Val = PaddingMode.UNDETERMINED,
    traversal_steps: Val = None,
) -> Val:
    array = array_arg("tiled_view", array)
    seen, full = access_shape("tiled_view", tile_shape, array.type.rank, "tile_shape")
    steps = full
    if traversal_steps is not None:
        given = traversal_steps if isinstance(traversal_steps, tuple) else (traversal_steps,)
        steps = tuple(integer("tiled_view", "traversal_steps", s) for s in given)
        if len(steps) != len(full):
            raise bad("tiled_view", "traversal_steps",
                      f"has {len(steps)} entries, but the array has {axes_text(len(full))}")
        if min(steps, default=1) < 1:
            raise bad("tiled_view", "traversal_steps", f"is {steps}; steps are positive",
                      hints=["leave it out to step by the tile's shape"])
    return TiledView(array, seen, steps, member("tiled_view", "padding_mode", padding_mode, PaddingMode))


@call_rule("Array.get_raw_memory")
def get_raw_memory(t: Translator, array: Val, /) -> Val:
    return RawMemory(array_arg("get_raw_memory", array))


@call_rule("grid_dependency_control_wait")
def grid_dependency_control_wait(t: Translator) -> None:
    """Nothing: the backend waits where the first access is."""


@call_rule("grid_dependency_control_launch_dependents")
def grid_dependency_control_launch_dependents(t: Translator) -> None:
    """Nothing: a hint."""
