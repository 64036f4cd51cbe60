"""The ops of a block, in order: runs of element-wise ops in strips, all others one by one.

A strip is a few registers of each tile, which go through all ops of a run on many registers before the next ones do.
Op by op, every intermediate tile would be complete before the next op starts, and a thread that holds 64 elements or
more would run out of registers: ptxas keeps the order more than it looks for a better one. A reduction or a store at
the end of a run takes each strip as it comes. Shorter tiles stay as they are, op by op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.backend_ptx.layouts.queries import registers
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.memory import StripStore, can_store_strips
from tilewright.backend_ptx.lower.reduce import StripReduction, can_reduce_strips
from tilewright.backend_ptx.lower.registry import lowering_of
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, TileError, TileInternalError
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.types import TileType


def lower_block(ctx: Context, block: Block) -> None:
    """Emit the ops of a block except its terminator."""
    done = 0
    for number, op in enumerate(block.ops):
        if op.terminator:
            return
        if number < done:
            continue
        run, between = run_from(block.ops, number)
        done = number + max(1, len(run) + len(between))
        try:
            for other in between if run else (op,):
                ctx.locate(other.span)
                lowering_of(other)(ctx, other)
            if run:
                lower_run(ctx, run)
        except TileError as error:
            error.span = op.span if error.span is NO_SPAN else error.span
            raise
        except Exception as error:
            raise TileInternalError(
                f"the lowering of {op.opcode} failed: {type(error).__name__}: {error}", op.span
            ) from error


# Registers of a tile from which on strips pay, where functions of several instructions are computed and elsewhere; and
# how many go together: enough to hide the latency of each op.
FUNCTIONS, MANY, STRIP = 32, 64, 16
ENDS: dict[Callable[[Any], bool], Callable[..., StripReduction | StripStore]] = {
    can_reduce_strips: StripReduction, can_store_strips: StripStore}


def run_from(ops: Sequence[Op], start: int) -> tuple[list[Op], list[Op]]:
    """The run that begins at an op, empty where op by op is as good, and the ops on numbers between its own."""
    layout = _layout_of(ops[start])
    run, between, numbers = list[Op](), list[Op](), list[Op]()
    for op in ops[start:] if layout is not None and registers(layout) >= FUNCTIONS else ():
        if _is_of_numbers(op):
            numbers.append(op)
            continue
        ends = any(takes(op) for takes in ENDS) and _ended(op).type.layout == layout
        if not ends and _layout_of(op) != layout:
            break
        run.append(op)
        between, numbers = between + numbers, []
        if ends:
            break
    least = FUNCTIONS if any(isinstance(op, FloatUnary) for op in run) else MANY
    return (run, between) if len(run) > 1 and registers(layout) >= least else ([], [])  # type: ignore[arg-type]


def _is_of_numbers(op: Op) -> bool:
    """Whether an op computes numbers from numbers, and so may go before what is done with tiles."""
    return (op.elementwise or op.rematerializable) and not any(is_tile(v) for v in (*op.operands, *op.results))


def _ended(op: Any) -> Value:
    """The tile that an op at the end of a run takes strip by strip."""
    return op.value if isinstance(op, Store) else op.src


def _layout_of(op: Op) -> Layout | None:
    """The layout of an element-wise op's tiles."""
    if not op.elementwise or len(op.results) != 1:
        return None
    type_ = op.results[0].type
    return type_.layout if isinstance(type_, TileType) and type_.shape else None


def lower_run(ctx: Context, run: Sequence[Op]) -> None:
    """Emit the ops of a run and define those results that others use."""
    width = registers(_layout_of(run[0]))  # type: ignore[arg-type]
    last = run[-1]
    end = None if last.elementwise else next(e for takes, e in ENDS.items() if takes(last))(ctx, last, STRIP)
    elementwise = run if end is None else run[:-1]
    wanted = [op.results[0] for op in elementwise if _used_after(ctx, op.results[0], run)]
    pieces: dict[Value, list[Val]] = {value: [] for value in wanted}
    for start in range(0, width, STRIP):
        strip: Any = _Strip(ctx, start, width)
        for op in elementwise:
            ctx.locate(op.span)
            lowering_of(op)(strip, op)
        for value in wanted:
            pieces[value].append(strip[value])
        ctx.locate(last.span)
        if end is not None:
            end.take(start // STRIP, strip[_ended(last)])
    for value in wanted:
        ctx.set(value, ctx.b.concat(pieces[value]))
    if end is not None:
        end.finish()


def _used_after(ctx: Context, value: Value, run: Sequence[Op]) -> bool:
    """Whether an op that is not in the run reads a value."""
    return any(user not in run for user in ctx.uses.get(value, ()))


class _Strip:
    """What a lowering sees of the context: registers start to start + STRIP of every tile of the run."""

    def __init__(self, ctx: Context, start: int, width: int) -> None:
        self._ctx, self._width = ctx, width
        self.first_register = start
        self._lanes = range(start, start + STRIP)
        self._own: dict[Value, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __getitem__(self, value: Value) -> Any:
        if value not in self._own:
            fragment = self._ctx[value]
            whole = isinstance(fragment, Val) and fragment.n == self._width
            self._own[value] = self._ctx.b.shuffle(fragment, self._lanes) if whole else fragment
        return self._own[value]

    def set(self, value: Value, fragment: Val) -> None:
        assert fragment.n == STRIP, f"{value}: {fragment} is no strip of {STRIP}"
        self._own[value] = fragment
