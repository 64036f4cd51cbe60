"""Choose the number of warps per CTA.

    before: func @add(...) { ... }
    after:  func @add(...) plan(warps=4) { decision num_warps = 4, "the largest tile has 1024 elements ..."; ... }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.memory import VECTOR_BYTES
from tilewright.backend_ptx.ops.matmul import MmaFma, Product, padded
from tilewright.backend_ptx.resources.occupancy import AIM, FOUR, IN_FLIGHT, resident, shared_of_cta
from tilewright.backend_ptx.resources.pipes import FMA, MUFU, TENSOR, Bound, bounds
from tilewright.backend_ptx.resources.registers import ADDRESSES, OTHER, REGISTER_BYTES, STRIP, narrowed
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.held_tiles import crossing_bytes, held, live_tile_bytes, peak_tile_bytes
from tilewright.tileir.analysis.live import taken
from tilewright.tileir.analysis.moved import is_moved_only, source_of
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.places import late_loads
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.analysis.uses import viewed
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.layouts.flat import log2
from tilewright.tileir.ops.arith import Add
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.fold import Fold, ScanWith
from tilewright.tileir.ops.memory import Load, TileAccess

USUAL = 4
# Teams of warps that run blocks in turns; slots of full rings; columns of an MMA from which on its operands take shared
# memory less time than the tensor cores.
TEAMS, RING_SLOTS, LEAST_COLUMNS = 2, 6, 128
# The most bytes of one tile in a thread's registers; larger tiles get more warps.
BYTES_A_THREAD = 128
# The same of rows that a CTA reduces once, and where so many leave too few bytes in the SM. Beside its part of the
# row a thread needs the same registers however long that is, and longer parts let fewer warps wait for each other.
# On an H100 with 128, 256 and 512 bytes: layer norm of float32 rows of 16384 0.90, 1.01 and 1.01 of a copy's rate,
# softmax of 12288 bfloat16 columns in tiles of 16384 0.89, 0.98 and 1.01, layer norm of 5000 in 8192 0.84, 0.93, 0.84.
# CTAs that scan a row together wait for each other, too: of 50257 bfloat16 columns with 128 and 256 bytes 0.69 and
# 0.73, of 65536 float32 columns 0.96 and 0.98.
ROW_BYTES = (256, 512)
MOST = 16
# Of 1020 bytes of registers; addresses and temporaries need the rest. With more than FULL warps each thread has fewer
# registers, so that more warps do not help.
ALIVE_A_THREAD, FULL = 704, 8
# 32-bit words of accumulators in each thread.
ACC_WORDS, FMA_WORDS = 128, 64
# The same of warpgroups that would share rows if they were more: they exchange what the next MMA reads of the result.
ROW_WORDS = 192
HALF_WORDS = 64  # of a thread of which an SM holds twice as many, in two CTAs of FULL warps
LITTLE = 4  # words beside them (columns of an index, say) for which more than FULL warps do not pay
FRAGMENT_ELEMENTS = 16 * 8  # of the accumulator of one tensor-core instruction


class Warps(NamedTuple):
    """A decision and why."""

    number: int
    reason: str


def decide_warps(
    sizes: list[tuple[int, int]], wanted: int | None, target: Target, reduces: int = 0, moved: int = 0,
) -> Warps:
    """From (elements, bytes per element) of the tiles of a kernel and the user's `num_worker_warps`. `reduces`: the
    most bytes of a row in a thread, where it is reduced. `moved`: the most bytes per element of those in memory, where
    all is loaded before it is computed with.

    Each thread should move at least one 16-byte vector of the largest tile, as memory holds it: where threads load two
    of 8 bytes, as many as an SM runs wait for less than IN_FLIGHT. silu(a) * b of 8192 x 8192 bfloat16 numbers, behind
    other memory, takes 92.4 us by tiles of 512 and two warps, 94.7 with four, 92.1 by 1024 and four, 95.9 with eight
    (H200). Four warps hide latency well; a tile that would fill the registers of four gets more. A reduction across
    warps costs barriers, so it gets as few warps as hold the tile (softmax of bfloat16 rows of 1024: 0.98 of a copy's
    rate with one warp, 0.89 with four, 0.62 with eight, on an H200).
    """
    if wanted is not None:
        most = target.threads_per_block // 32
        if wanted & (wanted - 1) or not 1 <= wanted <= most:
            raise TileValueError(f"num_worker_warps: {wanted} is not a power of two up to {most}")
        return Warps(wanted, decisions.WARPS_ASKED)
    if not sizes:
        return Warps(1, decisions.NO_TILES)
    elements, width = max(sizes, key=prod)
    size = elements * width
    vectors = -(-elements * (moved or width) // VECTOR_BYTES)
    if reduces:
        count = min(MOST, 1 << log2(max(1, size // (32 * reduces))))
    elif vectors < 32 * USUAL:
        count = 1 << log2(max(1, vectors // 32))
        return Warps(count, decisions.warps_by_vectors(elements, moved or width, VECTOR_BYTES))
    else:
        count = _divide(size, BYTES_A_THREAD, USUAL, MOST)
    return Warps(count, decisions.warps_by_bytes(elements, width, max(1, size // (32 * count)), reduces > 0))


def _divide(amount: int, each: int, least: int, most: int) -> int:
    """The fewest warps, from `least` to `most`, with which a thread has no more than `each` of an amount."""
    count = least
    while count < most and amount // (32 * count) > each:
        count *= 2
    return count


def _moved(c: Compilation, elements: int) -> int:
    """The most bytes per element of tiles of so many that are loaded or stored; 0 where a loop accesses memory, whose
    few CTAs may need all warps, or elements are gathered."""
    ops = [op for op in c.function.walk() if op.effects().reads or op.effects().writes]
    tiles = [op.tile.type for op in ops if isinstance(op, TileAccess) and c.homes[op] is c.function.body]
    return max((t.dtype.bytes for t in tiles if t.size == elements), default=0) if len(tiles) == len(ops) else 0


def relieve(warps: Warps, alive: int) -> Warps:
    """More warps if the tiles live at one op, `alive` bytes, would spill from the registers of these."""
    count = _divide(alive, ALIVE_A_THREAD, warps.number, FULL)
    return warps if count == warps.number else Warps(count, decisions.LIVE_TILES.format(alive, alive // (32 * count)))


# ---- reductions -------------------------------------------------------------------------------------------------


def _for_rows(c: Compilation, elements: int, width: int) -> Warps | None:
    """As few warps as hold the largest tile at ROW_BYTES, where no loop loads or reduces, or no ring takes what it
    loads. Loads are outstanding for about half of a CTA's life: longer parts come next where those of the CTAs that fit
    an SM are less than twice the bytes that hide the latency of memory. Of weights that are read strip by strip the
    live ranges leave ptxas nothing to choose, so that no registers are kept free (`min_blocks`)."""
    loads = [op for op in c.function.walk() if isinstance(op, Load)]
    reducing = [op for op in c.function.walk() if op.reduces]
    looped = any(c.homes[op] is not c.function.body for op in (*loads, *reducing))
    if not reducing or (looped and not moves_elements(c.function)) or any(isinstance(op, Fold) for op in reducing):
        return None
    late = late_loads(c, hoisted=True)
    bytes_of_cta = sum(op.result.type.bytes for op in loads if op not in late)
    beside = (ADDRESSES if late else OTHER) + sum(STRIP * op.result.type.dtype.bytes // REGISTER_BYTES for op in late)

    def kept(value: Value) -> tuple[Value, int]:
        tile, size = narrowed(viewed(value) if looped else value)  # weights before a loop are widened there
        return tile, 0 if tile.op in late else size

    crossing = crossing_bytes(c.function, kept)
    found: dict[int, int] = {}  # bytes in an SM by number of warps
    for most in ROW_BYTES:
        count = min(MOST, 1 << log2(max(1, elements * width // (32 * most))))
        each = crossing // (32 * REGISTER_BYTES * count) + beside
        found.setdefault(count, bytes_of_cta * resident(each, 32 * count, 0, c.target))
    if not any(found.values()):
        return None
    count = next((count for count in found if found[count] >= 2 * IN_FLIGHT), max(found, key=lambda n: found[n]))
    return Warps(count, decisions.warps_by_bytes(elements, width, max(1, elements * width // (32 * count)), True))


def _for_looped_rows(c: Compilation, elements: int, width: int) -> Warps | None:
    """FULL for rows that a loop reduces, in the place of more, where two such CTAs fit an SM: while one waits for the
    others of its warps, the other computes; half as many in clusters that were formed for four CTAs on an SM. Softmax
    of 16384 bfloat16 columns on an H100: 0.98 of the rate without a loop with one CTA of 16 warps, 1.00 with two of 8.
    Warps with rows of their own wait for none: of 128 rows of 128 float32 columns, 16.7 us with 16 of them, 18.5 with
    8."""
    count = elements * width // (32 * ROW_BYTES[0])
    reducing = [op for op in c.function.walk() if op.reduces and any(outer.repeats for outer in c.around(op))]
    crosses = any(op.results[0].type.size < MOST for op in reducing)
    half = count == FULL // 2 and c.plan.cluster > 1 and c.hints.occupancy == FOUR
    fits = (count == FULL or half) and crosses and resident(
        crossing_bytes(c.function, held) // (32 * REGISTER_BYTES * count) + OTHER, 32 * count, 0, c.target) >= (
        FOUR if half else AIM)
    return Warps(count, decisions.warps_by_bytes(elements, width, ROW_BYTES[0], True)) if fits else None


# ---- matrix multiplies ------------------------------------------------------------------------------------------


def _by_accumulators(block: Block) -> Iterator[Warps]:
    """The warps that the MMAs of each block need, whose accumulators are live together; an MMA that adds to another's
    result shares its registers. Accumulators and the tiles live beside them (attention's queries, during the loop over
    keys) are divided so that each thread keeps ACC_WORDS of them. Larger warp tiles read less shared memory per MMA
    (bfloat16 4096^3 with 128x128x64 tiles: 0.54 of cuBLAS with four warps, 0.37 with eight, on an H200). FMA
    instructions need registers for the operands of all rows and columns of a thread, hence only FMA_WORDS."""
    here = [op for op in block.ops if isinstance(op, Product)]
    results = {op.result for op in here}
    started = [op for op in here if op.acc not in results]
    if started:
        # An MMA's result that is added to another tile takes registers beside it, if that one is no repeated row.
        added = {v for op in block.ops if isinstance(op, Add) for v, other in ((op.lhs, op.rhs), (op.rhs, op.lhs))
                 if held(other)[1] >= v.type.bytes}
        beside = sum(4 * op.acc.type.size for op in started if op.result in added and op.unit.asynchronous)
        outside = dict(map(held, taken(block) - _in_memory(here)))
        yield _warps_for(started, (sum(outside.values()) + beside) // 4)
    for op in block.ops:
        for inner in op.blocks:
            yield from _by_accumulators(inner)


def _warps_for(products: Sequence[Product], held: int) -> Warps:
    """For accumulators that are live together, and the 32-bit words of tiles live beside them. What threads turn
    counts twice, where more of them share it: they load a tile while an MMA still reads the one before."""
    words = held + sum(op.acc.type.size * max(4, op.acc.type.dtype.bytes) // 4 for op in products)
    most = FMA_WORDS if any(isinstance(op, MmaFma) for op in products) else ACC_WORDS
    count = _divide(words, most, 1, FULL)
    if count == FULL:
        shared = len(products) > 1 and all(
            op.unit.warps > 1 and op.acc.type.shape[-2] <= FULL // op.unit.warps * op.unit.rows for op in products)
        count = _divide(words, (ROW_WORDS if shared else most) + LITTLE, FULL, MOST)
    largest = max(padded(op) for op in products)
    count = max(count, min(USUAL, 1 << log2(max(1, largest // FRAGMENT_ELEMENTS))), *(op.unit.warps for op in products))
    turned = sum(2 * op.a.type.bytes // REGISTER_BYTES for op in products if getattr(op, "rows_in_pairs", False))
    if turned and _have_own_rows(products, FULL):
        words, count = words + turned, max(count, _divide(words + turned, most, 1, FULL))
    each = max(1, words // (32 * count))
    return Warps(count, decisions.warps_by_accumulators(len(products), words, held + turned > 0, each))


def _have_own_rows(products: Sequence[Product], warps: int) -> bool:
    """Whether units of so many warps have rows of their own."""
    return all(op.unit.rows * warps <= op.acc.type.shape[-2] * op.unit.warps for op in products)


def _beside_accumulators(function: Function, warps: Warps) -> Warps:
    """More warps if an epilogue's tiles, say, would spill beside the accumulator, and units of these have rows of their
    own. GELU and dropout of a product of 128x128x64, on an H100: 160 us with four warps, 102 with eight."""
    if warps.number >= FULL:
        return warps
    products = [op for op in function.walk() if isinstance(op, Product)]
    read = {viewed(v) for op in products for v in (op.a, op.b) if is_moved_only(v)}  # in parts, if at all
    more = relieve(warps, live_tile_bytes(function, lambda value: (value, 0) if viewed(value) in read else held(value)))
    return more if _have_own_rows(products, more.number) else warps


def _share_sm(c: Compilation, warps: Warps) -> bool:
    """Whether two CTAs of FULL warps on an SM take blocks better than one that has it alone: where
    threads compute with the sums of one MMA what the next one multiplies, for as long as the tensor cores take, and
    each warpgroup has rows of its own. More of them then compute while others wait, and a block begins and ends beside
    another. Attention over 64 channels by 128x64 on an H100, of the time by 128x128 on all of an SM: 0.91 for 4096
    tokens, causal 0.92, for 1024 causal 0.80."""
    found = [b for b in bounds(c.function, c.target) if b.cycles.get(TENSOR)]
    free = c.hints.occupancy is None and c.limits.cap_registers
    return free and USUAL <= warps.number <= FULL and bool(found) and all(map(_computes_much, found))


def _computes_much(bound: Bound) -> bool:
    products = [op for op in bound.loop.inside() if isinstance(op, Product)]
    much = max(bound.cycles.get(MUFU, 0), bound.cycles.get(FMA, 0)) >= bound.cycles[TENSOR]
    words = sum(op.acc.type.size for op in products)
    return much and len(products) > 1 and words <= 32 * FULL * HALF_WORDS and all(
        op.unit.asynchronous and op.unit.warps * op.acc.type.shape[-2] >= FULL * op.unit.rows for op in products)


def _run_in_turns(c: Compilation, warps: Warps) -> bool:
    """Whether two teams of so many warps run the blocks of a launch in turns: where CTAs loop over them, the
    accumulators of two blocks leave half of an SM's registers, and it pays. What the other one would skip of a ring
    must be known before: so often as a loop counts up to a number, in all blocks."""
    if not (c.plan.looped and c.limits.teams and USUAL <= warps.number <= FULL and c.hints.occupancy in (None, 1)):
        return False
    loops = {op: c.around(op) for op in c.function.walk() if isinstance(op, Product)}
    words = sum(op.acc.type.size for op in loops)
    return bool(loops) and TEAMS * words <= c.target.registers_per_sm // 2 and all(
        len(around) == 2 and _counts_up(c, around[0]) for around in loops.values()) and (
        _turns_pay(c, list(loops), warps.number > USUAL))


def _turns_pay(c: Compilation, products: Sequence[Product], much: bool) -> bool:
    """`much`: so much is computed beside accumulators that it takes more warps. Else not where two CTAs with full rings
    fit an SM, whose blocks overlap anyway, nor where the operands of narrow MMAs already take all that shared memory
    gives. On an H200, all warps on one block and in turns: 8192x8192x512 by 128x128x32 111 and 132 us, 4096^3 by
    256x64x64 223 and 236, by 128x128x64 187 and 182. What threads compute or gather is no work for one team."""
    operands = [v for op in products for v in (op.a, op.b)]
    fits = RING_SLOTS * sum(v.type.bytes for v in operands) <= shared_of_cta(AIM, c.target)
    narrow = any(op.acc.type.shape[-1] < LEAST_COLUMNS for op in products)
    loaded = all(isinstance(source_of(v)[0].op, Load) for v in operands)
    return loaded and (much or not (fits or narrow))


def _counts_up(c: Compilation, loop: Op) -> bool:
    """Whether a loop counts 0, 1, ... to what is known above all loops."""
    return isinstance(loop, For) and (c.facts[loop.lower].constant, c.facts[loop.step].constant) == (0, 1) and (
        loop.upper.op is None or c.homes[loop.upper.op] is c.function.body)


def _in_memory(products: Sequence[Product]) -> set[Value]:
    """Operands that the unit reads from shared memory: they take no registers."""
    operands = {v for op in products if op.unit.reads_shared for v in (op.a, op.b) if is_moved_only(v)}
    return operands - {op.acc for op in products}


def choose_warps(c: Compilation) -> Preserved:
    """Set the plan's number of warps."""
    function, target = c.function, c.target
    sizes = {(v.type.size, v.type.dtype.bytes) for op in function.walk() for v in op.results if is_tile(v)}
    wanted = c.hints.num_worker_warps
    by_products = list(_by_accumulators(function.body))
    if c.limits.warps is not None:
        warps = Warps(c.limits.warps, decisions.WARPS_OF_LADDER)
    elif by_products and wanted is None:
        warps = _beside_accumulators(function, max(by_products, key=lambda warps: warps.number))
        if _share_sm(c, warps):
            function.hints = replace(c.hints, occupancy=AIM)
            warps = Warps(FULL, decisions.WARPS_OF_TWO)
    else:
        reducing = [op for op in function.walk() if op.reduces]
        shared = c.plan.cluster > 1 and any(isinstance(op, ScanWith) for op in reducing)
        largest = max(sizes, key=prod, default=None)
        of_rows = _for_rows(c, *largest) or _for_looped_rows(c, *largest) if wanted is None and largest else None
        most = ROW_BYTES[0] if shared else BYTES_A_THREAD
        warps = of_rows or decide_warps(
            sorted(sizes), wanted, target, most if reducing else 0, _moved(c, largest[0]) if largest else 0)
        if wanted is None and of_rows is None:
            warps = relieve(warps, live_tile_bytes(function, held) if shared else peak_tile_bytes(function))
    c.plan.warps = warps.number
    c.decide(decisions.num_warps(*warps))
    if by_products and _run_in_turns(c, warps):
        c.plan.teams = TEAMS
        c.decide(decisions.TEAMS)
    return ALL
