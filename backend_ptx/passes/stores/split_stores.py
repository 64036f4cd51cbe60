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

First conversions sink below the permutations and reshapes of stored tiles:

    before: %c: tile<128x256xbf16, #1> = convert_layout(src=%x)
            %p: tile<256x128xbf16, #2> = permute(src=%c, axes=(1, 0))
            store(array=%y, index=(%i, %j), value=%p, ...)
    after:  %0: tile<256x128xbf16, #3> = permute(src=%x, axes=(1, 0))     // free: #3 says so
            %p: tile<256x128xbf16, #2> = convert_layout(src=%0)
            store(array=%y, index=(%i, %j), value=%p, ...)

Rings of loads need the shared memory that a conversion of the whole tile would take. A sub-tile is converted within a
warp if that gives the stores long segments; then only the threads of a warp synchronise. With two buffers they
synchronise once per sub-tile: the barrier for one buffer also covers the earlier reads of the other. If TMA can store
(see bulk_stores.py), the first lane of each warp, or of the CTA, starts a copy from the buffer. The copy needs no
loads, addresses and masks in threads, and overlaps with what they do next.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.exchange import exchange_layout
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad, SharedStore
from tilewright.backend_ptx.passes.stores.bulk_stores import BulkWriter, find_bulk_stores
from tilewright.backend_ptx.passes.stores.epilogues import SubTiles, find_epilogue
from tilewright.backend_ptx.passes.stores.pieces import Pieces, could_be_longer, find_pieces
from tilewright.backend_ptx.passes.stores.scatters import MovedTile, find_scatters, scatter
from tilewright.tileir.analysis.places import movable_loads
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.rules import replay, rule_of
from tilewright.tileir.machine_ops.layout import ConvertLayout, converted
from tilewright.tileir.ops.control import If
from tilewright.tileir.ops.memory import Load, Scatter, Store
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, only, rewrite
from tilewright.tileir.sub_tiles import SubTilePlaces, joined
from tilewright.tileir.types import SharedType


def split_stores(c: Compilation) -> Preserved:
    """Needs layouts on every tile; conversions must still be `convert_layout`."""
    _sink_conversions(c)
    found = _find(c)
    boxes, scatters = find_bulk_stores(c, found), find_scatters(c)
    found = {store: pieces for store, pieces in found.items() if store in boxes or _conversion(store) is not None}
    if not (found or scatters):
        return ALL
    conversions = {conversion for store in found if (conversion := _conversion(store)) is not None}
    gone: set[Op] = {op for op in conversions if all(user in found for user in c.uses[op.result])}
    split = _Split(c, found, gone, BulkWriter(c, boxes), scatters)
    ops = (c.function.body.terminator, *found, *scatters, *gone, *split.places, *c.parents.values())
    rewrite(c.function, {type(op): split.rule for op in ops})
    if split.places or scatters:
        c.forget()
        dce(c)  # the whole tiles of epilogues, and indices in other layouts
    return NONE


# ---- conversions sink first -----------------------------------------------------------------------------------------


def _sink_conversions(c: Compilation) -> None:
    """Sink conversions below the permutations and reshapes of a stored tile, where they can be split. That saves the
    shared memory of whole tiles, which the rings of MMAs need."""
    if not c.has(Product):
        return  # nothing else wants much shared memory
    found = [_below_conversion(op, c) for op in c.function.walk() if isinstance(op, Store)]
    sunk = {pair[1][-1][0]: pair for pair in found if pair is not None}
    if not sunk:
        return

    def sink(rewriter: Rewriter, op: Op) -> None:
        conversion, steps = sunk[op]
        value = replay(rewriter, steps, conversion.src)
        rewriter.replace(op.results[0], rewriter.value(ConvertLayout(src=value)).retype(op.results[0].type))

    rewrite(c.function, {type(op): only(sunk, sink) for op in sunk})
    c.forget()
    dce(c)  # the ops below which conversions have sunk


def _below_conversion(store: Store, c: Compilation) -> tuple[ConvertLayout, list[tuple[Op, Layout]]] | None:
    """A conversion and the shape-changing ops between it and a store, first one first, each with the layout of its
    result once the conversion has sunk below them; None if there is none that can."""
    def only_here(value: Value) -> bool:
        return value.op is not None and c.homes[value.op] is c.homes[store] and len(c.uses[value]) == 1

    moves: list[Op] = []
    value = store.value
    while value.op is not None and value.op.rearranges and only_here(value):
        moves.append(value.op)
        value = value.op.operands[0]
    conversion = value.op
    if not moves or not isinstance(conversion, ConvertLayout) or not conversion.crosses or not only_here(value):
        return None
    if isinstance(conversion.src.op, Load):
        return None  # the load's ring does the conversion, if it gets one
    layout: Layout | None = conversion.src.type.layout
    steps: list[tuple[Op, Layout]] = []
    for move in reversed(moves):
        assert layout is not None
        layout = rule_of(move).forward(move, layout)
        if layout is None:
            return None
        steps.append((move, layout))
    return conversion, steps


# ---- which ------------------------------------------------------------------------------------------------------


def _find(c: Compilation) -> dict[Store, Pieces]:
    """The stores that can be split: those of tiles that cross threads first, and those in short segments that TMA can
    perform."""
    out: dict[Store, Pieces] = {}
    for op in c.function.walk():
        if not isinstance(op, Store) or not _may_be_cut(op):
            continue
        conversion, source = _conversion(op), _source(op)
        # For a tile that was just loaded, the load's ring does the conversion, if it gets one.
        if isinstance(source.op, Load) or (conversion is not None and not _runs_once(op, conversion, c)):
            continue
        access = tile_access(op.array.type, op.order, op.steps, source.type.shape)
        # Their buffers would take shared memory that other CTAs of the SM need.
        alone = c.hints.occupancy in (None, 1)
        if conversion is None and not (alone and could_be_longer(source.type.layout, access)):
            continue
        pieces = find_pieces(source.type.layout, access, c.plan.warps)
        if pieces is not None:
            out[op] = pieces
    return out


def _may_be_cut(op: Store) -> bool:
    """Whether stores of the sub-tiles need no order among each other (hazards sees that only for tiles of one grid)."""
    grid_of_tiles = tuple(op.steps) == op.value.type.shape != ()
    return op.memory_order is MemoryOrder.WEAK and grid_of_tiles and op.array.type.disjoint


def _conversion(op: Store) -> ConvertLayout | None:
    """The conversion that moves a store's tile to other threads; None if the threads that computed it store it."""
    found = op.value.op
    return found if isinstance(found, ConvertLayout) and found.crosses else None


def _source(op: Store) -> Value:
    """A store's tile before its conversion."""
    conversion = _conversion(op)
    return op.value if conversion is None else conversion.src


def _ends(op: Store) -> list[Op]:
    """A store and its conversion."""
    return [end for end in (op, _conversion(op)) if end is not None]


def _runs_once(store: Store, conversion: ConvertLayout, c: Compilation) -> bool:
    """Whether the store executes at most once per execution of the conversion."""
    return all(isinstance(op, If) or op in c.around(conversion) for op in c.around(store))


# ---- doing it ---------------------------------------------------------------------------------------------------


class _Split:
    """Rewrites the stores of a function."""

    def __init__(self, c: Compilation, found: dict[Store, Pieces], gone: set[Op], bulk: BulkWriter,
                 scatters: dict[Scatter, MovedTile]) -> None:
        self.found, self.scatters = found, scatters
        self.gone = gone
        self.target = c.target
        self.bulk = bulk
        movable = movable_loads(c)
        epilogues = {store: find_epilogue(store, _ends(store), _source(store), pieces, movable, c)
                     for store, pieces in found.items()}
        self.tiles = {store: SubTiles(_source(store), pieces, epilogues[store]) for store, pieces in found.items()}
        self.places: dict[Op, list[SubTiles]] = {}
        for tiles in self.tiles.values():
            if tiles.epilogue is not None:
                self.places.setdefault(tiles.epilogue.place, []).append(tiles)
        self.last = c.function.body.terminator

    def rule(self, rewriter: Rewriter, op: Op) -> None:
        for tiles in self.places.get(op, ()):
            assert tiles.epilogue is not None
            tiles.begin(rewriter, tiles.epilogue)
        if isinstance(op, Store) and op in self.found:
            self._store(rewriter, op)
        elif isinstance(op, Scatter) and op in self.scatters:
            scatter(rewriter, op, self._whole(rewriter, op.value, self.scatters[op]))
        elif op not in self.gone:
            self.bulk.pass_by(op, rewriter.block)
            if op is self.last:
                self.bulk.end(rewriter)
            rewriter.keep(op)

    def _store(self, rewriter: Rewriter, op: Store) -> None:
        pieces, tiles, bulk = self.found[op], self.tiles[op], op in self.bulk.boxes
        if bulk:
            self.bulk.begin(rewriter, op)
        buffers = None if bulk or not pieces.crosses else self._buffers(rewriter, pieces, op.value.type.dtype)
        places = SubTilePlaces(rewriter, op, pieces.shape)
        for place in tiles.every:
            index = places.index(rewriter, place)
            buffer = self.bulk.ready(rewriter, op) if bulk else next(buffers) if buffers is not None else None
            part = tiles.make(rewriter, place, buffer)
            if bulk:
                assert buffer is not None
                self.bulk.piece(rewriter, op, buffer, part, index)
                continue
            value, attributes = self._moved(rewriter, part, buffer, pieces), {**op.attributes, "steps": pieces.shape}
            rewriter.emit(Store(array=op.array, index=index, value=value, **attributes))

    def _whole(self, rewriter: Rewriter, tile: Value, how: MovedTile) -> Value:
        """A tile that is to be scattered in vectors."""
        pieces, tiles = how.pieces, SubTiles(tile, how.pieces, None)
        buffers = self._buffers(rewriter, pieces, tile.type.dtype) if pieces.crosses else cycle([None])
        parts = [self._moved(rewriter, tiles.make(rewriter, place, None), next(buffers), pieces)
                 for place in tiles.every]
        counts = [n // m for n, m in zip(tile.type.shape, pieces.shape, strict=True)]
        return converted(rewriter, joined(rewriter, parts, counts), how.layout)

    def _moved(self, rewriter: Rewriter, part: Value, buffer: Value | None, pieces: Pieces) -> Value:
        """A sub-tile as threads store it, through the buffer if there is one."""
        if buffer is None:
            value = rewriter.value(ConvertLayout(src=part), part.hint)
        else:
            rewriter.emit(SharedStore(buffer=buffer, slot=None, value=part))
            value = rewriter.value(SharedLoad(buffer=buffer, slot=None, index=(), shape=pieces.shape), part.hint)
        return value.lay_out(pieces.target)

    def _buffers(self, rewriter: Rewriter, pieces: Pieces, dtype: DType) -> Iterator[Value]:
        """Alternating buffers, in which sub-tiles get the layout of their stores; two for two sub-tiles would save
        nothing."""
        type_ = SharedType(dtype, pieces.shape, layout=exchange_layout(
            pieces.source, pieces.target, dtype.bytes, self.target.has_stmatrix))
        return cycle([rewriter.value(SharedAlloc(type=type_)) for _ in range(2 if pieces.count > 2 else 1)])
