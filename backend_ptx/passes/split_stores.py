"""Store large tiles in pieces that pass through little shared memory, most often without leaving their warp.

    before: %c: tile<128x256xbf16, #1> = convert_layout(src=%x)            // 64 KB of shared memory, block barriers
            store(array=%y, index=(%i, %j), value=%c, steps=(128, 256), ...)
    after:  %0: shared<128x64xbf16, #2> = shared_alloc(...)                // two buffers of 16 KB
            %1: shared<128x64xbf16, #2> = shared_alloc(...)
            %j0: i64 = %j * 4 + 0
            %p: tile<128x64xbf16, #3> = extract(src=%x, index=(0, 0), shape=(128, 64))     // registers, free
            shared_store(buffer=%0, value=%p)
            %q: tile<128x64xbf16, #4> = shared_load(buffer=%0, shape=(128, 64))
            store(array=%y, index=(%i, %j0), value=%q, steps=(128, 64), ...)
            ...                                                            // and so on, %1 and %0 in turn

The memory that a large conversion would take is what the rings of loads need. A piece goes from one layout to the other
inside the warps that hold it where that gives stores long segments of memory; then only the threads of a warp wait for
each other. With two buffers they wait once a piece: the wait for one also covers what was read from the other before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.exchange import exchange_layout, within_warp
from tilewright.backend_ptx.layouts.flat import LANE, REGISTER, is_plain
from tilewright.backend_ptx.layouts.memory import Access, tile_access
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.passes.choose_warps import OPTION as WARPS
from tilewright.backend_ptx.passes.rewrite import Rewriter, rewrite
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.analysis.uses import parents, uses
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Add, Constant, Mul
from tilewright.tileir.ops.control import If
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.types import ArrayType, SharedType, TileType

# Of a piece, for each warp: 16 rows (what a fragment of a product has) of a whole line of the caches.
PIECE_BYTES = 2 * KIB
LINE_BYTES = 128
# A barrier of the block, against what one more segment costs where a line is stored in several.
BARRIER = 1.5


@dataclass(frozen=True, slots=True)
class Pieces:
    """How a tile is cut: the shape of a piece, its layout in the registers of the whole tile, that of its store."""

    shape: tuple[int, ...]
    source: Layout
    target: Layout
    count: int


def split_stores(function: Function, target: Target) -> None:
    """Needs layouts on every tile; conversions must still be `convert_layout`."""
    found = _find(function)
    if not found:
        return
    users = uses(function)
    conversions = {store.value.op for store in found if store.value.op is not None}
    gone = {op for op in conversions if all(user in found for user in users[op.results[0]])}
    rewrite(function, lambda rewriter, op: _rule(rewriter, op, found, gone, target))


# ---- which ------------------------------------------------------------------------------------------------------


def _find(function: Function) -> dict[Store, Pieces]:
    """The stores that go in pieces."""
    out: dict[Store, Pieces] = {}
    owners = parents(function)
    home = {op: block for block in (function.body, *owners) for op in block.ops}
    for op in function.walk():
        if not isinstance(op, Store) or not _may_be_cut(op):
            continue
        conversion = op.value.op
        # A conversion of what was just loaded is done by the ring of the load, if it gets one.
        if not isinstance(conversion, ConvertLayout) or isinstance(conversion.src.op, Load):
            continue
        if _stays_in_thread(conversion) or not _runs_once(home[op], home[conversion], owners, home):
            continue
        access = op.array.type, op.order, op.steps
        pieces = find_pieces(conversion.src.type.layout, *access, function.options[WARPS])
        if pieces is not None:
            out[op] = pieces
    return out


def _may_be_cut(op: Store) -> bool:
    """Whether stores of the parts need no order among each other (hazards sees that of tiles of one grid only)."""
    grid_of_tiles = tuple(op.steps) == op.value.type.shape
    return op.memory_order is MemoryOrder.WEAK and grid_of_tiles and op.array.type.disjoint


def _stays_in_thread(op: ConvertLayout) -> bool:
    return plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("none", "registers")


def _runs_once(block: Block, outer: Block, owners: dict[Block, Op], home: dict[Op, Block]) -> bool:
    """Whether `block`, inside `outer` or the same, runs at most once for each run of that."""
    while block is not outer:
        owner = owners.get(block)
        if not isinstance(owner, If):
            return False
        block = home[owner]
    return True


# ---- how --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def find_pieces(
    source: Layout, array: ArrayType, order: tuple[int, ...], steps: tuple[int, ...], warps: int,
) -> Pieces | None:
    """How to cut a tile that lies in `source` and is stored with these fields; None for tiles that are small, or that
    registers do not cut."""
    width, limit = array.dtype.bytes, PIECE_BYTES * warps
    if prod(source.shape) * width <= limit or not is_plain(source):
        return None
    found = [(_segment(tile_access(array, order, p.shape, p.shape), p.target), p)
             for p in _candidates(source, array, order, warps)]
    access = tile_access(array, order, steps, source.shape)
    longest = _segment(access, access.preferred(warps))

    def rank(candidate: tuple[int, Pieces]) -> tuple[float, ...]:
        segment, p = candidate
        crosses = plan_conversion(p.source, p.target).kind == "block"
        return max(prod(p.shape) * width, limit), LINE_BYTES / segment + BARRIER * crosses, p.count

    usable = [c for c in found if 2 * c[0] >= longest]
    return min(usable, key=rank)[1] if usable else None


def _candidates(
    source: Layout, array: ArrayType, order: tuple[int, ...], warps: int,
) -> Iterator[Pieces]:
    """All ways to cut along upper index bits that lie in registers, with the layouts of stores that suit them."""
    for shape in product(*(_lengths(source, axis) for axis in range(len(source.shape)))):
        count = prod(source.shape) // prod(shape)
        part = transform.extract(source, shape)
        if count == 1 or part is None:
            continue
        access = tile_access(array, order, shape, shape)
        for target in (within_warp(part, access.order, access.vector), access.preferred(warps)):
            if target is not None and not is_replicated(target):
                yield Pieces(shape, part, target, count)


def _lengths(layout: Layout, axis: int) -> list[int]:
    """The lengths to which registers can cut an axis."""
    own = {basis[axis] for basis in layout.bases(REGISTER)}
    out = [layout.shape[axis]]
    while out[-1] > 1 and out[-1] // 2 in own:
        out.append(out[-1] // 2)
    return out


def _segment(access: Access, layout: Layout) -> int:
    """Bytes side by side in memory, up to a line, that a warp stores at once."""
    if not access.contiguous:
        return access.element_bytes
    fast = access.order[0]
    length = min(access.vector, vector_along(layout, fast))
    lanes = {basis[fast] for basis in layout.bases(LANE) if sum(map(bool, basis)) == 1}
    while length in lanes:
        length *= 2
    return min(length * access.element_bytes, LINE_BYTES)


# ---- doing it ---------------------------------------------------------------------------------------------------


def _rule(rewriter: Rewriter, op: Op, found: dict[Store, Pieces], gone: set[Op], target: Target) -> None:
    if op in gone:
        return
    if not isinstance(op, Store) or op not in found:
        rewriter.keep(op)
        return
    conversion = op.value.op
    assert isinstance(conversion, ConvertLayout)
    pieces = found[op]
    exchange = _Exchange(rewriter, pieces, conversion.src.type.dtype, target)
    first = [_scaled(rewriter, i, n // m) for i, n, m in zip(op.index, op.steps, pieces.shape, strict=True)]
    counts = [n // m for n, m in zip(op.steps, pieces.shape, strict=True)]
    for number, place in enumerate(product(*map(range, counts))):
        at = tuple(rewriter.value(Constant(value=p, type=TileType(int32))) for p in place)
        part = rewriter.value(Extract(src=conversion.src, index=at, shape=pieces.shape), conversion.src.hint)
        part.type = part.type.with_layout(pieces.source)
        index = tuple(_moved(rewriter, i, p, n) for i, p, n in zip(first, place, counts, strict=True))
        rewriter.emit(Store(
            array=op.array, index=index, value=exchange(number, part),
            **{**op.attributes, "steps": pieces.shape}))


def _scaled(rewriter: Rewriter, index: Value, count: int) -> Value:
    """The index of a tile's first piece. In 64 bits, as tiles far outside the array must stay there."""
    if count == 1:
        return index
    if index.type.dtype is not int64:
        index = rewriter.value(Cast(src=index, dtype=int64))
    return rewriter.value(Mul(lhs=index, rhs=rewriter.value(Constant(value=count, type=TileType(int64)))))


def _moved(rewriter: Rewriter, first: Value, number: int, count: int) -> Value:
    if count == 1 or number == 0:
        return first
    return rewriter.value(Add(lhs=first, rhs=rewriter.value(Constant(value=number, type=TileType(int64)))))


class _Exchange:
    """Brings pieces into the layout of their stores."""

    def __init__(self, rewriter: Rewriter, pieces: Pieces, dtype: DType, target: Target) -> None:
        self.rewriter = rewriter
        self.pieces = pieces
        self.buffers: list[Value] = []
        if plan_conversion(pieces.source, pieces.target).kind in ("none", "registers"):
            return
        # Two buffers for two pieces would save nothing.
        layout = exchange_layout(pieces.source, pieces.target, dtype.bytes, target)
        buffer = SharedType(dtype, pieces.shape, layout=layout)
        self.buffers = [rewriter.value(SharedAlloc(type=buffer)) for _ in range(2 if pieces.count > 2 else 1)]

    def __call__(self, number: int, part: Value) -> Value:
        b = self.rewriter
        if self.buffers:
            buffer = self.buffers[number % len(self.buffers)]
            b.emit(SharedStore(buffer=buffer, slot=None, value=part))
            out = b.value(SharedLoad(buffer=buffer, slot=None, index=(), shape=self.pieces.shape), part.hint)
        else:
            out = b.value(ConvertLayout(src=part), part.hint)
        out.type = out.type.with_layout(self.pieces.target)
        return out
