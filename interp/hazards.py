"""May blocks run side by side? What the memory accesses of a function say about it.

Blocks of a chunk run each op together, so op 1 of every block precedes op 2 of any. That is what the kernel means
unless blocks communicate through memory: by ordered accesses, or through an array that is both read and written.
The latter is harmless where each block keeps to tiles of its own, and where an array only receives atomic updates of
one kind whose old values nobody asks for: those commute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.tileir.analysis.effects import Dependences, written_arrays
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import arith, arrays, atomics, convert, memory, output


@dataclass(frozen=True)
class Hazards:
    """`serial`: blocks must run one after another. `axes`: a chunk may spread over one of these grid axes only (None:
    over any). `lone`: axes are limited by atomic operations that a memory which looks at each access sees block by
    block. The others are positions of parameters: `copied`, those of which loads must copy, since the function also
    writes them; `written`, all that it writes; `accessed`, all that it touches."""

    serial: bool
    axes: frozenset[int] | None
    copied: frozenset[int]
    written: frozenset[int]
    accessed: frozenset[int]
    lone: bool = False


def find_hazards(function: Function, dependences: Dependences) -> Hazards:
    """Classify a function."""
    accesses: dict[int, list[Op]] = {}
    read: set[int] = set()
    used = {v for op in function.walk() for v in op.operands}
    for op in function.walk():
        effects = op.effects()
        for handle in dict.fromkeys((*effects.reads, *effects.writes)):
            for position in dependences.parameters(handle):
                accesses.setdefault(position, []).append(op)
                if handle in effects.reads:
                    read.add(position)
    lone = _lone_atomics(function, accesses)
    # Blocks that print come one after another, so that what each prints stays together.
    serial = any(
        isinstance(op, output.Print) or (op.effects().ordered and not only_updates(op, used) and op not in lone)
        for op in function.walk())
    written = written_arrays(function)
    axes: frozenset[int] | None = None
    for position in sorted(written & read):
        ops = accesses[position]
        own = frozenset((0,)) if ops[0] in lone else _axes_of(function, function.params[position], ops, used)
        if own is None:
            continue
        axes = own if axes is None else axes & own
    return Hazards(serial or axes == frozenset(), axes, written & read, written, frozenset(accesses),
                   any(not only_updates(op, used) for op in lone))


def _lone_atomics(function: Function, accesses: dict[int, list[Op]]) -> set[Op]:
    """Atomic operations that each block executes once, as the only access to what their arrays may share memory with.

    Along axis 0 the elements of a chunk come in the order of its blocks, which is all that their old values depend on.
    What blocks tell each other by them lies in other arrays, whose accesses say for themselves whether it matters.
    """
    shared = {op for ops in accesses.values() if len(ops) > 1 for op in ops}
    return {op for op in function.body.ops if isinstance(op, atomics.Atomic) and op not in shared}


def only_updates(op: Op, used: set[Value]) -> bool:
    """An atomic operation that commutes with its like, and whose old values nobody asks for."""
    return isinstance(op, atomics.AtomicRmw) and op.kind != "xchg" and op.result not in used


def _axes_of(function: Function, root: Value, ops: list[Op], used: set[Value]) -> frozenset[int] | None:
    """The grid axes over which chunks may spread as far as these accesses of `root` go; None for any."""
    updates: list[Any] = [op for op in ops if only_updates(op, used)]
    if len(updates) < len(ops) or len({op.kind for op in updates}) > 1:
        return private_axes(function, root, ops)
    if updates[0].kind != "add" or not updates[0].array.type.dtype.is_float:
        return None
    # Float sums depend on the order: blocks must come in theirs, which one operation outside loops keeps along axis 0.
    return frozenset((0,)) if len(updates) == 1 and updates[0] in function.body.ops else frozenset()


def private_axes(function: Function, root: Value, ops: list[Op]) -> frozenset[int]:
    """Grid axes along which different blocks provably access different elements of `root`: all its accesses name
    the same position along some array axis, and that position is a block's own."""
    if not all(isinstance(op, memory.Load | memory.Store) and op.array is root for op in ops):
        return frozenset()
    accesses: list[Any] = ops
    found: set[int] = set()
    for axis in range(root.type.rank):
        places = {_place(op, axis) for op in accesses}
        if len(places) != 1:
            continue
        index, step, length = places.pop()
        if length <= step:
            found |= _own_axes(index, function)
    return frozenset(found)


def _place(op: Any, array_axis: int) -> tuple[Value, int, int]:
    k = op.order.index(array_axis)
    shape = op.shape if isinstance(op, memory.Load) else op.value.type.shape
    return op.index[k], op.steps[k], shape[k]


def _own_axes(index: Value, function: Function) -> set[int]:
    """Grid axes along which this scalar takes another value for every block, and the same all through a block."""
    op = index.op
    if op is None or op not in function.body.ops:
        return set()
    if isinstance(op, arrays.BlockId):
        return {op.axis}
    if isinstance(op, convert.Cast) and op.src.type.dtype.is_int and op.dtype.bitwidth >= op.src.type.dtype.bitwidth:
        return _own_axes(op.src, function)
    if isinstance(op, arrays.AssumeDivisible):
        return _own_axes(op.src, function)
    if isinstance(op, arith.Add | arith.Sub):
        for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if _fixed(other, function):
                return _own_axes(one, function)
    return set()


def _fixed(value: Value, function: Function) -> bool:
    """A constant or a scalar parameter."""
    return value in function.params or isinstance(value.op, arith.Constant)


def ends(function: Function) -> list[tuple[int, int, int, int, int]]:
    """Of tiles whose index is a block number: the grid axis, the position of the parameter and its axis, the distance
    between tiles and their length."""
    positions = {param: n for n, param in enumerate(function.params)}
    out: dict[tuple[int, int, int, int, int], None] = {}
    for op in function.walk():
        if not isinstance(op, memory.Load | memory.Store) or op.array not in positions:
            continue
        for axis in range(op.array.type.rank):
            index, step, length = _place(op, axis)
            while isinstance(index.op, convert.Cast | arrays.AssumeDivisible):
                index = index.op.src
            if isinstance(index.op, arrays.BlockId):
                out[index.op.axis, positions[op.array], axis, step, length] = None
    return list(out)
