"""Short loops whose iterations gather the same elements become straight code, which loads each element once.

    before: %c = for(lower=0, upper=4, step=1, init=(%acc)) .loop(%k: i32, %a) {
                %i = add(lhs=%time, rhs=%k)                   // row k of a filter
                %x = gather(array=%x, indices=(%i), ...)
                ...
    after:  %x0 = gather(array=%x, indices=(%time), ...)      // first the one whose elements lie aligned in memory
            %i1 = add(lhs=%time, rhs=1)
            %x1 = gather(array=%x, indices=(%i1), ...)        // a thread has all of its elements but one
            ...

Layouts and lowering see which elements gathers share, in one block (`analysis/patches.py`). Sums keep their order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.tileir.analysis.effects import changing_arrays
from tilewright.tileir.analysis.linear import Linear
from tilewright.tileir.analysis.neighbours import WIDEST, gather_run
from tilewright.tileir.analysis.same_places import Gathered
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.core import Block, Op, Value, clone_block
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute, Reshape
from tilewright.tileir.passes.cse import cse
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.fold import fold
from tilewright.tileir.rewrite import Rewriter, constant_value, only, rewrite

MOST_ITERATIONS = 8
MOST_OPS = 400
"""Of the straight code: 25 iterations of a filter of 5 x 5 have 250."""

_STRAIGHT = (Broadcast, Reshape, Permute, Iota, Constant, Yield)


def unroll_loops(unit: Unit) -> Preserved:
    """Before layouts, and before loops are split and joined."""
    chosen = _chosen(unit)
    if not chosen:
        return ALL
    blocks = {unit.homes[op] for op in chosen}
    rewrite(unit.function, {For: only(chosen, _unroll)})
    for step in (fold, cse, dce):
        unit.forget(NONE)
        step(unit)
    unit.forget(NONE)
    for block in blocks:
        _begin_with_vectors(unit, block)
    return NONE


def _chosen(unit: Unit) -> set[Op]:
    """Innermost loops first; a loop around one that stays a loop stays one, too."""
    chosen, sizes = set[Op](), dict[Op, int]()
    changing = changing_arrays(unit.function) if unit.has(For, Gather) else frozenset()
    for op in reversed(list(unit.function.walk())):
        if isinstance(op, For) and (trips := _trips(op)):
            body = op.loop.ops
            size = trips * sum(sizes.get(inner, 1) for inner in body)
            straight = all(inner in chosen or _is_straight(inner) for inner in body)
            if straight and size <= MOST_OPS and any(
                    isinstance(inner, Gather) and _is_stable(unit, inner, changing) and _moves_on(unit, op, inner)
                    for inner in op.inside()):
                chosen.add(op)
                sizes[op] = size
    return chosen


def _trips(op: For) -> int:
    """How many iterations a loop has, 0 where that is not known, or too many."""
    lower, upper, step = (constant_value(v) for v in (op.lower, op.upper, op.step))
    if lower is None or upper is None or step is None:
        return 0
    trips = len(range(int(lower), int(upper), int(step)))
    return trips if 2 <= trips <= MOST_ITERATIONS else 0


def _is_straight(op: Op) -> bool:
    """Loads of tiles are prefetched in loops."""
    scalar = isinstance(op, Load) and op.result.type.size == 1
    return op.elementwise or scalar or isinstance(op, (Gather, *_STRAIGHT))


def _is_stable(unit: Unit, op: Gather, changing: Collection[int]) -> bool:
    return not unit.dependences.parameters(op.array).intersection(changing)


def _moves_on(unit: Unit, loop: For, op: Gather) -> bool:
    """Whether an iteration gathers elements that the one before it has, at other positions of the tile."""
    step = int(constant_value(loop.step) or 0)
    variable, forms = loop.loop.params[0], Gathered(unit, op).forms if op.shape else []
    return any(_is_shifted(form, variable, step, op.shape) for form in forms)


def _is_shifted(form: Linear, variable: Value, step: int, shape: Sequence[int]) -> bool:
    moved = dict(form.terms).get(variable, 0) * step
    return any(moved and moved % n == 0 and abs(moved // n) < shape[axis] for axis, n in form.along)


def _unroll(b: Rewriter, op: For) -> None:
    lower, upper, step = (int(constant_value(v) or 0) for v in (op.lower, op.upper, op.step))
    values: Sequence[Value] = op.init
    variable, *carried = op.loop.params
    for number in range(lower, upper, step):
        at = b.number(number, variable.type.dtype)
        *ops, last = clone_block(Block([], op.loop.ops), {variable: at, **dict(zip(carried, values, strict=True))}).ops
        for inner in ops:
            b.keep(inner)
        values = last.operands
    for old, new in zip(op.results, values, strict=True):
        b.replace(old, new)


def _begin_with_vectors(unit: Unit, block: Block) -> None:
    """Move gathers up to the first of their array and shape, those that read whole vectors in front: what other ones
    have of these is then there. Their indices move with them, which may be computed from what is loaded: nothing that
    may depend on what it passes moves, nor what has bodies, as these use more than its operands."""
    groups: dict[object, list[Op]] = {}
    changing = changing_arrays(unit.function)
    for op in block.ops:
        if isinstance(op, Gather) and Gathered(unit, op).forms and _is_stable(unit, op, changing):
            groups.setdefault((op.array, op.shape), []).append(op)
    for gathers in groups.values():
        ranked = sorted(gathers, key=lambda op: -_width(unit, op))
        if ranked != gathers:
            needed = _needed(block, gathers)
            first = block.ops.index(gathers[0])
            rest = [op for op in block.ops[first:] if op not in needed]
            moved = [op for op in block.ops[first:] if op in needed and op not in gathers]
            if not any(op.effectful or op.blocks for op in moved):
                block.ops[first:] = [*moved, *ranked, *rest]


def _width(unit: Unit, op: Op) -> int:
    assert isinstance(op, Gather)
    indices = tuple(unit.runs[index] for index in op.indices)
    return max(gather_run(op.array.type, indices, axis, WIDEST).length for axis in range(len(op.shape)))


def _needed(block: Block, gathers: Collection[Op]) -> set[Op]:
    """The gathers, and what their indices and paddings are computed from in the block."""
    inside, needed, work = set(block.ops), set(gathers), [v for op in gathers for v in op.operands]
    while work:
        op = work.pop().op
        if op is not None and op in inside and op not in needed:
            needed.add(op)
            work += op.operands
    return needed
