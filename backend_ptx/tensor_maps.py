"""Which tensor maps a kernel needs: one for each array, box and swizzle that its bulk copies use.

A tensor map describes an array in global memory to TMA: base, extents, strides, box, swizzle. The launcher encodes it
into 128 bytes, which are a parameter of the kernel. Of a list of arrays it encodes one for each array, into a table in
global memory that the kernel indexes as it indexes the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from tilewright.backend_ptx.layouts.bulk import BulkCopy, bulk_copy, inner_axis, part_of_slot
from tilewright.backend_ptx.ops.bulk import TmaLoad, TmaStore
from tilewright.tileir.core import Function, Value
from tilewright.tileir.dtypes import BY_IR, DType
from tilewright.tileir.ops.arrays import ListItem
from tilewright.tileir.rules import RuleTable

MAP_BYTES, MAP_ALIGN = 128, 64


@dataclass(frozen=True, slots=True)
class TensorMapSpec:
    """How to encode a tensor map of array argument `argument`, whose elements are `dtype` (float32 where it is
    tfloat32, to which they are rounded on the way).

    Dimension k of the map, innermost (side by side in memory) first, is axis axes[k] of the array; an instruction
    copies box[k] elements of it. `swizzle` is the width of swizzled rows in bytes: 0 (none), 32, 64 or 128. Elements
    outside the array read as zero; the kernel writes the array if it is `stored`. With `table` the argument is a list,
    each of whose arrays has such a map.
    """

    argument: int
    dtype: DType
    axes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    stored: bool = False
    table: bool = False

    @staticmethod
    def from_data(data: dict[str, Any]) -> TensorMapSpec:
        """From the fields as JSON has them. Raises KeyError or TypeError on anything else."""
        decoded = {"dtype": BY_IR[data["dtype"]], "axes": tuple(data["axes"]), "box": tuple(data["box"])}
        return TensorMapSpec(**{**data, **decoded})


def copy_of(op: TmaLoad | TmaStore) -> BulkCopy:
    """The instructions that a load takes in each CTA (their pieces are those of its part of the slot), or one TMA box
    of a store."""
    return bulk_copy(SHAPES[type(op)](op), _inner(op), op.array.type.dtype.bytes)


def part_shape(op: TmaLoad) -> tuple[int, ...]:
    """The shape of the part that each of `ctas` blocks copies."""
    if op.ctas == 1:
        return op.shape
    part = part_of_slot(op.shape, _inner(op), op.array.type.dtype.bytes, op.ctas)
    assert part is not None, f"{op.buffer.type} has no {op.ctas} parts"
    return part


SHAPES: RuleTable[Callable[[Any], tuple[int, ...]]] = RuleTable(
    "shape of a bulk copy", {TmaLoad: part_shape, TmaStore: lambda op: op.box})


def _inner(op: TmaLoad | TmaStore) -> int:
    inner = inner_axis(op.array.type, op.shape, op.steps, op.order)
    assert inner is not None, f"{op.array.type} cannot be copied by TMA"
    return inner


class Described(NamedTuple):
    """The parameter that the tensor maps of an array belong to, and the array's place in it where that is a list."""

    param: Value
    entry: Value | None = None


def described(array: Value, params: Sequence[Value]) -> Described | None:
    """Whose tensor map describes an array. None for what the launch cannot see: an array that a loop carries, or that a
    branch chooses."""
    op = array.op
    found = Described(op.list, op.index) if isinstance(op, ListItem) else Described(array)
    return found if found.param in params else None


def tensor_map_spec(op: TmaLoad | TmaStore, params: Sequence[Value]) -> TensorMapSpec:
    """The map that a bulk copy uses; its array is one of the kernel's parameters, or an entry of a list among them."""
    copy, stored = copy_of(op), op.array in op.effects().writes
    axes, box = (tuple(values[k] for k in copy.dims) for values in (op.order, copy.box))
    found = described(op.array, params)
    assert found is not None, f"{op.opcode}: the launch does not see {op.array.type}"
    return TensorMapSpec(params.index(found.param), op.buffer.type.dtype, axes, box, copy.swizzle, stored,
                         found.entry is not None)


def find_tensor_maps(function: Function) -> tuple[TensorMapSpec, ...]:
    """The maps that a function needs, each once, in the order of their first use."""
    copies = (op for op in function.walk() if SHAPES.of(op) is not None)
    return tuple(dict.fromkeys(tensor_map_spec(cast("TmaLoad | TmaStore", op), function.params) for op in copies))
