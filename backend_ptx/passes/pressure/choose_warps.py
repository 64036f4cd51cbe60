"""Choose the number of warps per CTA.

    before: func @add(...) { ... }
    after:  func @add(...) plan(warps=4) { decision num_warps = 4, "the largest tile has 1024 elements ..."; ... }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.flat import log2
from tilewright.backend_ptx.ops.matmul import MmaFma, Product
from tilewright.backend_ptx.passes.matmul.operands import is_moved_only
from tilewright.backend_ptx.passes.pressure.tile_bytes import held_tile_bytes, peak_tile_bytes
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.core import Block, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.arith import Add
from tilewright.tileir.types import TileType

VECTOR_BYTES = 16
USUAL = 4
# The most bytes of one tile in a thread's registers; larger tiles get more warps.
BYTES_A_THREAD = 128
MOST = 16
# Of 1020 bytes of registers; addresses and temporaries need the rest. With more than FULL warps each thread has fewer
# registers, so that more warps do not help.
ALIVE_A_THREAD, FULL = 704, 8
# 32-bit words of accumulators in each thread.
ACC_WORDS, FMA_WORDS = 128, 64
LITTLE = 4  # words beside them (columns of an index, say) for which more than FULL warps do not pay
FRAGMENT_ELEMENTS = 16 * 8  # of the accumulator of one tensor-core instruction


class Warps(NamedTuple):
    """A decision and why."""

    number: int
    reason: str


def decide_warps(sizes: list[tuple[int, int]], wanted: int | None, target: Target, reduces: bool = False) -> Warps:
    """From (elements, bytes per element) of the tiles of a kernel and the user's `num_worker_warps`.

    Each thread should move at least one 16-byte vector of the largest tile. Four warps hide latency well; a tile that
    would fill the registers of four gets more. A reduction across warps costs barriers, so it gets as few warps as hold
    the tile (softmax of bfloat16 rows of 1024: 0.98 of a copy's rate with one warp, 0.89 with four, 0.62 with eight, on
    an H200).
    """
    if wanted is not None:
        most = target.threads_per_block // 32
        if wanted & (wanted - 1) or not 1 <= wanted <= most:
            raise TileValueError(f"num_worker_warps: {wanted} is not a power of two up to {most}")
        return Warps(wanted, decisions.WARPS_ASKED)
    if not sizes:
        return Warps(1, decisions.NO_TILES)
    elements, width = max(sizes, key=lambda s: s[0] * s[1])
    vectors = -(-elements * width // VECTOR_BYTES)
    if reduces:
        count = min(MOST, 1 << log2(max(1, elements * width // (32 * BYTES_A_THREAD))))
        each = max(1, elements * width // (32 * count))
        return Warps(count, decisions.warps_by_reduction(elements, width, each))
    if vectors < 32 * USUAL:
        count = 1 << log2(max(1, vectors // 32))
        return Warps(count, decisions.warps_by_vectors(elements, width, VECTOR_BYTES))
    count = USUAL
    while count < MOST and elements * width // (32 * count) > BYTES_A_THREAD:
        count *= 2
    return Warps(count, decisions.warps_by_bytes(elements, width, elements * width // (32 * count)))


def relieve(warps: Warps, alive: int) -> Warps:
    """More warps if the tiles live at one op, `alive` bytes, would spill from the registers of these."""
    count = warps.number
    while count < FULL and alive // (32 * count) > ALIVE_A_THREAD:
        count *= 2
    if count == warps.number:
        return warps
    return Warps(count, decisions.warps_by_live_tiles(alive, alive // (32 * count)))


class LiveAccumulators(NamedTuple):
    """MMAs of one block, whose accumulators are live together, and the 32-bit words of tiles live beside them."""

    products: Sequence[Product]
    held: int = 0


def decide_product_warps(groups: Sequence[LiveAccumulators]) -> Warps:
    """For a kernel with MMAs, grouped by accumulators that are live together. These and the tiles live beside them
    (attention's queries, during the loop over keys) are divided so that each thread keeps ACC_WORDS of them. Larger
    warp tiles read less shared memory per MMA (bfloat16 4096^3 with 128x128x64 tiles: 0.54 of cuBLAS with four warps,
    0.37 with eight, on an H200). FMA instructions need registers for the operands of all rows and columns of a thread,
    hence only FMA_WORDS."""
    return max((_warps_for(*group) for group in groups), key=lambda warps: warps.number)


def _warps_for(products: Sequence[Product], held: int) -> Warps:
    words = held + sum(op.acc.type.size * max(4, op.acc.type.dtype.bytes) // 4 for op in products)
    most = FMA_WORDS if any(isinstance(op, MmaFma) for op in products) else ACC_WORDS
    count = 1
    while count < MOST and words // (32 * count) > most + (LITTLE if count >= FULL else 0):
        count *= 2
    count = max(count, *(op.unit.warps for op in products))
    largest = max(op.acc.type.size for op in products)
    count = max(count, min(USUAL, 1 << log2(max(1, largest // FRAGMENT_ELEMENTS))))
    each = max(1, words // (32 * count))
    return Warps(count, decisions.warps_by_accumulators(len(products), words, held > 0, each))


def _products(block: Block) -> list[LiveAccumulators]:
    """The MMAs of each block that start an accumulator; one that adds to another's result shares its registers."""
    here = [op for op in block.ops if isinstance(op, Product)]
    results = {op.result for op in here}
    inner = [group for op in block.ops for b in op.blocks for group in _products(b)]
    started = [op for op in here if op.acc not in results]
    # An MMA's result that is added to another tile takes registers beside it.
    added = {v for op in block.ops if isinstance(op, Add) for v in (op.lhs, op.rhs)}
    beside = sum(4 * op.acc.type.size for op in started if op.result in added and op.unit.asynchronous)
    held = held_tile_bytes(block, _in_memory(here)) + beside
    return [LiveAccumulators(started, held // 4), *inner] if started else inner


def _in_memory(products: Sequence[Product]) -> set[Value]:
    """Operands that the unit reads from shared memory: they take no registers."""
    operands = {v for op in products if op.unit.reads_shared for v in (op.a, op.b) if is_moved_only(v)}
    return operands - {op.acc for op in products}


def choose_warps(c: Compilation) -> Preserved:
    """Set the plan's number of warps."""
    function, target = c.function, c.target
    sizes = {
        (value.type.size, value.type.dtype.bytes)
        for op in function.walk() for value in op.results
        if isinstance(value.type, TileType) and value.type.shape
    }
    wanted = c.hints.num_worker_warps
    products = _products(function.body)
    if c.limits.warps is not None:
        warps = Warps(c.limits.warps, decisions.WARPS_OF_LADDER)
    elif products and wanted is None:
        warps = decide_product_warps(products)
    else:
        reduces = any(op.reduces for op in function.walk())
        warps = decide_warps(sorted(sizes), wanted, target, reduces)
        if wanted is None:
            warps = relieve(warps, peak_tile_bytes(function))
    c.plan.warps = warps.number
    c.decide(decisions.num_warps(*warps))
    return ALL
