"""Functions of Tile IR whose parameters are slots of a graph, put behind each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Function, Op, Value, clone_block, clone_function
from tilewright.tileir.enums import Form
from tilewright.tileir.ops.arith import Constant, Div
from tilewright.tileir.ops.arrays import Extent, Stride
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.math import Erf, Exp, Exp2, Sigmoid, Sqrt
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.passes.multiply_by_reciprocals import why_multiply
from tilewright.tileir.passes.shorten_error_functions import choose_forms
from tilewright.tileir.passes.shorten_exponentials import shorten_exponentials
from tilewright.tileir.passes.shorten_quotients import shorten_quotients
from tilewright.tileir.plan import NO_ALIASES


@dataclass
class Piece:
    """A function, and the slot of each of its parameters."""

    function: Function
    slots: list[int]

    def param(self, slot: int) -> Value:
        return self.function.params[self.slots.index(slot)]

    def copy(self) -> Piece:
        return Piece(clone_function(self.function), list(self.slots))

    def accesses(self, slot: int) -> list[Op]:
        """The ops that have the array of a slot as an operand."""
        param = self.param(slot)
        return [op for op in self.function.walk() if param in op.operands]


def piece_of(function: Function, slots: Sequence[int]) -> Piece:
    """A copy of a launch's function, with one parameter for each slot."""
    copy = clone_function(function)
    first: dict[int, Value] = {}
    same: dict[Value, Value] = {}
    for slot, param in zip(slots, copy.params, strict=True):
        same[param] = first.setdefault(slot, param)
    renamed = {old: new for old, new in same.items() if old is not new}
    for op in copy.walk() if renamed else ():
        op.replace_operands(renamed)
    copy.body.params = list(first.values())
    copy.aliases = NO_ALIASES
    _settle_forms(copy)
    return Piece(copy, list(first))


def _settle_forms(function: Function) -> None:
    """What is computed as its uses tolerate: by the uses in this launch. What it stores may vanish, and the bits shall
    be those of the launches one by one."""
    unit = Unit(function)
    shorten_exponentials(unit)
    choose_forms(unit)
    shorten_quotients(unit)
    for op in function.walk():
        if isinstance(op, (Erf, Exp, Exp2, Div, Sigmoid, Sqrt)) and op.form is Form.USES:
            multiplied = isinstance(op, Div) and why_multiply(unit, op)
            op.form = Form.RELATIVE if multiplied else Form.ACCURATE


def concatenated(first: Piece, second: Piece) -> Piece:
    """One function that does what two do, one behind the other."""
    slots = list(dict.fromkeys([*first.slots, *second.slots]))
    body = Block()
    params = {}
    for piece in (first, second):
        for slot, param in zip(piece.slots, piece.function.params, strict=True):
            if slot not in params:
                params[slot] = body.add_param(param.type, param.hint)
    for piece in (first, second):
        body.ops += inlined(piece.function.body, {
            param: params[slot] for slot, param in zip(piece.slots, piece.function.params, strict=True)})
    body.ops.append(Return(span=first.function.span))
    return Piece(Function(first.function.name, body, first.function.hints, first.function.span), slots)


def inlined(block: Block, mapping: dict[Value, Value]) -> list[Op]:
    """Copies of the ops of a function's body, without its end."""
    copies = clone_block(Block([], block.ops), mapping).ops
    return copies[:-1]


def fixed_shapes(piece: Piece, slot: int, shape: Sequence[int], strides: Sequence[int]) -> None:
    """Numbers in the place of the extents and strides of an array, in place."""
    numbers: dict[type[Op], Sequence[int]] = {Extent: shape, Stride: strides}
    param = piece.param(slot)

    def rule(op: Op) -> Op:
        known = numbers.get(type(op))
        if known is None or op.operands != [param]:
            return op
        made = Constant(value=known[op.axis], type=op.result.type)  # type: ignore[attr-defined]
        made.span = op.span
        made.results = op.results
        made.results[0].owner = made
        return made

    _rebuild(piece.function.body, lambda op: (rule(op),))


def without_stores(piece: Piece, slot: int) -> None:
    """Remove the stores to an array that nothing reads, and its parameter, in place."""
    param = piece.param(slot)
    _rebuild(piece.function.body, lambda op: () if isinstance(op, Store) and op.array is param else (op,))
    if not piece.accesses(slot):
        at = piece.slots.index(slot)
        del piece.slots[at]
        del piece.function.body.params[at]


def _rebuild(block: Block, rule: Callable[[Op], Iterable[Op]]) -> None:
    block.ops = [new for op in block.ops for new in rule(op)]
    for op in block.ops:
        for inner in op.blocks:
            _rebuild(inner, rule)
