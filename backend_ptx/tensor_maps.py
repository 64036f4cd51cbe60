"""Which tensor maps a kernel needs: one for each array, box and swizzle that its bulk copies use.

A tensor map describes an array in global memory to TMA: base, extents, strides, box, swizzle. The launcher encodes it
into 128 bytes, which are a parameter of the kernel. Of a list of arrays it encodes one for each array, into a table in
global memory that the kernel indexes as it indexes the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.bulk import MAX_RANK, BulkCopy, bulk_copy, inner_axis, part_of_slot, tma_refusal
from tilewright.backend_ptx.map_records import TensorMapSpec
from tilewright.backend_ptx.ops.bulk import TmaLoad, TmaStore
from tilewright.tileir.analysis.described import Described, described
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.core import Function, Value
from tilewright.tileir.rules import RuleTable


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


def refusal(access: Any, shape: Sequence[int], steps: Sequence[int], found: Described, facts: Facts) -> str | None:
    """Why bulk copies cannot carry the tile of a load or store (`access`, which has `index` and `order`), or a part of
    it of this shape at multiples of these steps."""
    array, order = found.root.type, access.order
    refused = tma_refusal(array, tuple(shape), tuple(steps), order)
    if refused or not found.slices:
        return refused
    inner = inner_axis(array, tuple(shape), tuple(steps), order)
    if inner is not None and order[inner] in found.sliced:
        return decisions.SLICED_ALONG_ROWS
    if (rank := len(shape) + 2 * len(found.clips)) > MAX_RANK:
        return decisions.RANK_OF_TENSOR_MAPS.format(rank, MAX_RANK)
    cut = [k for k, axis in enumerate(order) if axis in found.sliced and steps[k] < shape[k]]
    # A box that begins before the slice and ends in it would show what is before.
    return decisions.BEFORE_SLICE if any(facts[access.index[k]].low < 0 for k in cut) else None


def tensor_map_spec(op: TmaLoad | TmaStore, params: Sequence[Value]) -> TensorMapSpec:
    """The map that a bulk copy uses; its array is one of the kernel's parameters, or an entry of a list among them."""
    copy, stored = copy_of(op), op.array in op.effects().writes
    axes, box = (tuple(values[k] for k in copy.dims) for values in (op.order, copy.box))
    found = described(op.array, params)
    assert found is not None, f"{op.opcode}: the launch does not see {op.array.type}"
    return TensorMapSpec(params.index(found.param), op.buffer.type.dtype, axes, box, copy.swizzle, stored,
                         found.entry is not None, found.clips)


def find_tensor_maps(function: Function) -> tuple[TensorMapSpec, ...]:
    """The maps that a function needs, each once, in the order of their first use."""
    copies = (op for op in function.walk() if SHAPES.of(op) is not None)
    return tuple(dict.fromkeys(tensor_map_spec(cast("TmaLoad | TmaStore", op), function.params) for op in copies))
