"""Registers of each thread, from live ranges over the machine function.

A value's live range goes from its definition to its last use; the registers of the values live at one op, plus what
addresses and temporaries take (OTHER), are what ptxas needs there. Three things differ from a textbook: views and
sub-tiles live in the registers of their source; constants, indices and what is computed from them alone are
rematerialised at each use; operands that an outstanding MMA reads from registers stay live until a wait covers it.
"""

from __future__ import annotations

from tilewright.backend_ptx.layouts.queries import registers
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.engines import REGISTERS
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.shape import Broadcast, Extract, Reshape
from tilewright.tileir.types import TileType

# Registers of a thread beside tiles: addresses, masks, temporaries.
OTHER = 28
REGISTER_BYTES = 4


def is_uniform(value: Value) -> bool:
    """Whether a tile is one register, or made of indices: it is rematerialised where it is used."""
    op = value.op
    if not isinstance(value.type, TileType) or not value.type.shape:
        return True
    if op is None:
        return False
    if op.rematerializable:
        return True
    if isinstance(op, Reshape):
        return is_uniform(op.src)
    if isinstance(op, Broadcast):
        return registers_of(op.src) <= 1 or is_uniform(op.src)
    return op.elementwise and all(is_uniform(v) for v in op.operands)


def registers_of(value: Value) -> int:
    """32-bit registers of a thread that hold a tile; 1 for what is no tile or has no layout yet."""
    type_ = value.type
    if not isinstance(type_, TileType) or type_.layout is None:
        return 1
    return max(1, registers(type_.layout) * type_.dtype.bytes // REGISTER_BYTES)


def live_registers(function: Function) -> int:
    """The most registers of tiles and scalars live at one op, in each thread. Needs layouts on every tile."""
    return _Ranges().peak(function.body, frozenset())


class _Ranges:
    """Registers of values, computed once each."""

    def __init__(self) -> None:
        self._weights: dict[Value, int] = {}

    def peak(self, block: Block, after: frozenset[Value]) -> int:
        """`after`: the values needed after the block, or during all of it."""
        extra = _held_by_outstanding(block)
        alive, most = set(after), 0
        for op in reversed(block.ops):
            results = {_holder(v) for v in op.results}
            reads = {_holder(v) for v in (*op.operands, *extra.get(op, ()))}
            outer = {_holder(v) for inner in op.blocks for v in taken(inner)}
            through = (alive - results) | outer
            most = max(most, self._weight(alive | results), self._weight(through | reads),
                       *(self.peak(inner, frozenset(through)) for inner in op.blocks))
            alive = through | reads
        return max(most, self._weight(alive | set(block.params)))

    def _weight(self, values: set[Value]) -> int:
        return sum(self._of(v) for v in values)

    def _of(self, value: Value) -> int:
        found = self._weights.get(value)
        if found is None:
            found = self._weights[value] = _weight(value)
        return found


def _weight(value: Value) -> int:
    type_ = value.type
    if not isinstance(type_, TileType) or isinstance(value.op, Constant):
        return 0  # arrays are parameters in constant memory, buffers are offsets
    if not type_.shape:
        return max(1, type_.dtype.bytes // REGISTER_BYTES)
    if type_.layout is None or is_uniform(value):
        return 0
    bits = 1 if type_.dtype.is_bool else 8 * type_.dtype.bytes
    return -(-registers(type_.layout) * bits // 32)


def _holder(value: Value) -> Value:
    """The value in whose registers a view or a sub-tile lives."""
    while value.op is not None and (value.op.view or isinstance(value.op, Extract)):
        value = value.op.operands[0]
    return value


def _held_by_outstanding(block: Block) -> dict[Op, list[Value]]:
    """For each wait of the block, and its end, the register operands of MMAs that may be outstanding there."""
    out: dict[Op, list[Value]] = {}
    running: list[Value] = []
    for op in block.ops:
        if not op.effectful:
            continue
        effects = op.effects()
        running += [s.memory for s in effects.starts if s.engine.multiplies and s.space is REGISTERS and not s.writes]
        for engine, pending, _ in effects.completes:
            if engine.multiplies:
                out[op] = list(running)
                if pending == 0:
                    running.clear()
    if running and block.ops:
        out[block.ops[-1]] = running
    return out


def taken(block: Block) -> set[Value]:
    """The values that a block takes from outside."""
    used: set[Value] = set()
    own: set[Value] = set(block.params)
    for op in block.walk():
        used.update(op.operands)
        own.update(op.results)
        for inner in op.blocks:
            own.update(inner.params)
    return used - own
