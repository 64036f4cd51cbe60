"""Split stores of large tiles into sub-tiles that go through little shared memory, mostly within a warp.

    before: %c: tile<128x256xbf16, #1> = convert_layout(src=%x)            // 64 KB of shared memory, CTA barriers
            store(array=%y, index=(%i, %j), value=%c, steps=(128, 256), ...)
    after:  %0: shared<128x64xbf16, #2> = shared_alloc(...)                // two buffers of 16 KB
            %1: shared<128x64xbf16, #2> = shared_alloc(...)
            %j0: i64 = %j * 4 + 0
            %p: tile<128x64xbf16, #3> = extract(src=%x, index=(0, 0), shape=(128, 64))     // registers, free
            shared_store(buffer=%0, value=%p)
            %q: tile<128x64xbf16, #4> = shared_load(buffer=%0, shape=(128, 64))
            store(array=%y, index=(%i, %j0), value=%q, steps=(128, 64), ...)
            ...                                                            // and so on, %1 and %0 in turn
    by TMA: shared_store(buffer=%0, value=%p)
            proxy_fence()
            tma_store(buffer=%0, array=%y, index=(%i, %j0), box=(16, 64), warps=8, ...)
            ...                                                            // %1
            tma_store_wait(buffer=%0, pending=1)                           // the copy has read it
            shared_store(buffer=%0, value=%p2)                             // and so on
            tma_store_wait()                                               // before the kernel ends

Rings of loads need the shared memory that a conversion of the whole tile would take. A sub-tile is converted within a
warp if that gives the stores long segments; then only the threads of a warp synchronise. With two buffers they
synchronise once per sub-tile: the barrier for one buffer also covers the earlier reads of the other. If TMA can store
(see bulk_stores.py), the first lane of each warp, or of the CTA, starts a copy from the buffer. The copy needs no
loads, addresses and masks in threads, and overlaps with what they do next.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.exchange import exchange_layout
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.passes.stores.bulk_stores import BulkWriter, find_bulk_stores
from tilewright.backend_ptx.passes.stores.pieces import Pieces, could_be_longer, crosses, find_pieces
from tilewright.backend_ptx.passes.stores.sink_conversions import conversion_across, sink_conversions
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.arith import Add, Constant, Mul
from tilewright.tileir.ops.control import If
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import SharedType, TileType


def split_stores(c: Compilation) -> Preserved:
    """Needs layouts on every tile; conversions must still be `convert_layout`."""
    function, target = c.function, c.target
    sink_conversions(c)
    found = _find(c)
    boxes = find_bulk_stores(c, found)
    found = {store: pieces for store, pieces in found.items() if store in boxes or _conversion(store) is not None}
    if not found:
        return ALL
    users = c.uses
    conversions = {conversion for store in found if (conversion := _conversion(store)) is not None}
    gone: set[Op] = {op for op in conversions if all(user in found for user in users[op.result])}
    rewrite(function, _Split(function, found, gone, BulkWriter(c, boxes), target).rule)
    return NONE


# ---- which ------------------------------------------------------------------------------------------------------


def _find(c: Compilation) -> dict[Store, Pieces]:
    """The stores that can be split: those of tiles that cross threads first, and those in short segments that TMA can
    perform."""
    out: dict[Store, Pieces] = {}
    function, owners = c.function, c.parents
    home = {op: block for block in (function.body, *owners) for op in block.ops}
    for op in function.walk():
        if not isinstance(op, Store) or not _may_be_cut(op):
            continue
        conversion = _conversion(op)
        source = op.value if conversion is None else conversion.src
        # For a tile that was just loaded, the load's ring does the conversion, if it gets one.
        if isinstance(source.op, Load):
            continue
        if conversion is not None and not _runs_once(home[op], home[conversion], owners, home):
            continue
        access = op.array.type, op.order, op.steps
        # Their buffers would take shared memory that other CTAs of the SM need.
        alone = function.hints.occupancy in (None, 1)
        if conversion is None and not (alone and could_be_longer(source.type.layout, *access)):
            continue
        pieces = find_pieces(source.type.layout, *access, function.plan.warps)
        if pieces is not None:
            out[op] = pieces
    return out


def _may_be_cut(op: Store) -> bool:
    """Whether stores of the sub-tiles need no order among each other (hazards sees that only for tiles of one grid)."""
    grid_of_tiles = tuple(op.steps) == op.value.type.shape != ()
    return op.memory_order is MemoryOrder.WEAK and grid_of_tiles and op.array.type.disjoint


def _conversion(op: Store) -> ConvertLayout | None:
    """The conversion that moves a store's tile to other threads; None if the threads that computed it store it."""
    return conversion_across(op.value.op)


def _runs_once(block: Block, outer: Block, owners: dict[Block, Op], home: dict[Op, Block]) -> bool:
    """Whether `block`, inside `outer` or the same, executes at most once per execution of `outer`."""
    while block is not outer:
        owner = owners.get(block)
        if not isinstance(owner, If):
            return False
        block = home[owner]
    return True


# ---- doing it ---------------------------------------------------------------------------------------------------


class _Split:
    """Rewrites the stores of a function."""

    def __init__(
        self, function: Function, found: dict[Store, Pieces], gone: set[Op], bulk: BulkWriter, target: Target,
    ) -> None:
        self.found = found
        self.gone = gone
        self.target = target
        self.bulk = bulk
        self.last = function.body.terminator

    def rule(self, rewriter: Rewriter, op: Op) -> None:
        if isinstance(op, Store) and op in self.found:
            self._store(rewriter, op)
        elif op not in self.gone:
            self.bulk.pass_by(op, rewriter.block)
            if op is self.last:
                self.bulk.end(rewriter)
            rewriter.keep(op)

    def _store(self, rewriter: Rewriter, op: Store) -> None:
        conversion, pieces = _conversion(op), self.found[op]
        source = op.value if conversion is None else conversion.src
        bulk = op in self.bulk.boxes
        if bulk:
            self.bulk.begin(rewriter, op)
        else:
            buffers = 2 if pieces.count > 2 else 1  # two for two sub-tiles would save nothing
            exchange = _Exchange(rewriter, pieces, source.type.dtype, buffers, self.target)
        first = [_scaled(rewriter, i, n // m) for i, n, m in zip(op.index, op.steps, pieces.shape, strict=True)]
        counts = [n // m for n, m in zip(op.steps, pieces.shape, strict=True)]
        for place in product(*map(range, counts)):
            at = tuple(rewriter.value(Constant(value=p, type=TileType(int32))) for p in place)
            part = rewriter.value(Extract(src=source, index=at, shape=pieces.shape), source.hint).lay_out(pieces.source)
            index = tuple(_moved(rewriter, i, p, n) for i, p, n in zip(first, place, counts, strict=True))
            if bulk:
                self.bulk.piece(rewriter, op, part, index)
            else:
                attributes = {**op.attributes, "steps": pieces.shape}
                rewriter.emit(Store(array=op.array, index=index, value=exchange(part), **attributes))


def _scaled(rewriter: Rewriter, index: Value, count: int) -> Value:
    """The index of a tile's first sub-tile, in 64 bits: tiles far outside the array must stay outside."""
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
    """Converts sub-tiles to the layout of their stores, through `buffers` alternating buffers if they cross threads."""

    def __init__(self, rewriter: Rewriter, pieces: Pieces, dtype: DType, buffers: int, target: Target) -> None:
        self.rewriter = rewriter
        self.pieces = pieces
        self.buffers: Iterator[Value] | None = None
        if crosses(pieces):
            layout = exchange_layout(pieces.source, pieces.target, dtype.bytes, target)
            buffer = SharedType(dtype, pieces.shape, layout=layout)
            self.buffers = cycle([rewriter.value(SharedAlloc(type=buffer)) for _ in range(buffers)])

    def __call__(self, part: Value) -> Value:
        b = self.rewriter
        if self.buffers is not None:
            buffer = next(self.buffers)
            b.emit(SharedStore(buffer=buffer, slot=None, value=part))
            out = b.value(SharedLoad(buffer=buffer, slot=None, index=(), shape=self.pieces.shape), part.hint)
        else:
            out = b.value(ConvertLayout(src=part), part.hint)
        out.lay_out(self.pieces.target)
        return out
