"""`for` and `while` statements, `break` and `continue`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from tilewright.frontend.assign import assign
from tilewright.frontend.branches import lead, run, where_falling
from tilewright.frontend.calls.math import negate
from tilewright.frontend.carried import Carried
from tilewright.frontend.dispatch import statement
from tilewright.frontend.flow import (
    BREAK,
    CONTINUE,
    FALL,
    RETURN,
    assigned_names,
    grown_names,
    jumps,
    read_names,
    root_name,
    target_names,
)
from tilewright.frontend.leaving import check_otherwise, endless, leaving_loop, while_condition
from tilewright.frontend.promotion import typed
from tilewright.frontend.scopes import Binding, Exit, Scope
from tilewright.frontend.static import static_items
from tilewright.frontend.structure import made_by
from tilewright.frontend.translator import Translator
from tilewright.frontend.truth import condition
from tilewright.frontend.values import Iterated, Keywords, Live, Range, Val, is_array, is_list, is_tile, known, named
from tilewright.tileir.core import Block, Value
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError, TileValueError
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.ops.arith import Add, Lt
from tilewright.tileir.ops.control import Condition, For, While, Yield
from tilewright.tileir.types import scalar

# What a loop's variable is, from what counts the iterations.
Item = Callable[[Translator, Value], Val]

# -- for ---------------------------------------------------------------------------------------------------------------


@statement(ast.For)
def for_statement(t: Translator, node: ast.For) -> None:
    items: Sequence[Val] | None = static_items(t, node.iter)
    iterable = t.expr(node.iter) if items is None else items
    if isinstance(iterable, Keywords):
        iterable = Live(iterable.items, iterable.made, keys=True)
    if isinstance(iterable, Range) and wants_constants(t, node, iterable):
        iterable = tuple(iterable.numbers or ())
    if isinstance(iterable, tuple | list):
        unroll(t, node, iterable)
        return
    if not isinstance(iterable, Range):
        message = f"for: expected range(...), a tuple, list or dict, got {named(iterable)}"
        raise TileTypeError(message, t.span(node.iter), hints=_iterable_hints(iterable))
    bounds = [_bound(t, v, node.iter) for v in (iterable.start, iterable.stop, iterable.step)]
    if iterable.down:  # counted up from -start to -stop, so that an executor knows loops of one direction only
        bounds = [negate(t, v) for v in bounds]
    item: Item = negate if iterable.down else lambda t, i: i
    if jumps(node.body) & (BREAK | RETURN):
        _leaving_for(t, node, item, *bounds)
    else:
        _counted_for(t, node, item, *bounds)
        _bind_last(t, node, iterable)
        run(t, node.orelse)


def _bound(t: Translator, value: Val, node: ast.expr) -> Value:
    """A bound in the dtype of loop variables; scalars of the run are converted."""
    constant = known(value)
    if constant is not None and abs(constant) >= 1 << 31:
        raise TileValueError(f"range: the bound {constant} does not fit int32, the dtype of a loop's variable",
                             t.span(node), hints=["count from 0, and add the rest in int64",
                                                  "write while for a loop without an end"])
    return typed(t, value, int32)


def _bind_last(t: Translator, node: ast.For, numbers: Range) -> None:
    """Behind a loop over constants, its variable is the last one."""
    if isinstance(node.target, ast.Name) and numbers.numbers and node.target.id not in assigned_names(node.body):
        t.scope.bind(node.target.id, numbers.numbers[-1], node.target)


_MOST_REPEATED = 64


def wants_constants(t: Translator, node: ast.For, numbers: Range) -> bool:
    """Whether a loop over a constant range is repeated for each number, as one over a tuple is.

    So are loops that make a list longer, and loops whose variable is an index of a tuple, list or dict: its items are
    known while compiling only.
    """
    found = numbers.numbers
    if found is None or len(found) > _MOST_REPEATED:
        return False
    if any(made_by(visible(t, name)) for name in grown_names(node.body)):
        return True
    variable = target_names(node.target)
    indexed = (n for statement in node.body for n in ast.walk(statement) if isinstance(n, ast.Subscript))
    return any(isinstance(visible(t, root_name(n)), (tuple, list, Keywords, dict))
               for n in indexed if read_names(n.slice) & variable)


def visible(t: Translator, name: str) -> Val:
    """What a name stands for here, None where that is nothing."""
    scope: Scope | None = t.scope
    while scope is not None:
        if name in scope.vars:
            return scope.vars[name].value
        scope = scope.outer
    return t.scope.source.captured.get(name)


def _iterable_hints(value: Val) -> list[str]:
    if is_list(value):
        return ["write for i in range(len(xs)): x = xs[i]"]
    if is_array(value):
        return ["go over its tiles: for i in range(ct.num_tiles(a, axis, shape)), and ct.load(a, i, shape)"]
    if is_tile(value):
        return ["compute with the whole tile at once; ct.sum, ct.max and ct.reduce combine its elements"]
    return ["ct.static_iter(...) takes any Python iterable that is known while compiling"]


def _counted_for(t: Translator, node: ast.For, item: Item, lower: Value, upper: Value, step: Value) -> None:
    """A for loop that runs to its end: one `for` op."""
    scope = t.scope
    carried = Carried(t, node)
    init = carried.values()
    before = scope.vars
    scope.vars = dict(before)
    block = Block()
    variable = block.add_param(scalar(int32), node.target.id if isinstance(node.target, ast.Name) else "i")
    carried.enter(t, block)
    scope.loops.append("for")
    with t.inside(block):
        assign(t, node.target, item(t, variable))
        run(t, node.body)
        t.emit_op(Yield, values=carried.at_end(t, scope.exit.ways))
    scope.loops.pop()
    end, scope.vars, scope.exit = scope.vars, before, Exit()
    op = t.emit_op(For, lower=lower, upper=upper, step=step, init=init, loop=block)
    carried.leave(t, iter(op.results), end)


_COUNTER = "for counter"


def _leaving_for(t: Translator, node: ast.For, item: Item, lower: Value, upper: Value, step: Value) -> None:
    """A for loop with a break or return: `i = lower; while True: if not i < upper: break; ...; i += step`."""
    t.scope.vars[_COUNTER] = Binding(lower, node)

    def body() -> None:
        i = t.scope.vars[_COUNTER].value
        cond = t.emit(Lt, lhs=i, rhs=upper)

        def iteration() -> None:
            assign(t, node.target, item(t, i))
            run(t, node.body)

        while_condition(t, node, cond, iteration)
        t.scope.vars[_COUNTER] = Binding(t.emit(Add, lhs=i, rhs=step), node)

    outer = t.scope.loops
    t.scope.loops = [*outer, "for"]
    leaving_loop(t, node, Carried(t, node, _COUNTER), body)
    t.scope.loops = outer
    del t.scope.vars[_COUNTER]


def unroll(t: Translator, node: ast.For, items: Sequence[Val]) -> None:
    """A loop over a tuple or `ct.static_iter`: the body once per item, as far as control comes to it."""
    scope, flow = t.scope, t.scope.source.flow
    live = flow.head[node] | flow.after[node] | flow.tail[node]
    scope.loops.append("static")
    loop = Iterated(tuple(items), items)
    t.iterated.append(loop)

    def iteration() -> None:
        assign(t, node.target, loop.items[loop.at])
        run(t, node.body)
        lead(t, CONTINUE, FALL)

    for place in range(len(loop.items)):
        loop.at = place
        where_falling(t, iteration, live)
    t.iterated.pop()
    scope.loops.pop()
    if node.orelse:
        check_otherwise(t, node)
        where_falling(t, lambda: run(t, node.orelse), live)
    lead(t, BREAK, FALL)


# -- while -------------------------------------------------------------------------------------------------------------


@statement(ast.While)
def while_statement(t: Translator, node: ast.While) -> None:
    t.scope.loops.append("while")
    if jumps(node.body) & (BREAK | RETURN) or isinstance(node.test, ast.Constant):

        def body() -> None:
            cond = condition(t, node.test, "while")
            while_condition(t, node, cond, lambda: run(t, node.body))

        leaving_loop(t, node, Carried(t, node), body)
        t.scope.loops.pop()
    else:
        _plain_while(t, node)
        t.scope.loops.pop()
        run(t, node.orelse)


def _plain_while(t: Translator, node: ast.While) -> None:
    """A while loop that only its condition ends."""
    scope = t.scope
    carried = Carried(t, node)
    init = carried.values()
    before = scope.vars
    scope.vars = dict(before)
    head, body = Block(), Block()
    carried.enter(t, head)
    with t.inside(head):
        cond = condition(t, node.test, "while")
        if cond is False:
            scope.vars = before
            return
        if cond is True:
            raise endless(t, node)
        passed = [typed(t, cond, bool_), tuple(head.params)]
        t.emit_op(Condition, cond=passed[0], values=passed[1])
    carried.enter(t, body)
    with t.inside(body):
        run(t, node.body)
        t.emit_op(Yield, values=carried.at_end(t, scope.exit.ways))
    end, scope.vars, scope.exit = scope.vars, before, Exit()
    op = t.emit_op(While, init=init, before=head, after=body)
    carried.leave(t, iter(op.results), end)


# -- Jumps -------------------------------------------------------------------------------------------------------------


@statement(ast.Break, ast.Continue)
def jump(t: Translator, node: ast.Break | ast.Continue) -> None:
    """`break` and `continue`: remember which way the body is left."""
    if not t.scope.loops:
        raise TileSyntaxError(f"{type(node).__name__.lower()} outside a loop")
    t.scope.exit = Exit(BREAK if isinstance(node, ast.Break) else CONTINUE)
