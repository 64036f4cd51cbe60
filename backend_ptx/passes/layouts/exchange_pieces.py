"""Layout conversions sub-tile by sub-tile, through less shared memory than the whole tile takes.

    before: %y: tile<256x256xf32, #1> = convert_layout(src=%x)                     // 256 KiB
    after:  %0: tile<2x32768xf32, #2> = reshape(src=%x)                            // registers, free
            %1: tile<1x32768xf32, #3> = extract(src=%0, index=(0, 0))              // likewise
            %2: shared<32768xf32, #4> = shared_alloc(...)                          // 128 KiB, reused
            shared_store(buffer=%2, value=%1) ; %3 = shared_load(buffer=%2) ; ...
            %y: tile<256x256xf32, #1> = reshape(src=cat(%3, %5))
"""

from __future__ import annotations

import itertools

from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.exchange import exchange_layout
from tilewright.backend_ptx.layouts.pieces import Hop, hops
from tilewright.backend_ptx.ops.shared import through_shared
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Cat, Extract, Reshape
from tilewright.tileir.rewrite import Rewriter
from tilewright.tileir.types import TileType


def exchange_in_pieces(rewriter: Rewriter, tile: Value, wanted: Layout, count: int, target: Target) -> Value:
    """The tile in the layout `wanted`, in at least `count` sub-tiles; in fewer where registers do not cut it so
    finely."""
    for hop in hops(tile.type.layout, wanted, (count - 1).bit_length()):
        tile = _Exchange(rewriter, tile, hop, target).run()
    return tile


class _Exchange:
    """One hop of one tile."""

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
        for axis in reversed(self.axes):
            pieces = [self._joined(*pair, axis) for pair in zip(pieces[::2], pieces[1::2], strict=True)]
        [whole] = pieces
        out = self.b.value(Reshape(src=whole, shape=self.tile.type.shape), self.tile.hint)
        return out.lay_out(self.hop.layout)

    def _reshaped(self, tile: Value, shape: tuple[int, ...]) -> Value:
        return self.b.value(Reshape(src=tile, shape=shape)).lay_out(transform.reshape(tile.type.layout, shape))

    def _piece(self, source: Value, shape: tuple[int, ...], place: tuple[int, ...]) -> Value:
        numbers = dict(zip(self.axes, place, strict=True))
        index = tuple(self.b.value(Constant(value=numbers.get(axis, 0), type=TileType(int32)))
                      for axis in range(len(shape)))
        return self.b.value(Extract(src=source, index=index, shape=shape)).lay_out(
            transform.extract(source.type.layout, shape))

    def _through_memory(self, piece: Value, layout: Layout) -> Value:
        """The sub-tile, flat, in the layout of its readers."""
        flat = self._reshaped(piece, (piece.type.size,))
        wanted = transform.reshape(layout, flat.type.shape)
        shared = exchange_layout(flat.type.layout, wanted, piece.type.dtype.bytes, self.target)
        return through_shared(self.b, flat, shared, flat.type.with_layout(wanted))

    def _joined(self, low: Value, high: Value, axis: int) -> Value:
        return self.b.value(Cat(lhs=low, rhs=high, axis=axis)).lay_out(transform.cat(low.type.layout, axis))
