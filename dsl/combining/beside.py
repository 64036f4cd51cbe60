"""Independent launches over different grids as one: the first blocks do the work of one, the others of the other."""

from __future__ import annotations

from math import prod

from tilewright.combining.pieces import Piece, inlined
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.arith import FloorDiv, Lt, Mod, Sub
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.control import If, Return, Yield

Size = tuple[int, int, int]


def beside(first: Piece, first_grid: Size, second: Piece, second_grid: Size) -> Piece:
    """One function over a grid of one axis, which has the blocks of both."""
    slots = list(dict.fromkeys([*first.slots, *second.slots]))
    body, params = Block(), {}
    for piece in (first, second):
        for slot, param in zip(piece.slots, piece.function.params, strict=True):
            if slot not in params:
                params[slot] = body.add_param(param.type, param.hint)
    top = Builder(body, first.function.span)
    along, count = top.value(BlockId(axis=0)), top.number(prod(first_grid))
    is_first = top.value(Lt(lhs=along, rhs=count))
    bodies = []
    for piece, grid, start in ((first, first_grid, None), (second, second_grid, count)):
        mapping = {param: params[slot] for slot, param in zip(piece.slots, piece.function.params, strict=True)}
        bodies.append(_blocks_of(piece, grid, mapping, along, start))
    top.emit(If(cond=is_first, then=bodies[0], orelse=bodies[1]))
    top.emit(Return())
    return Piece(Function(first.function.name, body, first.function.hints, first.function.span), slots)


def _blocks_of(piece: Piece, grid: Size, mapping: dict[Value, Value], along: Value, start: Value | None) -> Block:
    """The work of those blocks that begin at a number of the common grid."""
    out = Block()
    builder = Builder(out, piece.function.span)
    number = along if start is None else builder.value(Sub(lhs=along, rhs=start))
    x, y, _ = grid
    rest = builder.value(FloorDiv(lhs=number, rhs=builder.number(x)))
    places = (builder.value(Mod(lhs=number, rhs=builder.number(x))),
              builder.value(Mod(lhs=rest, rhs=builder.number(y))),
              builder.value(FloorDiv(lhs=rest, rhs=builder.number(y))))
    sizes = tuple(builder.number(n) for n in grid)
    out.ops += inlined(piece.function.body, mapping)
    renamed: dict[Value, Value] = {}
    _take(out, places, sizes, renamed)
    for op in out.walk():
        op.replace_operands(renamed)
    builder.emit(Yield(values=()))
    return out


def _take(block: Block, places: tuple[Value, ...], sizes: tuple[Value, ...], renamed: dict[Value, Value]) -> None:
    """Drop the questions for the block and the grid; what stands for their answers."""
    kept: list[Op] = []
    for op in block.ops:
        if isinstance(op, BlockId | NumBlocks):
            renamed[op.result] = (places if isinstance(op, BlockId) else sizes)[op.axis]
            continue
        kept.append(op)
        for inner in op.blocks:
            _take(inner, places, sizes, renamed)
    block.ops = kept
