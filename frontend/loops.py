"""`for` and `while`: which variables a loop carries, and how break and return end one without a jump."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from tilewright.frontend.assign import assign
from tilewright.frontend.branches import Side, merge_sides, narrowed, run, side_of
from tilewright.frontend.dispatch import statement
from tilewright.frontend.flow import BREAK, CONTINUE, FALL, RETURN, jumps
from tilewright.frontend.promotion import typed
from tilewright.frontend.scopes import RETURN_VALUE, Binding, Conflict, Exit, MaybeUnbound
from tilewright.frontend.static import static_items
from tilewright.frontend.structure import Mismatch, concrete, forget_facts, hand_over, leaves, match, rebuild
from tilewright.frontend.translator import Translator
from tilewright.frontend.truth import truth
from tilewright.frontend.values import Range, Val, describe, is_list, named
from tilewright.tileir.core import Block, Value
from tilewright.tileir.diagnostics import Related, TileSyntaxError, TileTypeError
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.ops.arith import Add, Eq, Lt, Or, Select
from tilewright.tileir.ops.control import Condition, For, While, Yield
from tilewright.tileir.types import scalar


class Carried:
    """The variables that go round a loop, and their form as IR values."""

    def __init__(self, t: Translator, node: ast.While | ast.For, hidden: str = "") -> None:
        flow = t.scope.source.flow
        live = flow.head[node] | flow.captured
        found = t.scope.vars
        self.assigned = sorted(flow.assigned[node])
        self.names = [n for n in self.assigned if n in live and n in found and _is_usable(found[n])]
        self.names += [hidden] if hidden else []
        self.init = {n: forget_facts(t, concrete(t, found[n].value)) for n in self.names}
        self.nodes = {n: found[n].node for n in self.names}

    def values(self) -> list[Value]:
        """Their values before the loop."""
        return [leaf for n in self.names for leaf in leaves(self.init[n])]

    def enter(self, t: Translator, block: Block) -> None:
        """Add a parameter per value to a block and bind the variables to them."""
        for n in self.names:
            params = [block.add_param(leaf.type, n) for leaf in leaves(self.init[n])]
            t.scope.vars[n] = Binding(rebuild(self.init[n], iter(params)), self.nodes[n])

    def at_end(self, t: Translator, ways: int) -> list[Value]:
        """Their values at the end of the body, where it is left one of `ways`; TileTypeError where a type changed."""
        end = narrowed(t.scope.vars, ways)
        out: list[Value] = []
        for n in self.names:
            binding = end.get(n) or Binding(MaybeUnbound(self.nodes[n]), self.nodes[n])
            try:
                if not _is_usable(binding):
                    raise Mismatch
                out += [hand_over(t, leaf, type_) for leaf, type_ in match(self.init[n], binding.value)]
            except Mismatch:
                raise self._changed(t, n, binding) from None
        return out

    def leave(self, t: Translator, results: Iterator[Value], end: dict[str, Binding]) -> None:
        """Bind the variables to a loop's results; what else the body assigned may be undefined from here on."""
        for n in self.names:
            t.scope.vars[n] = Binding(rebuild(self.init[n], results), self.nodes[n])
            _hint(t.scope.vars[n].value, n)
        for n in self.assigned:
            if n not in self.init and n in end:
                t.scope.vars[n] = Binding(MaybeUnbound(end[n].node), end[n].node)

    def _changed(self, t: Translator, name: str, binding: Binding) -> TileTypeError:
        before, after = self.init[name], binding.value
        node = binding.node
        if isinstance(after, (Conflict, MaybeUnbound)):
            text = "has a type after the body that depends on the way through it"
        else:
            text = f"is {named(before)} before the loop and {named(after)} at the end of its body"
        return TileTypeError(
            f"{name} {text}", t.span(node), label=describe(after) if _is_usable(binding) else "",
            related=[Related(t.span(self.nodes[name]), f"{name} starts as {named(before)}")],
            hints=[_how_to_start(name, before, after)],
        )


def _is_usable(binding: Binding) -> bool:
    return not isinstance(binding.value, (Conflict, MaybeUnbound))


def _how_to_start(name: str, before: Val, after: Val) -> str:
    if not isinstance(after, Value) or not hasattr(after.type, "dtype") or not isinstance(before, Value):
        return f"a variable that a loop carries keeps its type; use another name, or start {name} as what it becomes"
    dtype, shape = after.type.dtype, getattr(after.type, "shape", ())
    if not shape:
        return f"start it with that type: {name} = ct.{dtype}(0)"
    return f"start it with that type: {name} = ct.full({shape}, 0, ct.{dtype})"


def _hint(value: Val, name: str) -> None:
    for leaf in leaves(value):
        leaf.hint = leaf.hint or name


# -- for ---------------------------------------------------------------------------------------------------------------


@statement(ast.For)
def for_statement(t: Translator, node: ast.For) -> None:
    if node.orelse:
        raise TileSyntaxError("else after a for loop is not possible in a kernel", t.span(node.orelse[0]))
    items = static_items(t, node.iter)
    if items is not None:
        unroll(t, node, items)
        return
    iterable = t.expr(node.iter)
    if not isinstance(iterable, Range):
        raise TileTypeError(f"for: expected range(...), got {named(iterable)}", t.span(node.iter),
                            hints=_iterable_hints(iterable))
    found = jumps(node.body)
    if found & RETURN:
        raise TileSyntaxError(
            "return inside a for loop is not possible in a kernel", t.span(_first(node, ast.Return)),
            hints=["assign the value, break, and return it after the loop; or use while"],
        )
    bounds = [typed(t, v, int32) for v in (iterable.start, iterable.stop, iterable.step)]
    (_breaking_for if found & BREAK else _counted_for)(t, node, *bounds)


def _iterable_hints(value: Val) -> list[str]:
    if is_list(value):
        return ["write for i in range(len(xs)): x = xs[i]"]
    if isinstance(value, tuple):
        return ["write for x in ct.static_iter(...): the body is repeated for every item"]
    return ["ct.static_iter(...) takes any Python iterable that is known while compiling"]


def _first(node: ast.AST, kind: type[ast.AST]) -> ast.AST:
    return next(n for n in ast.walk(node) if isinstance(n, kind))


def _counted_for(t: Translator, node: ast.For, lower: Value, upper: Value, step: Value) -> None:
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
        assign(t, node.target, variable)
        run(t, node.body)
        t.emit_op(Yield, values=carried.at_end(t, scope.exit.ways))
    scope.loops.pop()
    end, scope.vars, scope.exit = scope.vars, before, Exit()
    op = t.emit_op(For, lower=lower, upper=upper, step=step, init=init, loop=block)
    carried.leave(t, iter(op.results), end)


_COUNTER = "for counter"


def _breaking_for(t: Translator, node: ast.For, lower: Value, upper: Value, step: Value) -> None:
    """A for loop with a break: `i = lower; while True: if not i < upper: break; ...; i += step`."""
    t.scope.vars[_COUNTER] = Binding(lower, node)

    def body() -> None:
        i = t.scope.vars[_COUNTER].value
        cond = t.emit(Lt, lhs=i, rhs=upper)

        def iteration() -> None:
            assign(t, node.target, i)
            run(t, node.body)

        _while_condition(t, node, cond, iteration)
        t.scope.vars[_COUNTER] = Binding(t.emit(Add, lhs=i, rhs=step), node)

    outer = t.scope.loops
    t.scope.loops = [*outer, "for"]
    _leaving_loop(t, node, Carried(t, node, _COUNTER), body)
    t.scope.loops = outer
    del t.scope.vars[_COUNTER]


def unroll(t: Translator, node: ast.For, items: Sequence[Val]) -> None:
    """A loop over `ct.static_iter`: the body once per item."""
    if jumps(node.body):
        kind = next(n for n in ast.walk(node) if isinstance(n, (ast.Break, ast.Continue, ast.Return)))
        raise TileSyntaxError(f"{type(kind).__name__.lower()} is not possible in a static_iter loop", t.span(kind))
    t.scope.loops.append("static")
    for item in items:
        assign(t, node.target, item)
        run(t, node.body)
    t.scope.loops.pop()


# -- while -------------------------------------------------------------------------------------------------------------


@statement(ast.While)
def while_statement(t: Translator, node: ast.While) -> None:
    if node.orelse:
        raise TileSyntaxError("else after a while loop is not possible in a kernel", t.span(node.orelse[0]))
    t.scope.loops.append("while")
    if jumps(node.body) & (BREAK | RETURN) or isinstance(node.test, ast.Constant):

        def body() -> None:
            cond = truth(t, t.expr(node.test), "while")
            _while_condition(t, node, cond, lambda: run(t, node.body))

        _leaving_loop(t, node, Carried(t, node), body)
    else:
        _plain_while(t, node)
    t.scope.loops.pop()


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
        cond = truth(t, t.expr(node.test), "while")
        if cond is False:
            scope.vars = before
            return
        passed = [typed(t, cond, bool_), tuple(head.params)]
        t.emit_op(Condition, cond=passed[0], values=passed[1])
    carried.enter(t, body)
    with t.inside(body):
        run(t, node.body)
        t.emit_op(Yield, values=carried.at_end(t, scope.exit.ways))
    end, scope.vars, scope.exit = scope.vars, before, Exit()
    op = t.emit_op(While, init=init, before=head, after=body)
    carried.leave(t, iter(op.results), end)


def _while_condition(t: Translator, node: ast.stmt, cond: bool | Value, iteration: Callable[[], None]) -> None:
    """`if cond: iteration() else: break`."""
    scope = t.scope
    if cond is True:
        iteration()
        return
    if cond is False:
        scope.exit = Exit(BREAK)
        return
    flow = scope.source.flow
    leaving = Side(Block(), dict(scope.vars), Exit(BREAK))
    going = side_of(t, iteration)
    merge_sides(t, cond, going, leaving, flow.head[node] | flow.after[node] | flow.tail[node])


def _leaving_loop(t: Translator, node: ast.While | ast.For, carried: Carried, body: Callable[[], None]) -> None:
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
        again = ways & (FALL | CONTINUE)
        values = carried.at_end(t, again) if again else list(head.params)
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
        scope.vars[name].valid = _after_loop(end[name].valid if name in end else 0)
    for name, binding in extra.items():
        scope.vars[name] = Binding(rebuild(binding.value, results), binding.node, _after_loop(binding.valid))
        _hint(scope.vars[name].value, name)
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
        if binding is None or n in carried.init or n not in live and n != RETURN_VALUE or not _is_usable(binding):
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


# -- Jumps -------------------------------------------------------------------------------------------------------------


@statement(ast.Break, ast.Continue)
def jump(t: Translator, node: ast.Break | ast.Continue) -> None:
    """`break` and `continue`: remember which way the body is left."""
    if not t.scope.loops:
        raise TileSyntaxError(f"{type(node).__name__.lower()} outside a loop")
    t.scope.exit = Exit(BREAK if isinstance(node, ast.Break) else CONTINUE)
