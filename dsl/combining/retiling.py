"""Launches with tiles of other sizes, where these are constants of the kernel and no result depends on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from tilewright.arguments.bind import Argument, Const
from tilewright.combining.graph import Graph, Part
from tilewright.combining.pieces import Piece, piece_of
from tilewright.combining.pointwise import DependsOnTiles, pointwise
from tilewright.launching.grid import make_grid
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.ops.memory import Load, Store

MOST = 64  # choices of constants that are tried


def tile_of(piece: Piece, slot: int) -> tuple[int, ...] | None:
    """The shape of the tiles in which a launch accesses an array, in the order of its axes; None where there are none,
    or several."""
    found = set()
    for op in piece.accesses(slot) if slot in piece.slots else ():
        if isinstance(op, Load | Store):
            lengths = dict(zip(op.order, op.tile.type.shape, strict=True))
            found.add(tuple(lengths[axis] for axis in range(len(lengths))))
    return found.pop() if len(found) == 1 else None


def retiled(graph: Graph, part: Part, piece: Piece, slot: int, tile: Sequence[int], facts: bool) -> Part | str | None:
    """The launch with such tiles of an array, over the grid that goes with them; why there is none; None where the tile
    is no constant of it."""
    own = tile_of(piece, slot)
    if own is None or len(own) != len(tile) or own == tuple(tile):
        return None
    try:
        wanted = pointwise(piece, part.grid.size, graph)
    except DependsOnTiles as reason:
        return f"{part.name} cannot have other tiles: {reason}"
    for arguments in _choices(part.arguments, own, tile):
        made = _with(graph, part, arguments, slot, tile, facts)
        if made is None:
            continue
        try:
            found = pointwise(made[1], made[0].grid.size, graph)
        except DependsOnTiles:
            continue
        if found.stores == wanted.stores:
            return made[0]
    return None


def _with(
    graph: Graph, part: Part, arguments: list[Argument], slot: int, tile: Sequence[int], facts: bool
) -> tuple[Part, Piece] | None:
    """The launch with these arguments, if it then has such tiles."""
    try:
        function = part.specialiser.tile_ir(arguments, facts=facts, aliases=part.aliases)
    except TileError:
        return None
    piece = piece_of(function, part.slots)
    if tile_of(piece, slot) != tuple(tile):
        return None
    try:
        grid = _grid(graph, piece)
    except DependsOnTiles:
        return None
    return replace(part, arguments=arguments, grid=make_grid(grid)), piece


def _grid(graph: Graph, piece: Piece) -> tuple[int, int, int]:
    """The blocks that cover all that is stored."""
    size = [1, 1, 1]
    whole = pointwise(piece, [1 << 24] * 3, graph)
    for slot, axes, order, _, _ in whole.stores:
        shape = graph.slots[slot].info.shape
        for axis, number in zip(axes, order, strict=True):
            if axis is not None:
                size[axis] = max(size[axis], -(-shape[number] // whole.tiles[axis]))
    return size[0], size[1], size[2]


def _choices(arguments: Sequence[Argument], own: Sequence[int], tile: Sequence[int]) -> Iterator[list[Argument]]:
    """The arguments with lengths of the tile in the place of constants that are lengths of the own one."""
    options: list[list[Argument]] = []
    count = 1
    for argument in arguments:
        found: list[Argument] = [argument]
        if isinstance(argument, Const) and type(argument.value) is int:
            lengths = dict.fromkeys(new for old, new in zip(own, tile, strict=True) if old == argument.value)
            found += [replace(argument, value=n) for n in lengths if n != argument.value]
        options.append(found)
        count *= len(found)
    for choice in product(*options) if count <= MOST else ():
        yield list(choice)
