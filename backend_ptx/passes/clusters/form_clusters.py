"""Map each block to a cluster of CTAs that share operands: each CTA computes a sub-tile of each tile.

    before: %i: i32 = block_id(axis=0)                            // and the hint num_ctas=2
            %a: tile<256x64xbf16> = load(array=%x, index=(%i, %k), steps=(256, 64), ...)
            %b: tile<64x256xbf16> = load(array=%y, index=(%k, %j), ...)
            %d: tile<256x256xf32> = mma(a=%a, b=%b, acc=%c)
    after:  %0: i32 = block_id(axis=0)                            // the grid has twice as many CTAs along its axis 0
            %i: i32 = floordiv(lhs=%0, rhs=%two)
            %rank: i32 = mod(lhs=%0, rhs=%two)
            %1: i32 = %i * 2 + %rank
            %a: tile<128x64xbf16> = load(array=%x, index=(%1, %k), steps=(128, 64), ...)
            %b: tile<64x256xbf16> = load(array=%y, index=(%k, %j), ...)      // the same in both
            %d: tile<128x256xf32> = mma(a=%a, b=%b, acc=%c)

The accumulators of all MMAs are cut along one axis, with everything that depends on it (tileir/analysis/axes.py); the
rewriting is that of `cut_tiles`.
Values that are not cut are the same in all CTAs of a cluster, so these take the same branches and iterations.
`pipeline_loops` then lets each CTA load a part of a shared tile and multicast it. In a kernel without MMAs the largest
reduced tile is cut.
If it is cut along the axis of a reduction, CTAs exchange their partial results:

    before: %s: tile<1xf32> = reduce_sum(src=%x, axes=(1))             // %x: tile<1x65536xf32>
    after:  %0: tile<1xf32> = reduce_sum(src=%x, axes=(1))             // %x: tile<1x32768xf32>
            %1: tile<2x1xf32> = cluster_gather(src=%0, ctas=2)
            %s: tile<1xf32> = reduce_sum(src=%1, axes=(0))

CTAs that the hint asks for share the iterations of a loop that only adds up, in the place of its tiles:

    before: %s: tile<32xf32> = for(lower=%zero, upper=%n, step=%one, init=(%zeros)) .loop(...) { ... add(...) ... }
    after:  %0: tile<32xf32> = for(lower=%rank, upper=%n, step=%eight, init=(%zeros)) .loop(...) { ... add(...) ... }
            %1: tile<8x32xf32> = cluster_gather(src=%0, ctas=8)
            %s: tile<32xf32> = reduce_sum(src=%1, axes=(0))

`plan.cluster` holds the number of CTAs; the kernel's grid is that many times longer along axis 0. The hint `num_ctas`
gives the number. A launch of few blocks gives it for a loop that only adds up (`plan.shares`). Without it, a block maps
to a cluster only if the registers of one CTA cannot hold an accumulator or the largest reduced tile, or if a row in a
loop leaves no room for a second CTA on its SM; then so that four fit, if each waits for the others several times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.warpgroup import LEAST_COLUMNS, ROWS
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.backend_ptx.ops.units import units_of
from tilewright.backend_ptx.passes.matmul.choice import warpgroup_kind
from tilewright.backend_ptx.resources.occupancy import AIM, FEW_WARPS, FOUR, shared_of_cta
from tilewright.backend_ptx.resources.registers import OTHER, REGISTER_BYTES, narrowed
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.axes import Axes, Node
from tilewright.tileir.analysis.held_tiles import crossing_bytes, held
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.rows import Row, exchanged, rows_of
from tilewright.tileir.analysis.sums_of_loops import loop_of_sums
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.analysis.uses import viewed
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.layouts.flat import log2
from tilewright.tileir.ops.fold import ScanWith
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.passes.cut_tiles import Disorder, cut_tiles, disorder, unshare

# The hardware's limit for clusters that every GPU can place (CUDA programming guide, "Thread Block Clusters").
MOST = 8
# 32-bit words of a tile that one CTA holds: half of the registers, as other values need the rest.
WORDS = 32768
# The same of rows whose elements are moved one by one, and of those that are scanned (a thread holds what it reads
# beside what it writes), if they are longer than twice that: more warps then wait for fewer words each. On an H100, of
# a copy's rate: softmax of 50257 bfloat16 columns by 2, 4 and 8 CTAs 0.55, 0.64, 0.74, of 20001 by 1, 2 and 4 0.69,
# 0.58, 0.73, of 10001 by 1 and 2 0.76, 0.71; RMS norm 0.64, 0.73, 0.80; 0.78, 0.68, 0.78; 0.84, 0.72; running sums of
# 65536 columns by 4 and 8 0.97, 0.99, of float32 0.89, 0.99, of 32768 of float32 by 2 and 4 0.96, 0.99.
WORDS_SHORT = 8192
# Rows in a loop: slots of a ring with which two CTAs hide what each waits for, and elements in a thread. Softmax of
# 32768 and 65536 bfloat16 columns on an H100: 1.01 and 0.99 of the rate without a loop, with three slots of 32 KiB;
# 0.99 and 0.97 with 64 KiB, spilled, where no ring fits. Layer norm of them 0.945 and 0.92 of a copy's rate with its
# weights in registers, 0.92 and 0.90 where each iteration loads them; of 32768 float32 ones 0.94 and 0.96.
SLOTS, OF_ROW = 3, 32
# The most elements that each CTA sends to the others: more cost more time than the cluster saves.
EXCHANGED = 1024


def form_clusters(c: Compilation) -> Preserved:
    """Changes shapes, so it comes before the passes that read them; after `widen_reductions`."""
    function, target = c.function, c.target
    products = [op for op in function.walk() if isinstance(op, Mma)]
    rows = rows_of(function)
    wanted: int | None = c.hints.num_ctas
    needed, why = _needed(c, products, rows), decisions.REGISTERS_DO_NOT_HOLD
    beside = None
    if wanted is not None:
        needed, why = min(wanted, MOST), decisions.CTAS_ASKED
    elif not products and (parts := _for_several(c, rows, needed))[0] > needed:
        (needed, beside), why = parts, decisions.FIT.format("four" if parts[1] else "two")
    loop = None if products or not target.has_cluster else loop_of_sums(c, MOST, EXCHANGED)
    if needed == 1:
        c.plan.shares = loop is not None and wanted is None
        if c.plan.shares:
            c.decide(decisions.SHARED)
        return ALL
    unshare(function)
    c.forget()
    chosen = {} if loop is not None and wanted is not None else _cut(function, products, rows, needed, target)
    if not isinstance(chosen, str):
        found = disorder(c, chosen)
        chosen = chosen if found is None else _told(found)
    if not isinstance(chosen, str):
        shared = None if chosen else loop
        cut_tiles(c, chosen, needed, lambda part: ClusterGather(src=part, ctas=needed), even=True, shared=shared)
        c.plan.cluster = needed
        function.hints = replace(c.hints, occupancy=beside or c.hints.occupancy)  # as `choose_warps` does
        c.decide(decisions.cluster(needed, why))
    elif wanted is not None:
        c.decide(decisions.no_cluster(chosen))
    return NONE


def _told(found: Disorder) -> str:
    op, memory = found
    if memory is None:
        return decisions.ORDERS_WHOLE_BLOCK.format(op.opcode, op.span.line)
    return decisions.ACCESSED_IN_TWO_WAYS.format(memory.hint or decisions.AN_ARRAY, op.opcode, op.span.line)


def _needed(c: Compilation, products: Sequence[Mma], rows: Sequence[Row]) -> int:
    """How many CTAs hold the largest accumulator, or the largest reduced tile."""
    if not c.target.has_cluster or (products and not all(warpgroup_kind(op, c.target) for op in products)):
        return 1
    tiles = [op.acc.type for op in products] or [row.tile.type for row in rows]
    words = max((t.size * max(4, t.dtype.bytes) // 4 for t in tiles), default=0)
    limit = 2 if products else MOST
    if words > limit * WORDS:
        return 1
    short = not products and words > 2 * WORDS_SHORT and (
        moves_elements(c.function) or any(isinstance(row.op, ScanWith) for row in rows))
    most = WORDS_SHORT if short else WORDS
    return min(limit, 1 << (words - 1).bit_length() - log2(most)) if words > most else 1


def _for_several(c: Compilation, rows: Sequence[Row], needed: int) -> tuple[int, int | None]:
    """Into how many CTAs a row in a loop is cut, and how many of them share an SM, where these are more than two: twice
    as many, of half the warps, where four with rings fit and an iteration reduces rows more than once. Each time it
    waits for the whole cluster, while the other three run. On an H200, of a copy's rate with two and four: softmax of
    65536 bfloat16 columns 0.89 and 0.94, of 40000 0.72 and 0.83, of 32768 float32 ones 0.93 and 0.96, layer norm of
    32768 0.90 and 0.91; with one reduction RMS norm of 32768 float32 columns 0.96 and 0.94, running sums of 12288 0.90
    and 0.87."""
    ctas, loops = _for_two(c, rows, needed), _reduced_in_loops(c, rows)
    free = c.hints.occupancy is None and c.hints.num_worker_warps is None and c.limits.cap_registers
    several = free and max(Counter(loops).values(), default=0) > 1 and needed <= ctas and 1 < ctas < MOST
    if several and _loaded(loops) * SLOTS <= 2 * ctas * shared_of_cta(FOUR, c.target):
        return 2 * ctas, FOUR
    return ctas, None


def _for_two(c: Compilation, rows: Sequence[Row], needed: int) -> int:
    """Into how many CTAs a row that a loop loads and reduces is cut, so that two of them with rings fit an SM. Where
    registers do not hold the tiles of two: so that they do, if weights that stay leave none for rows (of `needed`
    CTAs), and an SM then has more than FEW_WARPS; else 1."""
    looped = _reduced_in_loops(c, rows)
    if not c.target.has_cluster or not looped:
        return 1
    parts = max(1, -(-_loaded(looped) * SLOTS // shared_of_cta(AIM, c.target)))
    of_two = WORDS * REGISTER_BYTES // AIM
    if crossing_bytes(c.function, held) >> (parts - 1).bit_length() > of_two:
        kept = crossing_bytes(c.function, lambda value: narrowed(viewed(value)))
        each = OTHER + OF_ROW * kept // (REGISTER_BYTES * max(row.tile.type.size for row in rows))
        pays = kept > needed * AIM * of_two and c.target.registers_per_sm // (32 * each) > FEW_WARPS
        parts = -(-kept // of_two) if pays else 1
    ctas = 1 << (parts - 1).bit_length()
    return ctas if ctas <= MOST else 1


def _reduced_in_loops(c: Compilation, rows: Sequence[Row]) -> list[Block]:
    """For each row that a loop reduces the block that does."""
    return [c.homes[row.op] for row in rows if any(outer.repeats for outer in c.around(row.op))]


def _loaded(blocks: Sequence[Block]) -> int:
    """The most bytes that one of them loads."""
    sums: list[int] = [sum(op.result.type.bytes for op in block.ops if isinstance(op, Load) and op.latency != 1)
                       for block in blocks]
    return max(sums)


def _cut(function: Function, products: Sequence[Mma], rows: Sequence[Row], ctas: int,
         target: Target) -> dict[Value, int] | str:
    """The tiles to cut, each with its axis; or why none can be cut."""
    if not target.has_cluster:
        return decisions.NO_CLUSTERS.format(target.name)
    if products:
        return _refusal(products, target) or _cut_products(Axes(function, ctas), products)
    if rows:
        return _cut_rows(Axes(function, ctas, exchange=True), rows)
    return decisions.NOTHING_TO_SHARE


def _refusal(products: Sequence[Mma], target: Target) -> str | None:
    """Why CTAs of a cluster cannot share operands."""
    if not (target.has_tma and any(unit.reads_shared for unit in units_of(target))):
        return decisions.NO_SHARED_OPERANDS.format(target.name)
    if not all(warpgroup_kind(op, target) for op in products):
        return decisions.NOT_BY_WARPGROUPS
    return None


def _cut_products(axes: Axes, products: Sequence[Mma]) -> dict[Value, int] | str:
    """Cut every accumulator along one of its axes."""
    chosen: dict[Value, int] = {}
    for product in sorted(products, key=lambda op: -op.acc.type.size):
        if product.acc in chosen:
            continue
        found = [axes.component((product.acc, axis)) for axis in _preferred(product, axes.count)]
        reasons = [_conflict(nodes, chosen, axes) for nodes in found]
        if None not in reasons:
            return next(filter(None, reasons), decisions.ACCUMULATORS_TOO_SMALL.format(axes.count))
        chosen.update(found[reasons.index(None)])
    return chosen


def _cut_rows(axes: Axes, rows: Sequence[Row]) -> dict[Value, int] | str:
    """Cut the largest reduced tile, along the axis for which CTAs exchange least."""
    largest = max((row.tile for row in rows), key=lambda v: v.type.size)
    long = [axis for axis, length in enumerate(largest.type.shape) if length >= axes.count]
    found = [axes.component((largest, axis)) for axis in long]
    reasons = [_conflict(nodes, {}, axes) for nodes in found]
    usable = [dict(nodes) for nodes, reason in zip(found, reasons, strict=True) if reason is None]
    if not usable:
        return next(filter(None, reasons), decisions.TILES_TOO_SMALL.format(axes.count))
    best = min(usable, key=lambda chosen: exchanged(chosen, rows))
    count = exchanged(best, rows)
    return best if count <= EXCHANGED else decisions.TOO_MUCH_TO_EXCHANGE.format(count)


def _preferred(op: Mma, ctas: int) -> Iterator[int]:
    """The axes along which the accumulator can be cut, longer ones first."""
    rank = len(op.acc.type.shape)
    m, n = op.acc.type.shape[-2:]
    usable = [(m, rank - 2)] if m // ctas >= ROWS else []
    usable += [(n, rank - 1)] if n // ctas >= LEAST_COLUMNS else []
    yield from (axis for _, axis in sorted(usable, key=lambda u: -u[0]))


def _conflict(nodes: list[Node], chosen: dict[Value, int], axes: Axes) -> str | None:
    """Why these nodes cannot be cut in addition to those already chosen."""
    found = axes.conflict(nodes, chosen)
    if isinstance(found, Op):
        return decisions.NEEDS_WHOLE_TILE.format(found.opcode, found.span.line)
    return None if found is None else decisions.CUT_ALONG_TWO_AXES.format(found.hint or decisions.A_TILE)
