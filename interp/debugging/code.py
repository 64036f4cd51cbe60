"""A marked function as Python code at the user's lines, so that any Python debugger steps through a kernel.

    3   acc = ct.zeros((8,), ct.float32)         _tw_run(0, 2)          # line 3: the ops of the statement
    4   for j in range(n):               ->      acc = _tw_value(0)
    5       acc += ct.load(x, (i, j), (8,))      _tw_run(2, 3)          # line 4
                                                 for j in _tw_range(0):
                                                     acc = _tw_value(1)
                                                     _tw_run(3, 6)      # line 5
                                                     ...

The code has the user's file and line numbers, a function for each activation of a helper, and local variables with the
user's names. It computes nothing itself: the ops run as the interpreter's closures, one block at a time.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tilewright.interp.debugging.show import binding, shown
from tilewright.interp.formats import format_of
from tilewright.interp.lowering import Lowering, Step
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span, at
from tilewright.tileir.ops import control
from tilewright.tileir.ops.debug import Breakpoint

Body = list[ast.stmt]
N = TypeVar("N", bound=ast.AST)


@dataclass
class Frame:
    """One activation of a function while its code is written: the calls that lead to it, and the present line."""

    path: tuple[Span, ...]
    line: int


def path_of(span: Span) -> tuple[Span, ...]:
    """The calls that lead to a place, the outermost first."""
    return tuple(span.chain[:-1])


class Machine:
    """What the code calls: it holds the closures of a function's ops and the registers of the block that runs."""

    def __init__(self, function: Function, low: Lowering, stop: Callable[[bool], bool]) -> None:
        self.low = low
        self.regs: list[Any] = []
        self.steps: list[tuple[Step, Span]] = []
        self.values: list[Callable[[], Any]] = []
        self.loops: list[control.For] = []
        self.stop = stop

    def run(self, first: int, end: int) -> None:
        """Execute steps."""
        for step, span in self.steps[first:end]:
            with at(span):
                step(self.regs)

    def read(self, value: Value) -> Any:
        """What a value is now, for the user."""
        return shown(self.regs[self.low.slot(value)], value)

    def holds(self, value: Value) -> bool:
        return bool(self.regs[self.low.slot(value)])

    def counter(self, loop: int) -> Iterator[int]:
        """The values of a loop's variable; each is put in its register."""
        op = self.loops[loop]
        lower, upper, step = (int(self.regs[self.low.slot(v)]) for v in (op.lower, op.upper, op.step))
        variable = op.loop.params[0]
        slot: int = self.low.slot(variable)
        as_held: Any = format_of(variable.type.dtype).held.type
        for k in range(lower, upper, step):
            self.regs[slot] = as_held(k)
            yield k


class Writer:
    """Writes the code of a function; `names` become its global names."""

    def __init__(self, machine: Machine, namespace: dict[str, Any]) -> None:
        self.machine = machine
        self.low = machine.low
        self.namespace = namespace | {
            "_tw_run": machine.run, "_tw_value": lambda number: machine.values[number](),
            "_tw_range": machine.counter, "_tw_stop": machine.stop, "_tw_breakpoint": breakpoint,
        }

    def function(self, function: Function) -> Callable[[], None]:
        """The kernel itself. It may stop at its first statement."""
        frame = Frame((), function.span.line)
        body = [self._stop(False, frame), *self.block(function.body, frame)]
        return self._compiled(function.name, function.span, body)

    def block(self, block: Block, frame: Frame) -> Body:
        """The statements of a block but its terminator; those of a helper become a function."""
        return self._ops([op for op in block.ops if not op.terminator], frame)

    def _ops(self, ops: Sequence[Op], frame: Frame) -> Body:
        out: Body = []
        i = 0
        while i < len(ops):
            call = _call_from(frame, ops[i])
            if call is None:
                out += self._op(ops[i], frame)
                i += 1
                continue
            end = next((k for k in range(i, len(ops)) if _call_from(frame, ops[k]) != call), len(ops))
            out.append(self._helper(ops[i:end], (*frame.path, call), frame))
            i = end
        return out

    def _helper(self, ops: Sequence[Op], path: tuple[Span, ...], frame: Frame) -> ast.stmt:
        place = ops[0].span.chain[len(path)]
        inner = Frame(path, place.line)
        name = f"_tw_{len(self.namespace)}"
        self.namespace[name] = None
        self.namespace[name] = self._compiled(place.function, place, self._ops(ops, inner))
        return self._call(name, frame)

    def _op(self, op: Op, frame: Frame) -> Body:
        if isinstance(op, Breakpoint):
            return self._mark(op, frame)
        if isinstance(op, control.If):
            return self._if(op, frame)
        if isinstance(op, control.For):
            return self._for(op, frame)
        if isinstance(op, control.While):
            return self._while(op, frame)
        return self._step(self.low.step(op), op.span, frame)

    def _mark(self, op: Breakpoint, frame: Frame) -> Body:
        """The names as they are before a statement, and the line on which it begins."""
        out: Body = []
        values = iter(op.values)
        for text in op.bindings:
            name, make = binding(text, values)
            self.machine.values.append(lambda make=make: make(self.machine.read))  # type: ignore[misc]
            number = ast.Constant(len(self.machine.values) - 1)
            value = ast.Call(ast.Name("_tw_value", ast.Load()), [number], [])
            out.append(_placed(ast.Assign([ast.Name(name, ast.Store())], value), frame.line))
        if op.span.line != frame.line:
            frame.line = op.span.line
            out.append(_placed(ast.Pass(), frame.line))
        return [*out, self._stop(True, frame)] if op.stops else out

    def _stop(self, asked: bool, frame: Frame) -> ast.stmt:
        """A call of the debugger from the user's frame, where it is asked for here."""
        wanted = ast.Call(ast.Name("_tw_stop", ast.Load()), [ast.Constant(asked)], [])
        stop = ast.Call(ast.Name("_tw_breakpoint", ast.Load()), [], [])
        return _placed(ast.Expr(ast.BoolOp(ast.And(), [wanted, stop])), frame.line)

    def _if(self, op: control.If, frame: Frame) -> Body:
        sides = []
        line = frame.line
        for block in (op.then, op.orelse):
            frame.line = line
            body = self.block(block, frame)
            moves = self.low.moves(block.terminator.operands, op.results)
            sides.append([*body, *self._step(moves, op.span, frame)])
        return [_placed(ast.If(self._test(op.cond), *sides), line)]

    def _for(self, op: control.For, frame: Frame) -> Body:
        variable, *params = op.loop.params
        line = frame.line
        out = self._step(self.low.moves(op.init, params), op.span, frame)
        again = self.low.moves(op.loop.terminator.operands, params)
        self.machine.loops.append(op)
        numbers = ast.Call(ast.Name("_tw_range", ast.Load()), [ast.Constant(len(self.machine.loops) - 1)], [])
        body = [*self.block(op.loop, frame), *self._step(again, op.span, frame)]
        target = ast.Name(variable.hint if variable.hint.isidentifier() else "_tw_i", ast.Store())
        out.append(_placed(ast.For(target, numbers, body, []), line))
        frame.line = line
        return [*out, *self._step(self.low.moves(params, op.results), op.span, frame)]

    def _while(self, op: control.While, frame: Frame) -> Body:
        condition = op.before.terminator
        assert isinstance(condition, control.Condition)
        line = frame.line
        out = self._step(self.low.moves(op.init, op.before.params), op.span, frame)
        body = self.block(op.before, frame)
        test = ast.UnaryOp(ast.Not(), self._test(condition.cond))
        body.append(_placed(ast.If(test, [ast.Break()], []), frame.line))
        body += self._step(self.low.moves(condition.values, op.after.params), op.span, frame)
        body += self.block(op.after, frame)
        body += self._step(self.low.moves(op.after.terminator.operands, op.before.params), op.span, frame)
        out.append(_placed(ast.While(ast.Constant(True), body, []), line))
        frame.line = line
        return [*out, *self._step(self.low.moves(condition.values, op.results), op.span, frame)]

    def _test(self, cond: Value) -> ast.expr:
        self.machine.values.append(lambda: self.machine.holds(cond))
        return ast.Call(ast.Name("_tw_value", ast.Load()), [ast.Constant(len(self.machine.values) - 1)], [])

    def _step(self, step: Step, span: Span, frame: Frame) -> Body:
        self.machine.steps.append((step, span))
        end = len(self.machine.steps)
        return [self._call("_tw_run", frame, ast.Constant(end - 1), ast.Constant(end))]

    def _call(self, name: str, frame: Frame, *arguments: ast.expr) -> ast.stmt:
        call: ast.stmt = ast.Expr(ast.Call(ast.Name(name, ast.Load()), list(arguments), []))
        return _placed(call, frame.line)

    def _compiled(self, name: str, place: Span, body: Body) -> Callable[[], None]:
        """A function of that name, in that file, without arguments."""
        safe = name if name.isidentifier() else "_lambda"
        nothing = ast.arguments([], [], None, [], [], None, [])
        definition = _placed(ast.FunctionDef(safe, nothing, body or [ast.Pass()], []), place.line)
        scope: dict[str, Any] = {}
        module = ast.fix_missing_locations(ast.Module([definition], []))
        exec(compile(module, place.file, "exec"), self.namespace, scope)
        made: Callable[[], None] = scope[safe]
        return made


def _call_from(frame: Frame, op: Op) -> Span | None:
    """The call by which the frame's function reaches the helper that an op belongs to; None for an op of its own."""
    path = path_of(op.span)
    deeper = len(path) > len(frame.path) and path[: len(frame.path)] == frame.path
    return path[len(frame.path)] if deeper and op.span is not NO_SPAN else None


def _placed(node: N, line: int) -> N:
    """The node and all inside it that has no line yet, on this line."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            inner.lineno = inner.end_lineno = line  # type: ignore[attr-defined]
            inner.col_offset = inner.end_col_offset = 0  # type: ignore[attr-defined]
    return node
