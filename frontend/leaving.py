"""Loops that break or return may end: one `while` op without a jump."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tilewright.frontend.branches import constant_on, lead, merge_sides, narrowed, run, side_of
from tilewright.frontend.carried import Carried, give_hint, is_usable
from tilewright.frontend.flow import BREAK, CONTINUE, FALL, RETURN, jumps, read_names
from tilewright.frontend.scopes import RETURN_VALUE, Binding, Exit
from tilewright.frontend.structure import NOTHING, leaves, made_by, rebuild
from tilewright.frontend.translator import Translator
from tilewright.tileir.core import Block, Value
from tilewright.tileir.diagnostics import TileSyntaxError
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.ops.arith import Eq, Or, Select
from tilewright.tileir.ops.control import Condition, While, Yield


def while_condition(
    t: Translator, node: ast.While | ast.For, cond: bool | Value, iteration: Callable[[], None]
) -> None:
    """`if cond: iteration() else: break`, where the loop's own `else` stands before the break."""
    if cond is True:
        iteration()
        return

    def leave() -> None:
        check_otherwise(t, node)
        run(t, node.orelse)
        lead(t, FALL, BREAK)

    if cond is False:
        leave()
        return
    flow = t.scope.source.flow
    leaving, going = side_of(t, leave), side_of(t, iteration)
    merge_sides(t, cond, going, leaving, flow.head[node] | flow.after[node] | flow.tail[node])


def check_otherwise(t: Translator, node: ast.While | ast.For) -> None:
    """TileSyntaxError for a jump in a loop's `else`, which would be one of the loop around."""
    if jumps(node.orelse) & (BREAK | CONTINUE):
        raise TileSyntaxError("break and continue are not possible in the else of a loop that may break itself",
                              t.span(node.orelse[0]), hints=["set a flag there, and test it after the loop"])


def endless(t: Translator, node: ast.stmt) -> TileSyntaxError:
    """The error for a loop that nothing ends."""
    names = read_names(node.test) if isinstance(node, ast.While) else ()
    counted = any(name in t.scope.vars and made_by(t.scope.vars[name].value) for name in names)
    if counted:
        return TileSyntaxError(
            "this loop never ends: what its condition asks of a list or dict is known while compiling, and true",
            t.span(node), hints=["loop over what is there: for _ in range(len(x))"])
    return TileSyntaxError(
        "this loop never ends: its condition is always true, and no break or return is reached", t.span(node),
        hints=["break out of it under an if, or let a run-time value be the condition"])


def leaving_loop(t: Translator, node: ast.While | ast.For, carried: Carried, body: Callable[[], None]) -> None:
    """A loop that break or return may end: the whole body stands before the `while` op's condition.

    So variables that are assigned before every break are results of the op, and need no value before the loop.
    """
    scope = t.scope
    init = carried.values()
    before = scope.vars
    scope.vars = dict(before)
    head, after = Block(), Block()
    carried.enter(t, head)
    with t.inside(head):
        body()
        ways, code = scope.exit.ways, scope.exit.code
        if not ways & (BREAK | RETURN):
            raise endless(t, node)
        again = ways & (FALL | CONTINUE)
        # Where no way leads to another iteration, the values are those that the breaks leave behind.
        kept = again or ways & BREAK
        values = carried.at_end(t, kept, ways & BREAK) if kept else list(head.params)
        handed = narrowed(scope.vars, kept | ways & BREAK)
        extra = _new_names(t, node, carried, ways)
        values += [leaf for v in extra.values() for leaf in leaves(v.value)]
        if code is not None:
            values.append(code)
        t.emit_op(Condition, cond=_goes_on(t, scope.exit), values=values)
    for value in values:
        after.add_param(value.type, value.hint)
    with t.inside(after):
        t.emit_op(Yield, values=after.params[: len(init)])
    end, scope.vars = scope.vars, before
    op = t.emit_op(While, init=init, before=head, after=after)
    results = iter(op.results)
    carried.leave(t, results, end)
    for name in carried.names:
        scope.vars[name].valid = _after_loop(end[name].valid if name in handed and is_usable(handed[name]) else 0)
    for name, binding in extra.items():
        scope.vars[name] = Binding(rebuild(binding.value, results), binding.node, _after_loop(binding.valid))
        give_hint(scope.vars[name].value, name)
    for name in carried.assigned:
        constant = constant_on(end.get(name), BREAK) if ways & BREAK else NOTHING
        if constant is not NOTHING:
            scope.vars[name] = Binding(constant, end[name].node, _after_loop(end[name].valid | BREAK))
    scope.exit = _exit_after(t, ways, op.results[-1] if code is not None else None)
    if scope.exit.falls:
        scope.vars = narrowed(scope.vars, FALL)


def _new_names(t: Translator, node: ast.stmt, carried: Carried, ways: int) -> dict[str, Binding]:
    """Variables that the body defines and that hold after a break; the return value."""
    flow, end = t.scope.source.flow, t.scope.vars
    live = flow.after[node] | flow.tail[node] | flow.captured
    out = {}
    for n in (*carried.assigned, RETURN_VALUE):
        binding = end.get(n)
        if binding is None or n in carried.init or (n not in live and n != RETURN_VALUE) or not is_usable(binding):
            continue
        needed = RETURN if n == RETURN_VALUE else BREAK
        if ways & needed and binding.valid & needed:
            out[n] = binding
    return out


def _goes_on(t: Translator, exit_: Exit) -> Value:
    """The condition under which the loop runs again."""
    again = exit_.ways & (FALL | CONTINUE)
    if exit_.code is None:
        return t.constant(bool(again), bool_)
    code, ways = exit_.code, [w for w in (FALL, CONTINUE) if again & w]
    tests = [t.emit(Eq, lhs=code, rhs=t.constant(w, int32)) for w in ways]
    if not tests:
        return t.constant(False, bool_)
    return tests[0] if len(tests) == 1 else t.emit(Or, lhs=tests[0], rhs=tests[1])


def _after_loop(valid: int) -> int:
    """Ways after a loop: those that a break took fall through."""
    return (valid & RETURN) | BREAK | CONTINUE | (FALL if valid & BREAK else 0)


def _exit_after(t: Translator, ways: int, code: Value | None) -> Exit:
    leaving = ways & (BREAK | RETURN)
    if leaving == BREAK:
        return Exit()
    if leaving != BREAK | RETURN:
        return Exit(RETURN)  # also a loop that never ends
    assert code is not None
    returned = t.emit(Eq, lhs=code, rhs=t.constant(RETURN, int32))
    new = t.emit(Select, cond=returned, lhs=t.constant(RETURN, int32), rhs=t.constant(FALL, int32))
    return Exit(FALL | RETURN, new)
