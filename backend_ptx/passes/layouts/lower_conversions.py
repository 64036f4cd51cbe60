"""Lower layout conversions that cross threads to a store to shared memory and a load from it.

    before: %y: tile<64x64xf32, #1> = convert_layout(src=%x)
    after:  %0: shared<64x64xf32, #2> = shared_alloc(type=shared<64x64xf32, #2>)     // #2: swizzled, no bank conflicts
            shared_store(buffer=%0, value=%x)
            %y: tile<64x64xf32, #1> = shared_load(buffer=%0, shape=(64, 64))

A `stage`, which puts an operand of wgmma into shared memory, becomes a store and a proxy fence that makes it visible to
the tensor cores. A wait comes first if an outstanding MMA of the previous iteration may still read the buffer.
Conversions within a thread stay. An `extract` that crosses threads stores the whole tile and loads its sub-tile;
a `take` that crosses warps likewise loads its elements.
Barriers come later (insert_barriers), when offsets are known. If the plan limits the buffer of a conversion, large
tiles are converted sub-tile by sub-tile, through less shared memory than the whole tile takes:

    before: %y: tile<256x256xf32, #1> = convert_layout(src=%x)                     // 256 KiB
    after:  %0: tile<2x32768xf32, #2> = reshape(src=%x)                            // registers, free
            %1: tile<1x32768xf32, #3> = extract(src=%0, index=(0, 0))              // likewise
            %2: shared<32768xf32, #4> = shared_alloc(...)                          // 128 KiB, reused
            shared_store(buffer=%2, value=%1) ; %3 = shared_load(buffer=%2) ; ...
            %y: tile<256x256xf32, #1> = reshape(src=cat(%3, %5))
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.exchange import exchange_layout
from tilewright.backend_ptx.ops.matmul import waits_for
from tilewright.backend_ptx.ops.shared import SharedTake, loaded, put
from tilewright.backend_ptx.ops.warpgroup import Stage, proxy_fences
from tilewright.backend_ptx.passes.matmul.operands import still_read
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.engines import THREADS
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.buffers import linear_shared
from tilewright.tileir.layouts.flat import REGISTER, WARP, is_plain
from tilewright.tileir.layouts.pieces import Hop, hops
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.shape import Extract, Reshape, Take
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.sub_tiles import joined


def lower_conversions(c: Compilation) -> Preserved:
    """Needs layouts on every tile."""
    if not c.has(ConvertLayout, Stage, Extract, Take):
        return ALL
    busy, users, buffers = still_read(c), c.uses, dict[tuple[Value, Block], Value]()
    rewrite(c.function, {
        ConvertLayout: lambda rewriter, op: _convert(rewriter, op, c),
        Stage: lambda rewriter, op: _stage(rewriter, op, users.get(op.result, []), op in busy),
        Extract: lambda rewriter, op: _extract(rewriter, op, buffers),
        Take: _take})
    return NONE


def _convert(rewriter: Rewriter, op: ConvertLayout, c: Compilation) -> None:
    if not op.crosses:
        rewriter.keep(op)
        return
    wanted, width = op.result.type.layout, op.src.type.dtype.bytes
    size, most = op.src.type.size * width, c.limits.max_exchange
    if most is not None and size > most:
        value = op.src  # in fewer sub-tiles where registers do not cut it so finely
        for hop in hops(value.type.layout, wanted, (-(-size // most) - 1).bit_length()):
            value = _Exchange(rewriter, value, hop, c.target).run()
    else:
        layout = exchange_layout(op.src.type.layout, wanted, width, c.target.has_stmatrix)
        value = loaded(rewriter, put(rewriter, op.src, layout), op.result.type)
    rewriter.replace(op.result, value)


def _extract(rewriter: Rewriter, op: Extract, buffers: dict[tuple[Value, Block], Value]) -> None:
    """Sub-tiles that the same block reads of a tile come from one buffer."""
    if is_free_extract(op):
        rewriter.keep(op)
        return
    place = op.src, rewriter.block
    if place not in buffers:
        buffers[place] = put(rewriter, op.src, linear_shared(op.src.type.shape))
    rewriter.replace(op.result, loaded(rewriter, buffers[place], op.result.type, index=op.index))


def _take(rewriter: Rewriter, op: Take) -> None:
    """By shuffles where each warp holds whole rows, at most two elements of one in a thread."""
    own = op.src.type.layout
    if own == op.index.type.layout and is_plain(own) and not any(b[op.axis] for b in own.bases(WARP)) and (
            sum(b[op.axis] > 0 for b in own.bases(REGISTER)) <= 1):
        rewriter.keep(op)
        return
    buffer = put(rewriter, op.src, linear_shared(op.src.type.shape))
    taken = rewriter.value(SharedTake(buffer=buffer, index=op.index, axis=op.axis))
    rewriter.replace(op.result, taken.retype(op.result.type))


def _stage(rewriter: Rewriter, op: Stage, readers: Sequence[Op], busy: bool) -> None:
    rewriter.extend(waits_for(readers) if busy else ())
    rewriter.replace(op.result, put(rewriter, op.src, op.result.type.layout))
    rewriter.extend(proxy_fences(THREADS, readers))


def is_free_extract(op: Extract) -> bool:
    """Whether every thread already holds its elements of the sub-tile."""
    wanted: Layout = op.result.type.layout
    return transform.extract(op.src.type.layout, op.shape) == wanted


class _Exchange:
    """One hop of a tile to another layout, sub-tile by sub-tile."""

    def __init__(self, rewriter: Rewriter, tile: Value, hop: Hop, target: Target) -> None:
        self.b, self.tile, self.hop, self.target = rewriter, tile, hop, target
        self.shape = hop.shape(tile.type.size)
        self.axes = hop.cut_axes(tile.type.size)

    def run(self) -> Value:
        source = self._reshaped(self.tile, self.shape)
        one = tuple(1 if axis in self.axes else n for axis, n in enumerate(self.shape))
        layout = transform.extract(transform.reshape(self.hop.layout, self.shape), one)
        assert layout is not None
        pieces = []
        for place in itertools.product((0, 1), repeat=len(self.axes)):
            piece = self._reshaped(self._through_memory(self._piece(source, one, place), layout), one)
            pieces.append(piece.lay_out(layout))
        whole = joined(self.b, pieces, [2 if axis in self.axes else 1 for axis in range(len(self.shape))])
        out = self.b.value(Reshape(src=whole, shape=self.tile.type.shape), self.tile.hint)
        return out.lay_out(self.hop.layout)

    def _reshaped(self, tile: Value, shape: tuple[int, ...]) -> Value:
        return self.b.value(Reshape(src=tile, shape=shape)).lay_out(transform.reshape(tile.type.layout, shape))

    def _piece(self, source: Value, shape: tuple[int, ...], place: tuple[int, ...]) -> Value:
        numbers = dict(zip(self.axes, place, strict=True))
        index = tuple(self.b.number(numbers.get(axis, 0)) for axis in range(len(shape)))
        return self.b.value(Extract(src=source, index=index, shape=shape)).lay_out(
            transform.extract(source.type.layout, shape))

    def _through_memory(self, piece: Value, layout: Layout) -> Value:
        """The sub-tile, flat, in the layout of its readers."""
        flat = self._reshaped(piece, (piece.type.size,))
        wanted = transform.reshape(layout, flat.type.shape)
        shared = exchange_layout(flat.type.layout, wanted, piece.type.dtype.bytes, self.target.has_stmatrix)
        return loaded(self.b, put(self.b, flat, shared), flat.type.with_layout(wanted))
