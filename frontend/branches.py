"""`if` statements and expressions, and the merging of variables where ways meet again."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.frontend.flow import ANY, BREAK, CONTINUE, FALL, RETURN, Names
from tilewright.frontend.scopes import RETURN_VALUE, Binding, Conflict, Exit, MaybeUnbound
from tilewright.frontend.structure import NOTHING, Merge, Mismatch, fill, hand_over, leaves
from tilewright.frontend.translator import Translator
from tilewright.frontend.truth import condition, truth
from tilewright.frontend.values import Val, describe
from tilewright.tileir.core import Block, Value
from tilewright.tileir.diagnostics import Related, TileTypeError
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.ops.arith import And, Eq, Or, Select
from tilewright.tileir.ops.control import If, Yield
from tilewright.tileir.types import TileType, scalar

WAYS = (FALL, BREAK, CONTINUE, RETURN)


@dataclass(slots=True)
class Side:
    """One way through a branch: its ops, its variables at the end, and how it ends."""

    block: Block
    vars: dict[str, Binding]
    exit: Exit


# -- Statements ------------------------------------------------------------------------------------------------------


def run(t: Translator, stmts: Sequence[ast.stmt]) -> None:
    """Translate a statement list. Afterwards `t.scope.exit` says how it is left."""
    around, t.statement_block = t.statement_block, t.block
    try:
        _run(t, stmts)
    finally:
        t.statement_block = around


def _run(t: Translator, stmts: Sequence[ast.stmt]) -> None:
    for i, node in enumerate(stmts):
        t.on_statement(t, node)
        if type(node) is ast.If:
            outer, t.node = t.node, node
            took_rest = if_statement(t, node, stmts[i + 1 :])
            t.node = outer
            if took_rest:
                return
        else:
            t.statement(node)
        if t.scope.exit.leaves:
            return
        if not t.scope.exit.falls:
            guard(t, node, stmts[i + 1 :])
            return


def if_statement(t: Translator, node: ast.If, rest: Sequence[ast.stmt]) -> bool:
    """Translate an `if`; True when the statements after it were translated inside one of its branches.

    That happens when the other branch is certain to leave (`if c: return`): there are no jumps in the IR.
    """
    cond = condition(t, node.test, "if")
    if isinstance(cond, bool):
        run(t, node.body if cond else node.orelse)
        return False
    then, orelse = side(t, node.body), side(t, node.orelse)
    took_rest = bool(rest) and then.exit.leaves is not orelse.exit.leaves
    if took_rest:
        resume(t, orelse if then.exit.leaves else then, node, rest)
    flow = t.scope.source.flow
    live = flow.tail[node] if took_rest else flow.after[node]
    if not (then.exit.falls and orelse.exit.falls):
        live |= flow.tail[node]
    merge_sides(t, cond, then, orelse, live)
    return took_rest


def side(t: Translator, stmts: Sequence[ast.stmt]) -> Side:
    """Translate statements into a block of their own, starting from the present variables."""
    return side_of(t, lambda: run(t, stmts))


def side_of(t: Translator, body: Callable[[], None]) -> Side:
    """What `body` translates, as a block of its own that starts from the present variables."""
    scope = t.scope
    before, before_exit = scope.vars, scope.exit
    scope.vars, scope.exit = dict(before), Exit()
    with t.inside(Block()) as block:
        body()
    result = Side(block, scope.vars, scope.exit)
    scope.vars, scope.exit = before, before_exit
    return result


def resume(t: Translator, way: Side, node: ast.stmt, stmts: Sequence[ast.stmt]) -> None:
    """Go on translating at the end of a side."""
    scope = t.scope
    before, before_exit = scope.vars, scope.exit
    scope.vars, scope.exit = way.vars, way.exit
    with t.inside(way.block):
        if scope.exit.falls:
            run(t, stmts)
        else:
            guard(t, node, stmts)
    way.vars, way.exit = scope.vars, scope.exit
    scope.vars, scope.exit = before, before_exit


def guard(t: Translator, node: ast.stmt, rest: Sequence[ast.stmt]) -> None:
    """Run the statements after `node` only where control falls through it."""
    if rest:
        where_falling(t, lambda: run(t, rest), t.scope.source.flow.tail[node])


def where_falling(t: Translator, body: Callable[[], None], live: Names) -> None:
    """Translate what runs only where control falls through what stands before; `live` are the names needed later."""
    scope = t.scope
    code, ways = scope.exit.code, scope.exit.ways
    if ways == FALL:
        body()
    if code is None or not ways & FALL:
        return
    cond = t.emit(Eq, lhs=code, rhs=t.constant(FALL, int32))
    leaving = Side(Block(), scope.vars, Exit(ways & ~FALL, code))
    scope.vars = narrowed(scope.vars, FALL)
    falling = side_of(t, body)
    merge_sides(t, cond, falling, leaving, live)


def lead(t: Translator, way: int, into: int) -> None:
    """Let control that leaves one way leave another way instead."""
    scope = t.scope
    ways, code = scope.exit.ways, scope.exit.code
    if not ways & way:
        return
    both, rest = ways & (way | into), ways & ~way
    joined = {}
    for name, binding in scope.vars.items():
        constants = {w: v for w, v in binding.constants.items() if not w & (way | into)}
        constant = constant_on(binding, both) if binding.constants else NOTHING
        if constant is not NOTHING:
            constants[into] = constant
        valid = binding.valid | way | into if _valid(binding) & both == both else binding.valid & ~into
        joined[name] = Binding(binding.value, binding.node, valid, constants)
    scope.vars = joined
    scope.exit = Exit(rest | into)
    if rest & ~into:
        assert code is not None
        found = t.emit(Eq, lhs=code, rhs=t.constant(way, int32))
        scope.exit.code = t.emit(Select, cond=found, lhs=t.constant(into, int32), rhs=code)
    else:
        scope.vars = narrowed(joined, into)


def narrowed(variables: dict[str, Binding], ways: int) -> dict[str, Binding]:
    """The variables where it is known that control came one of `ways`."""
    out = {}
    for name, binding in variables.items():
        constant = constant_on(binding, ways) if binding.constants else NOTHING
        if constant is not NOTHING:
            out[name] = Binding(constant, binding.node)
        elif binding.valid & ways == ways:
            out[name] = binding if binding.valid == ANY else Binding(binding.value, binding.node)
        else:
            out[name] = Binding(MaybeUnbound(binding.node), binding.node)
    return out


def constant_on(binding: Binding | None, ways: int) -> Val:
    """The constant that a variable is on all of `ways`; NOTHING where one of them has another value."""
    found = NOTHING
    for way in (w for w in WAYS if ways & w):
        if binding is None or not (way in binding.constants or _valid(binding) & way):
            return NOTHING
        value = binding.constants.get(way, binding.value)
        if leaves(value) or not (found is NOTHING or _same(found, value)):
            return NOTHING
        found = value
    return found


def _same(one: Val, other: Val) -> bool:
    merge = Merge()
    try:
        merge.join(one, other)
    except Mismatch:
        return False
    return not merge.pairs


# -- Merging ---------------------------------------------------------------------------------------------------------


def merge_sides(t: Translator, cond: Value, then: Side, orelse: Side, live: Names) -> None:
    """Emit the `if` op and make the merged variables and exit the present ones."""
    scope = t.scope
    merge = Merge()
    merged: dict[str, Binding] = {}
    new: list[str] = []
    live |= scope.source.flow.captured | {RETURN_VALUE}
    for name in {**then.vars, **orelse.vars}:
        a, b = then.vars.get(name), orelse.vars.get(name)
        if a is b and a is not None:
            merged[name] = a
        elif name in live:
            needed = ANY if name == RETURN_VALUE else ANY & ~RETURN
            merged[name] = _merge_binding(merge, a, b, then.exit.ways, orelse.exit.ways, needed)
            merged[name].constants = _constants((a, then.exit.ways), (b, orelse.exit.ways))
            new.append(name)
    ways = then.exit.ways | orelse.exit.ways
    code = None
    if ways & (ways - 1):
        code = merge.slot(then.exit.code or then.exit.ways, orelse.exit.code or orelse.exit.ways, scalar(int32))
    results = emit_if(t, cond, then.block, orelse.block, merge)
    scope.exit = Exit(ways, fill(code, results) if code is not None else None)
    scope.vars = merged
    for name in new if results else ():
        binding = merged[name]
        binding.value = fill(binding.value, results)
        if isinstance(binding.value, Value) and not binding.value.hint:
            binding.value.hint = name


def _constants(*sides: tuple[Binding | None, int]) -> dict[int, Val]:
    """What a merged variable is on single ways, where they differ and it is a constant there."""
    ways = sides[0][1] | sides[1][1]
    if not ways & (ways - 1):
        return {}
    out = {}
    for way in (FALL, BREAK, CONTINUE):
        found = [constant_on(binding, way) for binding, taken in sides if taken & way]
        if found and NOTHING not in found and _same(found[0], found[-1]):
            out[way] = found[0]
    return out


def _merge_binding(
    merge: Merge, a: Binding | None, b: Binding | None, ways_a: int, ways_b: int, needed: int
) -> Binding:
    """The variable after a merge: valid on the ways on which every side that can take them has it.

    `needed`: the ways on which a variable of two forms is a conflict.
    """
    has_a, has_b = _valid(a) & ways_a, _valid(b) & ways_b
    node = (a or b).node  # type: ignore[union-attr]
    if has_a and has_b:
        assert a is not None and b is not None
        attempt = len(merge.pairs)
        try:
            return Binding(merge.join(a.value, b.value), node, _merged_valid(has_a, has_b, ways_a, ways_b))
        except Mismatch:
            del merge.pairs[attempt:]
            if has_a & has_b & needed:
                return Binding(Conflict(a.value, a.node, b.value, b.node), node)
            # They are needed on different ways: keep the one that the next statement sees.
            has_a, has_b = (has_a, 0) if has_a & FALL else (0, has_b)
    valid = _merged_valid(has_a, has_b, ways_a, ways_b)
    if not valid & (ways_a | ways_b):
        broken = next((x for x in (a, b) if x is not None and isinstance(x.value, (Conflict, MaybeUnbound))), None)
        return broken or Binding(MaybeUnbound(node), node)
    attempt = len(merge.pairs)
    try:
        value = merge.join(a.value if has_a and a else NOTHING, b.value if has_b and b else NOTHING)
    except Mismatch:
        del merge.pairs[attempt:]
        return Binding(MaybeUnbound(node), node)
    return Binding(value, node, valid)


def _valid(binding: Binding | None) -> int:
    return 0 if binding is None or isinstance(binding.value, (Conflict, MaybeUnbound)) else binding.valid


def _merged_valid(has_a: int, has_b: int, ways_a: int, ways_b: int) -> int:
    valid = ANY
    for way in WAYS:
        if (ways_a & way and not has_a & way) or (ways_b & way and not has_b & way):
            valid &= ~way
    return valid


def emit_if(t: Translator, cond: Value, then: Block, orelse: Block, merge: Merge) -> tuple[Value, ...]:
    """The `if` op that hands over the merged pairs; none when there is nothing to do."""
    if not (then.ops or orelse.ops or merge.pairs):
        return ()
    for block, which in ((then, 0), (orelse, 1)):
        with t.inside(block):
            t.emit_op(Yield, values=tuple(hand_over(t, pair[which], pair[2]) for pair in merge.pairs))
    return t.emit_op(If, cond=cond, then=then, orelse=orelse).results


# -- Expressions -----------------------------------------------------------------------------------------------------


def short_circuit(t: Translator, first: Val, rest: Callable[[], Val], *, is_and: bool, what: str) -> bool | Value:
    """`first and rest()` (`or`), where rest is only evaluated if first does not decide."""
    cond = truth(t, first, what)
    if isinstance(cond, bool):
        return truth(t, rest(), what) if cond is is_and else cond
    with t.inside(Block()) as block:
        second = truth(t, rest(), what)
    if is_pure(block):
        if isinstance(second, bool):
            return cond if second is is_and else second
        t.block.ops += block.ops
        return t.emit(And if is_and else Or, lhs=cond, rhs=second)
    other = Block()
    merge = Merge()
    merge.pairs.append((second, not is_and, TileType(bool_)) if is_and else (True, second, TileType(bool_)))
    [result] = emit_if(t, cond, *((block, other) if is_and else (other, block)), merge)
    return result


def select_value(t: Translator, cond: Value, node: ast.IfExp) -> Val:
    """`body if cond else orelse` with a condition known at run time."""
    with t.inside(Block()) as then:
        a = t.expr(node.body)
    with t.inside(Block()) as orelse:
        b = t.expr(node.orelse)
    merge = Merge()
    try:
        value = merge.join(a, b)
    except Mismatch:
        raise TileTypeError(
            f"the two sides of the conditional differ: {describe(a)} and {describe(b)}",
            related=[Related(t.span(node.body), describe(a)), Related(t.span(node.orelse), describe(b))],
            hints=["make them the same type and shape; a condition that is constant translates one side only"],
        ) from None
    scalars = all(isinstance(p[2], TileType) and not p[2].shape for p in merge.pairs)
    if not (scalars and is_pure(then) and is_pure(orelse)):
        return fill(value, emit_if(t, cond, then, orelse, merge))
    t.block.ops += then.ops + orelse.ops
    results = [
        t.emit(Select, cond=cond, lhs=hand_over(t, a, type_), rhs=hand_over(t, b, type_)) for a, b, type_ in merge.pairs
    ]
    return fill(value, results)


def is_pure(block: Block) -> bool:
    """Its ops may run whether needed or not: no memory, no output, no bodies."""
    return all(not op.blocks and op.effects().none for op in block.ops)
