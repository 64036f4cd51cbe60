"""The ops of a block, in order: runs of element-wise ops on many registers in strips (strips.py), others one by one."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registry import lowering_of
from tilewright.backend_ptx.lower.shape import is_renaming
from tilewright.backend_ptx.lower.strips import ENDS, Run, ended
from tilewright.backend_ptx.ops.async_copy import AsyncWait
from tilewright.backend_ptx.ops.shared import SharedLoad
from tilewright.tileir.analysis.places import in_few_places
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, TileError, TileInternalError
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Broadcast
from tilewright.tileir.types import TileType


def lower_block(ctx: Context, block: Block) -> None:
    """Emit the ops of a block except its terminator, and except those whose results are known from before."""
    done, ctx.memo[block] = 0, {}
    for number, op in enumerate(block.ops):
        if op.terminator:
            return
        if number < done or (op.results and op.results[0] in ctx):
            continue
        run, between = run_from(ctx, block.ops, number)
        done = number + max(1, len(run) + len(between))
        try:
            for other in between if run else (op,):
                ctx.locate(other.span)
                lowering_of(other)(ctx, other)
            if run:
                Run(ctx, run).lower()
        except TileError as error:
            error.span = op.span if error.span is NO_SPAN else error.span
            raise
        except Exception as error:
            raise TileInternalError(
                f"the lowering of {op.opcode} failed: {type(error).__name__}: {error}", op.span) from error


# Registers of a tile from which on strips pay, where functions of several instructions are computed and elsewhere.
FUNCTIONS, MANY = 32, 64


def run_from(ctx: Context, ops: Sequence[Op], start: int) -> tuple[list[Op], list[Op]]:
    """The run that begins at an op, empty where op by op is as good, and the ops between its own, which use none of
    its results. One that loads more begins at a load: a tile comes ahead as a whole, two take too many registers."""
    width, ends = _width(ctx, ops[start]), False
    if width < FUNCTIONS:
        return [], []
    run, between, others, made = list[Op](), list[Op](), list[Op](), set[Value]()
    for op in ops[start:]:
        ends = any(takes(op) for takes in ENDS) and ended(op) in made
        if ends or _width(ctx, op) == width:
            run.append(op)
            made.update(op.results)
            between, others = between + others, []
        elif _may_go_before(op) and made.isdisjoint(op.operands):
            others.append(op)
        else:
            break
        if ends:
            break
    least = FUNCTIONS if any(isinstance(op, FloatUnary) for op in run) else MANY
    alone = all(v in ctx for v in ops[start].operands)  # of no tests that strips make
    loads = sum(isinstance(op, Load) for op in run)
    pays = len(run) > 1 and width >= least and (not isinstance(run[0], Load) or (ends and loads > 1))
    return (run, between) if pays or not alone else ([], [])


def _reads_strips(ctx: Context, op: Op) -> bool:
    """Whether a load may read its tile strip by strip, between stores of others: of an array that the kernel does not
    write, and at one place for all CTAs, so that it hits L2."""
    return (isinstance(op, Load) and op.memory_order is MemoryOrder.WEAK and ctx[op.array].read_only
            and in_few_places(op.index, ctx.facts))


def _may_go_before(op: Op) -> bool:
    """Whether an op may be emitted above element-wise ops that it uses nothing of: what makes numbers, tiles of one
    number and indices, and reads of shared memory."""
    if op.elementwise or op.view or isinstance(op, Broadcast):
        return all(is_uniform(v) for v in op.results)
    return op.rematerializable or isinstance(op, (SharedLoad, AsyncWait))


def _width(ctx: Context, op: Op) -> int:
    """The registers of the tile of an op that may be in a run; 0 for other ops. A view of the same registers may."""
    types = [v.type for v in op.results]
    if len(types) != 1 or not (op.elementwise or is_renaming(op) or _reads_strips(ctx, op)):
        return 0
    return registers(types[0].layout) if isinstance(types[0], TileType) and types[0].layout else 0
