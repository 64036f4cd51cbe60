"""Which loads of a loop may be started some rounds early, and how: what `pipeline_loops` chooses from.

A load qualifies when its place in a later round is known now (its index comes from the loop variable and from values
that the loop does not change, by operations that cannot fail), nothing in the loop writes its array, and threads can
copy at least 4 neighbouring bytes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.layouts.ring import ring_layout, widest_copy
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import is_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.barriers.hazards import SPARE_SLOTS
from tilewright.backend_ptx.passes.matmul.operands import slot_of, stages_of
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import arith, arrays, convert
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load

LEAST_STAGED = 1024  # bytes of a slot that tensor cores read: what their swizzles need
# Scalar operations that may be done for a round that never comes.
_HARMLESS = (
    arith.Constant, arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Max, arith.And, arith.Or, arith.Xor,
    arith.Compare, arith.Select, convert.Cast, arrays.AssumeDivisible, arrays.BlockId, arrays.NumBlocks,
    arrays.Extent, arrays.Stride,
)
_DIVISIONS = (arith.FloorDiv, arith.CeilDiv, arith.Mod)


@dataclass(slots=True, eq=False)
class Candidate:
    """A load and its ring. `exchanged`: readers get elements that other threads copy, so that a barrier stands between.

    `copy` is the distribution of the copy over threads, `slot` the layout of a slot, `slice` the ops of the body that
    compute the index, in order; `width` the bytes of one copy, `conversions` those that reading from the ring replaces.
    `stages` are operands of wgmma that a slot itself is, `moves` the permutations between the load and them.
    """

    load: Load
    exchanged: bool
    copy: Layout
    slot: Layout
    width: int
    slice: list[Op] = field(default_factory=list)
    conversions: list[ConvertLayout] = field(default_factory=list)

    stages: list[Stage] = field(default_factory=list)
    moves: list[Op] = field(default_factory=list)

    @property
    def least(self) -> int:
        """The slots without which nothing runs ahead: products that run on keep theirs for a round more."""
        return SPARE_SLOTS + 1 if self.stages else 2

    @property
    def buffers(self) -> int:
        """How many buffers take its place where it gets no ring."""
        return len(self.conversions) + len(self.stages)

    @property
    def bytes(self) -> int:
        """Of one slot."""
        return int(self.load.result.type.size * self.load.result.type.dtype.bytes)


class Staged(NamedTuple):
    """Where tensor cores read a tile, the operands that it becomes, and the permutations on the way."""

    slot: Layout
    stages: list[Stage]
    moves: list[Op]


def staged_place(loop: For, value: Value, users: dict[Value, list[Op]]) -> Staged | str:
    """The layout of a slot that is an operand of the loop's products itself, or why there is none."""
    found = stages_of(value, users)
    if found is None or not found[0]:
        return "it is no operand of wgmma alone"
    stages, moves = found
    ops, type_ = loop.loop.ops, value.type
    slots = {slot_of(s, type_.shape) for s in stages}
    if len(slots) > 1 or any(op not in ops for op in (*stages, *moves)):
        return "products use it in several ways"
    products = [p for s in stages for p in users.get(s.result, [])]
    everywhere = [op for op in loop.loop.walk() if is_outstanding(op)]
    if not all(is_outstanding(p) for p in products) or any(op not in ops for op in everywhere):
        return "products in branches"
    if type_.size * type_.dtype.bytes < LEAST_STAGED:
        return "too few bytes"
    return Staged(slots.pop(), stages, moves)


def find_candidate(
    loop: For, load: Load, users: dict[Value, list[Op]], dependences: Dependences, known: Facts, warps: int,
) -> Candidate | str:
    """The ring that a load of the loop's body could have, or why it can have none."""
    if not load.shape or load.result.type.layout is None:
        return "one element"
    if load.latency == 1:
        return "latency=1"
    if load.memory_order is not MemoryOrder.WEAK:
        return "its memory order"
    if load.padding not in (PaddingMode.ZERO, PaddingMode.UNDETERMINED) and load.check_bounds:
        return f"padding {load.padding.value}"
    summary = dependences.summary(loop)
    if summary.ordered or dependences.alias_class(load.array) in summary.writes:
        return "the loop writes its array"
    needed = _slice(loop, load, known)
    if isinstance(needed, str):
        return needed
    staged = staged_place(loop, load.result, users)
    found = _ring(load, users, warps) if isinstance(staged, str) else _straight(load, staged, warps)
    if isinstance(found, Candidate):
        found.slice = needed
    return found


def _slice(loop: For, load: Load, known: Facts) -> list[Op] | str:
    """The ops of the body on which the index depends, in program order."""
    body = {r: op for op in loop.loop.ops for r in op.results}
    variable, *carried = loop.loop.params
    if load.array in body or load.array in carried:
        return "its array changes in the loop"
    wanted, moves = set(load.index), False
    chosen: set[Op] = set()
    work = list(load.index)
    while work:
        value = work.pop()
        moves = moves or value is variable
        if value in carried:
            return "its index is carried from round to round"
        op = body.get(value)
        if op is None or op in chosen:
            continue
        if not harmless(op, known):
            return "its index is not known early enough"
        chosen.add(op)
        work += [v for v in op.operands if v not in wanted or v in body]
    if not moves:
        return "the same tile in every round"
    return [op for op in loop.loop.ops if op in chosen]


def harmless(op: Op, known: Facts) -> bool:
    if isinstance(op, _DIVISIONS) and op.rhs.type.dtype.is_int:
        divisor = known[op.rhs].constant
        return divisor is not None and divisor > 0
    return isinstance(op, _HARMLESS)


def _straight(load: Load, staged: Staged, warps: int) -> Candidate | str:
    """Straight to where tensor cores read it."""
    access, size = tile_access(load.array.type, load.order, load.steps, load.shape), load.result.type.dtype.bytes
    copy = access.preferred(warps)
    vector = min(access.vector, vector_along(copy, access.order[0])) if access.contiguous else 1
    width = widest_copy(staged.slot, copy, vector, size)
    if not width:
        return f"only {vector * size} bytes lie side by side"
    return Candidate(load, True, copy, staged.slot, width, stages=staged.stages, moves=staged.moves)


def _ring(load: Load, users: dict[Value, list[Op]], warps: int) -> Candidate | str:
    """How to copy and how to lay out the slots."""
    type_ = load.result.type
    access = tile_access(load.array.type, load.order, load.steps, load.shape)
    if not access.contiguous:
        return "its elements are not side by side in memory"
    conversions = [u for u in users.get(load.result, []) if isinstance(u, ConvertLayout)]
    crossing = [u for u in conversions if plan_conversion(type_.layout, u.result.type.layout).kind in ("warp", "block")]
    exchanged = bool(crossing)
    copy = access.preferred(warps) if exchanged else type_.layout
    if not exchanged and is_replicated(copy):
        return "several threads need the same elements"
    readers = tuple(u.result.type.layout for u in crossing) or (copy,)
    size = type_.dtype.bytes
    slot = ring_layout(copy, readers, size)
    vector = min(access.vector, vector_along(copy, access.order[0]))
    width = widest_copy(slot, copy, vector, size)
    if not width:
        return f"only {vector * size} bytes lie side by side"
    return Candidate(load, exchanged, copy, slot, width, conversions=conversions if exchanged else [])


def users_of(value: Value, loop: For) -> list[Op]:
    """The ops of the loop's body (and inside them) that read a value; the value is used nowhere else."""
    return [op for op in loop.loop.walk() if value in op.operands]
