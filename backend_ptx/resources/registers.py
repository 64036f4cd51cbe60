"""Registers of each thread, from live ranges over the machine function.

A value's live range goes from its definition to its last use; the registers of the values live at one op, plus what
addresses and the fragments of MMAs take, are what ptxas needs there. Four things differ from a textbook: views and
sub-tiles live in the registers of their source; constants, indices and what is computed from them alone are
rematerialised at each use, and so are floats that are only widened; of a tile whose first registers are kept
(`KeepRegisters`) only these are live; operands that an outstanding MMA reads from registers stay live until a wait
covers it. Registers that setmaxnreg moves between roles change what a thread can have (`Facts.register_cap`), not what
is live.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tilewright.backend_ptx.ops.matmul import Product
from tilewright.tileir.analysis.held_tiles import held
from tilewright.tileir.analysis.live import held_by_outstanding, live_ranges, taken
from tilewright.tileir.analysis.places import late_loads
from tilewright.tileir.analysis.recomputation import is_widening, recomputation, widens
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.machine_ops.arith import DivideBy
from tilewright.tileir.machine_ops.layout import KeepRegisters
from tilewright.tileir.ops.arith import Constant, Div
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.ops.shape import Broadcast, Extract
from tilewright.tileir.types import TileType

# Registers of a thread beside tiles: addresses and masks; with MMAs also those of fragments and descriptors.
ADDRESSES, FOR_MMAS = 12, 8
# What plans leave free beyond the estimate: tests/backend_ptx/resources/test_calibration.py states its error.
MARGIN = 16
OTHER = ADDRESSES + MARGIN
REGISTER_BYTES = 4
STRIP = 16  # of a tile, which go together through element-wise ops: enough to hide the latency of each


def estimated_registers(function: Function, strips: bool = False) -> int:
    """The registers that ptxas gives each thread if it can. It loads the fragments of an MMA while another executes.
    `strips`: what goes through a run of element-wise ops strip by strip is no complete tile."""
    mmas = [op for op in function.walk() if isinstance(op, Product)]
    next_ones = max((_weight(op.a) + _weight(op.b) for op in mmas if not op.unit.asynchronous), default=0)
    return live_registers(function, strips=strips) + ADDRESSES + (FOR_MMAS + next_ones if mmas else 0)


def live_registers(function: Function, body: Block | None = None, strips: bool = False) -> int:
    """The most registers of tiles and scalars live at one op, in each thread. Needs layouts on every tile. `body`: of
    that one alone, with what it takes from outside."""
    return max((total for _, total in registers_at(function, body, strips)), default=0)


def registers_at(function: Function, body: Block | None = None, strips: bool = False) -> Iterator[tuple[Op, int]]:
    """What is live before each op of a function, or of a body, and what is live after it."""
    blocks = [function.body, *(block for op in function.walk() for block in op.blocks)]
    outstanding = {op: values for block in blocks for op, values in held_by_outstanding(block).items()}
    held: dict[Value, tuple[Value, int]] = {}
    uniform: dict[Value, bool] = {}
    unit = Unit(function)
    late = {op.result for op in late_loads(unit) if is_long(op.result)}
    if strips:
        late |= _in_strips(unit, blocks, late)

    def holder(value: Value) -> tuple[Value, int]:
        if value not in held:
            found = _holder(value)
            size = STRIP * found.type.dtype.bytes // REGISTER_BYTES if found in late else _weight(found, uniform)
            held[value] = found, size
        return held[value]

    def reads(op: Op) -> Iterator[tuple[Value, int]]:
        if not isinstance(op, KeepRegisters):
            yield from map(holder, (*op.operands, *outstanding.get(op, ())))
            return
        count = registers(op.result.type.layout)
        for operand, taken_of_it in ((op.kept, op.count), (op.again, count - op.count)):
            value, size = holder(operand)
            yield value, -(-size * taken_of_it // count)

    around = {} if body is None else dict(map(holder, taken(body)))
    for op, alive in live_ranges(body or function.body, around, reads, holder):
        yield op, sum(alive.values())


def _in_strips(unit: Unit, blocks: Sequence[Block], late: Collection[Value]) -> set[Value]:
    """Long tiles that element-wise ops, reductions and stores take in the run of ops that computes them."""
    number, run = dict[Op, int](), 0
    for op in (op for block in blocks for op in (*block.ops, None)):
        if op is not None:
            number[op] = run
        together = op is not None and (op.elementwise or op.view or op.rematerializable or isinstance(op, Broadcast))
        run += not (together or (op is not None and any(v in late for v in op.results)))
    return {op.results[0] for op in number if op.elementwise and is_long(op.results[0]) and all(
        number[user] == number[op] and (user.elementwise or user.view or user.reduces or isinstance(user, Store))
        for user in unit.uses.get(op.results[0], ()))}


def _weight(value: Value, uniform: dict[Value, bool] | None = None) -> int:
    type_ = value.type
    if not isinstance(type_, TileType) or isinstance(value.op, Constant):
        return 0  # arrays are parameters in constant memory, buffers are offsets
    if not type_.shape:
        return max(1, type_.dtype.bytes // REGISTER_BYTES)
    if type_.layout is None or is_uniform(value, uniform):
        return 0
    bits = 1 if type_.dtype.is_bool else 8 * type_.dtype.bytes
    return -(-registers(type_.layout) * bits // 32)


def _holder(value: Value) -> Value:
    """The value in whose registers a view, a sub-tile or a tile that is rematerialised lives."""
    while (op := kept_by(value).op) is not None and (op.view or isinstance(op, Extract) or widens(op)):
        value = op.operands[0]
    return kept_by(value)


# ---- tiles that are rematerialised -------------------------------------------------------------------------------

LONG = 64  # elements in a thread from which on wide tiles are rematerialised from narrow ones


def kept_by(value: Value) -> Value:
    """The narrow tile from which a wide one is computed wherever it is needed; the value itself if it is kept."""
    chain = computed_again(value) if is_long(value) else ()
    return next((op.operands[0] for op in chain if is_widening(op)), value)


def is_long(value: Value) -> bool:
    """Whether element-wise ops take the tile strip by strip, whatever they compute."""
    type_ = value.type
    return isinstance(type_, TileType) and type_.layout is not None and registers(type_.layout) >= LONG


def computed_again(value: Value) -> Sequence[Op]:
    """The ops that compute a wide tile from a narrow one; none where it is kept."""
    return recomputation(value, lambda op: isinstance(op, KeepRegisters) or is_dear(op), is_uniform)


def narrowed(value: Value) -> tuple[Value, int]:
    """`held`: of a tile that is rematerialised from a narrow one, that one."""
    return held(next((op.operands[0] for op in computed_again(value) if is_widening(op)), value))


def is_dear(op: Op) -> bool:
    """Whether an element takes several instructions."""
    return isinstance(op, (FloatUnary, Div, DivideBy))
