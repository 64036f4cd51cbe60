"""Batches whose parts each take whole tiles and give one of another shape: reductions, scans, shape changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from catalogue.case import Bound
from catalogue.cells.kinds import Kind, sample
from catalogue.cells.model import Array, Batch, Filled, Part

import tilewright as ct

Shape = tuple[int, ...]
BLOCKS = 2
ZERO = ct.PaddingMode.ZERO


@dataclass(frozen=True)
class Piece:
    """One part: tile shapes of the operands, what the kernel does with them, what NumPy does with one block's tiles.

    `ragged` arrays end inside the tiles, which zeros fill. `draw(kind, shape, rng)` makes the operands' arrays.
    """

    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    function: Callable[..., Any]
    reference: Callable[..., Array]
    boundary: str = "whole"
    bound: Bound | None = None
    ragged: bool = False
    draw: Callable[..., Array] | None = None
    result: Kind | None = None
    rank: int | None = None

    def extents(self, shape: Shape) -> Shape:
        """The operand's array holds the tiles of all blocks along its first axis."""
        if not shape:
            return (BLOCKS,)
        rest = tuple(n - n // 4 for n in shape[1:]) if self.ragged else shape[1:]
        return (shape[0] * BLOCKS, *rest)


def tilewise(name: str, kinds: Sequence[Kind], result: Kind, pieces: Sequence[Piece], dtype: str = "",
             draw: Callable[..., Array] = sample, unordered: bool = False, simulate: bool = True,
             hold: bool = False) -> Batch:
    """A batch of `result = function(*tiles)` of each piece. `hold`: references give numbers of the result."""
    results = [piece.result or result for piece in pieces]
    todo = tuple((piece.shapes, piece.function, res.store) for piece, res in zip(pieces, results, strict=True))
    loads = tuple(kind.load for kind in kinds)
    count = len(todo)

    def tile_of(array, shape, load):
        index = (ct.bid(0),) + tuple(0 for _ in ct.static_iter(range(len(shape) - 1)))
        return load(ct.load(array, index, shape, padding_mode=ZERO))

    def keep(out, value):
        rank = value.ndim
        index = (ct.bid(0),) + tuple(0 for _ in ct.static_iter(range(rank)))
        ct.store(out, index, ct.reshape(value, (1,) + value.shape))

    @ct.tile_kernel
    def kernel(ins, outs):
        for k in ct.static_iter(range(count)):
            shapes, function, store = todo[k]
            tiles = tuple(tile_of(ins[k][j], shapes[j], loads[j]) for j in ct.static_iter(range(len(shapes))))
            keep(outs[k], store(function(*tiles)))

    def blocks(piece: Piece, arrays: tuple[Array, ...]) -> list[tuple[Array, ...]]:
        return [tuple(_tile(a, shape, b) for a, shape in zip(arrays, piece.shapes, strict=True))
                for b in range(BLOCKS)]

    def fill(rng: np.random.Generator) -> Filled:
        ins, wants = [], []
        for piece, res in zip(pieces, results, strict=True):
            arrays = tuple((piece.draw or draw)(kind, piece.extents(shape), rng)
                           for kind, shape in zip(kinds, piece.shapes, strict=True))
            with np.errstate(all="ignore"):
                found = np.stack([np.asarray(piece.reference(*tiles)) for tiles in blocks(piece, arrays)])
                want = res.hold(found) if hold else found
            assert want.dtype == res.host, f"{name}: {piece.names} gives {want.dtype}, not {res.host}"
            ins.append(arrays)
            wants.append(want)
        return Filled(tuple(ins), tuple(np.zeros(w.shape, w.dtype) for w in wants), tuple(wants))

    parts = tuple(Part(piece.names, dtype or kinds[0].name,
                       len(piece.shapes[0]) if piece.rank is None else piece.rank, piece.boundary, piece.bound)
                  for piece in pieces)
    return Batch(name, kernel, fill, parts, (BLOCKS,), unordered=unordered, simulate=simulate)


def _tile(array: Array, shape: Shape, block: int) -> Array:
    """One block's tile, zeros where the array has ended."""
    if not shape:
        return np.asarray(array[block])
    part = array[block * shape[0]: (block + 1) * shape[0]]
    out = np.zeros(shape, array.dtype)
    out[tuple(slice(n) for n in part.shape)] = part
    return out
