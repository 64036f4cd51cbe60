"""Spread each block over a cluster of hardware blocks (CTAs), which share operands: each computes a part of the tiles.

    before: %i: i32 = block_id(axis=0)                            // and the hint num_ctas=2
            %a: tile<256x64xbf16> = load(array=%x, index=(%i, %k), steps=(256, 64), ...)
            %b: tile<64x256xbf16> = load(array=%y, index=(%k, %j), ...)
            %d: tile<256x256xf32> = mma(a=%a, b=%b, acc=%c)
    after:  %0: i32 = block_id(axis=0)                            // the grid has twice as many blocks along its axis 0
            %i: i32 = floordiv(lhs=%0, rhs=%two)
            %rank: i32 = mod(lhs=%0, rhs=%two)
            %1: i32 = %i * 2 + %rank
            %a: tile<128x64xbf16> = load(array=%x, index=(%1, %k), steps=(128, 64), ...)
            %b: tile<64x256xbf16> = load(array=%y, index=(%k, %j), ...)      // the same in both
            %d: tile<128x256xf32> = mma(a=%a, b=%b, acc=%c)

The accumulators of all products are cut along one axis, with all that depends on it (see cluster_axes); what is not cut
is the same in all blocks of a cluster, so they take the same branches and rounds. `ring_loads` then lets each bring a
part of a shared tile and give it to all. The option `cluster` holds the number of blocks; the result is an ordinary
kernel for a grid that is so many times longer along its axis 0.

As the hint `num_ctas` asks; without it where one block's registers cannot hold an accumulator and two blocks' can.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.backend_ptx.layouts.warpgroup import LEAST_COLUMNS, ROWS
from tilewright.backend_ptx.passes.cluster_axes import Axes, Node
from tilewright.backend_ptx.passes.cluster_order import keeps_order
from tilewright.backend_ptx.passes.cluster_rewrite import Parts
from tilewright.backend_ptx.passes.layout_classes import is_tile
from tilewright.backend_ptx.passes.select_instructions import warpgroup_kind
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.shape import Iota

OPTION, REASON = "cluster", "cluster_reason"
HINT = "num_ctas"
# The hardware's limit for clusters that every GPU can place (CUDA programming guide, "Thread Block Clusters").
MOST = 8
# 32-bit words of an accumulator that one block holds beside what else it needs: half of the registers.
WORDS = 32768


def form_clusters(function: Function, target: Target) -> None:
    """Changes shapes, so it comes before every pass that reads them."""
    wanted: int | None = function.options.get(HINT)
    products = [op for op in function.walk() if isinstance(op, Mma)]
    if wanted == 1 or wanted is None and not _needs_two(products, target):
        return
    ctas = min(wanted or 2, MOST)
    refused = _refusal(products, target) or _form(function, products, ctas)
    if refused is None:
        why = "an accumulator fills the registers of one" if wanted is None else f"as {HINT} asks"
        function.options[OPTION], function.options[REASON] = ctas, why
    elif wanted is not None:
        function.options[OPTION], function.options[REASON] = 1, f"{HINT} has no effect: {refused}"


def _needs_two(products: list[Mma], target: Target) -> bool:
    """Whether the accumulator of some product fits two blocks and not one."""
    words = [op.acc.type.size * max(4, op.acc.type.dtype.bytes) // 4
             for op in products if target.has_cluster and warpgroup_kind(op, target)]
    return bool(words) and WORDS < max(words) <= 2 * WORDS


def _refusal(products: list[Mma], target: Target) -> str | None:
    """Why blocks of a cluster could not share operands."""
    if not (target.has_cluster and target.has_tma and target.has_wgmma):
        return f"{target.name} has no products that read operands which a cluster shares"
    if not products:
        return "there is no product, whose operands blocks could share"
    if not all(warpgroup_kind(op, target) for op in products):
        return "a product is not computed by wgmma, which alone reads operands that a cluster shares"
    return None


def _form(function: Function, products: list[Mma], ctas: int) -> str | None:
    """Cut the function; None, or why that is not possible (the function then means what it did)."""
    _unshare(function.body, set())
    axes = Axes(function, ctas)
    chosen: dict[Value, int] = {}
    for product in sorted(products, key=lambda op: -op.acc.type.size):
        if product.acc in chosen:
            continue
        reasons = []
        for axis in _preferred(product, ctas):
            found = axes.component((product.acc, axis))
            reason = _conflict(found, chosen, axes)
            if reason is None:
                chosen.update(found)
                break
            reasons.append(reason)
        else:
            return reasons[0] if reasons else f"{ctas} parts of an accumulator would be too small for wgmma"
    refused = keeps_order(function, chosen)
    if refused is None:
        Parts(function, chosen, ctas).run()
    return refused


def _preferred(op: Mma, ctas: int) -> Iterator[int]:
    """The axes along which the accumulator can be cut, the longer first."""
    rank = len(op.acc.type.shape)
    m, n = op.acc.type.shape[-2:]
    usable = [(m, rank - 2)] if m // ctas >= ROWS else []
    usable += [(n, rank - 1)] if n // ctas >= LEAST_COLUMNS else []
    yield from (axis for _, axis in sorted(usable, key=lambda u: -u[0]))


def _conflict(nodes: list[Node], chosen: dict[Value, int], axes: Axes) -> str | None:
    """Why these nodes cannot be cut beside what is chosen already."""
    own = dict(chosen)
    for value, axis in nodes:
        hindrance = axes.hindrance((value, axis))
        if hindrance is not None:
            return f"{hindrance.opcode} in line {hindrance.span.line} needs the whole tile"
        if own.setdefault(value, axis) != axis:
            return f"{value.hint or 'a tile'} would have to be cut along two axes"
    return None


def _unshare(block: Block, used: set[Value]) -> None:
    """Give every use of a constant or count its own copy, in front of the user: one may be cut, another not."""
    ops: list[Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _unshare(inner, used)

        def own(value: Value) -> Value:
            if not is_tile(value) or not isinstance(value.op, (Constant, Iota)):
                return value
            if value not in used:
                used.add(value)
                return value
            ops.append(value.op.clone({}))
            return ops[-1].result

        op.map_operands(own)
        ops.append(op)
    block.ops = ops
