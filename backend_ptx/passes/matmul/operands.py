"""Where wgmma reads its operands: from shared memory or registers, and along which axis a buffer is dense.

B is always in shared memory. A goes there if it is loaded and only permuted. If threads compute A (from an MMA's
result, or by dequantising a tile), or read it as the unit cannot, it stays in their registers and needs no shared
memory of its own.
"""

from __future__ import annotations

from tilewright.backend_ptx.layouts.bulk import bulk_layout
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.layouts.warpgroup import in_order_of_sums
from tilewright.backend_ptx.ops.matmul import Product, left_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.tileir.analysis.moved import MOST_STEPS, Axes, axes_of, is_moved_only, load_of, moved_axes
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import OFFSET
from tilewright.tileir.layouts.queries import vector_along
from tilewright.tileir.types import SharedType


def slot_of(stage: Stage, shape: tuple[int, ...]) -> Layout:
    """The shared layout of the tile that `source_of` finds, of this shape, of which the operand is a view."""
    wanted: Layout = stage.result.type.layout
    bases = []
    for basis in wanted.bases(OFFSET):
        place = [0] * len(shape)
        for axes, part in zip(axes_of(stage.src), basis, strict=True):
            for axis in reversed(axes):
                part, place[axis] = divmod(part, shape[axis])
        bases.append(place)
    return Layout({OFFSET: bases}, shape)


def staged_type(op: Product, value: Value, inner_if_free: int) -> SharedType:
    """The type of the buffer for an MMA's operand. For dtypes that tensor cores can transpose, its dense axis is that
    of the array it is loaded from, else the axis along which threads hold several elements. Otherwise it is k, given as
    `inner_if_free`."""
    type_ = value.type
    inner = None
    if op.unit.transposes(op):
        inner = dense_axis(value)
        inner = _held_axis(value) if inner is None else inner
    inner = inner_if_free if inner is None else inner
    layout = bulk_layout(type_.shape, inner, type_.dtype.bytes)
    if getattr(op, "k_of_sums", False):
        layout = in_order_of_sums(layout, inner)
    return SharedType(type_.dtype, type_.shape, layout=layout)


def holds_a(unit: Unit, op: Product) -> bool:
    """Whether threads hold the A of a unit that reads it from shared memory and from registers: they compute it, or it
    lies along m, where the unit does not read it. What is computed before the loop of the MMA goes to shared memory
    (queries times their scale, or of several heads in the rows of a tile): ptxas 13.0 and driver 580 give its registers
    to the A of another MMA of the loop, which overwrites it, and where CTAs share an SM, each has few."""
    if not op.unit.a_anywhere or getattr(op, "rows_in_pairs", False):
        return op.unit.a_anywhere
    loops = {outer for outer in unit.around(op) if outer.repeats}
    before = op.a.op is not None and not loops <= set(unit.around(op.a.op))
    return not is_moved_only(op.a) and not before


def is_of_sums(value: Value, steps: int = MOST_STEPS) -> bool:
    """Whether a tile is computed element by element from the result of an MMA."""
    op = value.op
    if isinstance(op, Product):
        return True
    return op is not None and op.elementwise and steps > 0 and any(is_of_sums(v, steps - 1) for v in op.operands)


def dense_axis(value: Value) -> int | None:
    """The axis of a tile along which the array that it is loaded from is dense."""
    load, path = load_of(value)
    if load is None:
        return None
    access = tile_access(load.array.type, load.order, load.steps, load.shape)
    axes: Axes = [(axis,) for axis in range(len(load.shape))]
    for op in reversed(path):
        axes = moved_axes(op, axes)
    dense = access.order[:1]
    return axes.index(dense) if access.contiguous and dense in axes else None


def _held_axis(value: Value) -> int | None:
    """The axis along which a thread holds the most neighbours, so that it stores whole vectors."""
    layout = value.type.layout
    if layout is None:
        return None
    widths = [vector_along(layout, axis) for axis in range(len(value.type.shape))]
    return widths.index(max(widths)) if max(widths) > 1 else None


def still_read(unit: Unit) -> set[Op]:
    """The stages in loops whose MMA no wait has covered when the next iteration begins."""
    def is_complete(product: Op, block: Block) -> bool:
        """Whether an MMA of this block is complete at the block's end."""
        after = block.ops[block.ops.index(product):] if unit.homes[product] is block else []
        return any(left_outstanding(op) == 0 for op in after)

    stages = unit.function.walk() if unit.has(Stage) else ()
    return {op for op in stages if isinstance(op, Stage) and any(outer.repeats for outer in unit.around(op))
            and not all(is_complete(user, unit.homes[op]) for user in unit.uses.get(op.result, []))}
