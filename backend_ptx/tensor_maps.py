"""Which tensor maps a kernel needs: one for each array, box and swizzle that its bulk copies use.

A tensor map describes an array in global memory to TMA: base, extents, strides, box, swizzle. The launcher encodes it
into 128 bytes, which are a parameter of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.backend_ptx.layouts.bulk import BulkCopy, bulk_copy, inner_axis, part_of_slot
from tilewright.backend_ptx.ops.bulk import TmaLoad, TmaStore
from tilewright.tileir.core import Function, Value
from tilewright.tileir.dtypes import BY_IR, DType
from tilewright.tileir.rules import RuleTable

MAP_BYTES, MAP_ALIGN = 128, 64
MAPS: RuleTable[Callable[[Any, Sequence[Value]], TensorMapSpec]] = RuleTable("tensor map")


@dataclass(frozen=True, slots=True)
class TensorMapSpec:
    """How to encode a tensor map of array argument `argument`, whose elements are `dtype` (float32 where it is
    tfloat32, to which they are rounded on the way).

    Dimension k of the map, innermost (side by side in memory) first, is axis axes[k] of the array; an instruction
    copies box[k] elements of it. `swizzle` is the width of swizzled rows in bytes: 0 (none), 32, 64 or 128. Elements
    outside the array read as zero; the kernel writes the array if it is `stored`.
    """

    argument: int
    dtype: DType
    axes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    stored: bool = False

    def to_data(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {"argument": self.argument, "dtype": self.dtype.ir, "axes": self.axes, "box": self.box,
                "swizzle": self.swizzle, "stored": self.stored}

    @staticmethod
    def from_data(data: dict[str, Any]) -> TensorMapSpec:
        """The inverse of `to_data`. Raises KeyError or TypeError on anything else."""
        return TensorMapSpec(data["argument"], BY_IR[data["dtype"]], tuple(data["axes"]), tuple(data["box"]),
                             data["swizzle"], data["stored"])


def bulk_copy_of(op: TmaLoad) -> BulkCopy:
    """The instructions that a bulk copy takes in each block; their pieces are those of the block's part of the slot."""
    return bulk_copy(part_shape(op), _inner(op), op.array.type.dtype.bytes)


def box_copy_of(op: TmaStore) -> BulkCopy:
    """The instructions that one box of a bulk store takes."""
    return bulk_copy(op.box, _inner(op), op.array.type.dtype.bytes)


def part_shape(op: TmaLoad) -> tuple[int, ...]:
    """The shape of the part that each of `ctas` blocks copies."""
    if op.ctas == 1:
        return op.shape
    part = part_of_slot(op.shape, _inner(op), op.array.type.dtype.bytes, op.ctas)
    assert part is not None, f"{op.buffer.type} has no {op.ctas} parts"
    return part


def _inner(op: TmaLoad | TmaStore) -> int:
    inner = inner_axis(op.array.type, op.shape, op.steps, op.order)
    assert inner is not None, f"{op.array.type} cannot be copied by TMA"
    return inner


@MAPS.register(TmaLoad)
def tensor_map_spec(op: TmaLoad, params: Sequence[Value]) -> TensorMapSpec:
    """The map that a bulk copy uses; its array is one of the kernel's parameters."""
    return _spec(op, bulk_copy_of(op), params, stored=False)


@MAPS.register(TmaStore)
def stored_map_spec(op: TmaStore, params: Sequence[Value]) -> TensorMapSpec:
    """The map that a bulk store uses; its array is one of the kernel's parameters."""
    return _spec(op, box_copy_of(op), params, stored=True)


def _spec(op: TmaLoad | TmaStore, copy: BulkCopy, params: Sequence[Value], stored: bool) -> TensorMapSpec:
    axes, box = (tuple(values[k] for k in copy.dims) for values in (op.order, copy.box))
    return TensorMapSpec(params.index(op.array), op.buffer.type.dtype, axes, box, copy.swizzle, stored)


def find_tensor_maps(function: Function) -> tuple[TensorMapSpec, ...]:
    """The maps that a function needs, each once, in the order of their first use."""
    rules = ((op, MAPS.of(op)) for op in function.walk())
    return tuple(dict.fromkeys(rule(op, function.params) for op, rule in rules if rule is not None))
