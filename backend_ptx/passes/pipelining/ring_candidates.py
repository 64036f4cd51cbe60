"""Which loads of a loop a producer can bring into rings, and what uses them there: `ring_loads` chooses from these.

A load qualifies when TMA can copy its tile and when all that decides whether and where it happens can be computed
twice, by the producer and by the consumers: single numbers from parameters, loop variables, block numbers and arrays
that the kernel does not write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from tilewright.backend_ptx.layouts.bulk import bulk_layout, inner_axis, tma_refusal
from tilewright.backend_ptx.layouts.flat import OFFSET
from tilewright.backend_ptx.ops.matmul import is_outstanding
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.matmul.operands import dense_axis, source_of
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import control
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import ArrayType, SharedType

# Smaller tiles are not worth a ring's barriers.
LEAST_BYTES = 1024


@dataclass(slots=True, eq=False)
class Candidate:
    """A load, the layout and dtype of its ring's slots. `stages`: the buffers that views of a slot replace. `ctas`: the
    blocks of a cluster that each bring a part of the tile for all."""

    load: Load
    slot: Layout
    dtype: DType
    stages: list[Stage] = field(default_factory=list)
    ctas: int = 1

    @property
    def type(self) -> SharedType:
        """Of one slot."""
        tile = self.load.result.type
        return SharedType(self.dtype, tile.shape, layout=self.slot)

    @property
    def bytes(self) -> int:
        return int(self.type.size * self.type.dtype.bytes)


class Scope:
    """What is known of a function while its loads are looked at."""

    def __init__(self, function: Function, users: dict[Value, list[Op]]) -> None:
        self.users = users
        self.dependences = Dependences(function)
        self.params = set(function.params)
        self.owner: dict[Block, Op] = {block: op for op in function.walk() for block in op.blocks}
        self.block_of: dict[Op, Block] = {}
        self._index(function.body)
        self.written = {self.dependences.alias_class(m) for op in function.walk() for m in op.effects().writes}
        self._twice: dict[Value, bool] = {}

    def _index(self, block: Block) -> None:
        for op in block.ops:
            self.block_of[op] = block
            for inner in op.blocks:
                self._index(inner)

    def around(self, op: Op) -> list[Op]:
        """The structured ops around an op, the innermost first."""
        out = []
        block = self.block_of[op]
        while block in self.owner:
            out.append(self.owner[block])
            block = self.block_of[out[-1]]
        return out

    def known_twice(self, values: Iterable[Value]) -> bool:
        """Whether the producer can compute the values for itself."""
        work = list(values)
        seen: set[Value] = set()
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            needed = self._needs(value)
            if needed is None:
                return False
            work += needed
        return True

    def _needs(self, value: Value) -> list[Value] | None:
        """What a value is computed from, None where only the consumers know it."""
        if value in self.params:
            return []
        if not isinstance(value.type, ArrayType) and getattr(value.type, "size", 1) > 1:
            return None
        owner = value.owner
        if isinstance(owner, Block):
            return self._param_needs(self.owner[owner], owner, value)
        assert isinstance(owner, Op)
        if isinstance(owner, control.For):
            return self._param_needs(owner, owner.loop, owner.loop.params[1 + owner.results.index(value)])
        if owner.blocks:
            return None
        effects = owner.effects()
        if effects.writes or effects.ordered or effects.io:
            return None
        if any(self.dependences.alias_class(m) in self.written for m in effects.reads):
            return None
        return owner.operands

    def _param_needs(self, op: Op, block: Block, value: Value) -> list[Value] | None:
        if not isinstance(op, control.For):
            return None
        bounds = [op.lower, op.upper, op.step]
        number = block.params.index(value)
        if number == 0:
            return bounds
        return [*bounds, op.init[number - 1], block.terminator.operands[number - 1]]


def brought_loads(function: Function, users: dict[Value, list[Op]]) -> set[Load]:
    """The loads that a producer could bring: those of loops with wgmma that `refusal` lets pass."""
    scope = Scope(function, users)
    loops = [op for op in function.walk() if isinstance(op, control.For) and has_products(op)]
    return {op for loop in loops for op in loop.loop.ops if isinstance(op, Load) and refusal(op, scope) is None}


def has_products(loop: control.For) -> bool:
    return any(is_outstanding(op) for op in loop.loop.ops)


def refusal(load: Load, scope: Scope) -> str | None:
    """Why a load can have no ring, None if it can."""
    if not load.shape:
        return "one element"
    if load.latency == 1:
        return "latency=1"
    if load.allow_tma is False:
        return "allow_tma=False"
    if load.memory_order is not MemoryOrder.WEAK:
        return "its memory order"
    if load.padding not in (PaddingMode.ZERO, PaddingMode.UNDETERMINED) and load.check_bounds:
        return f"padding {load.padding.value}"
    refused = tma_refusal(load.array.type, load.shape, load.steps, load.order)
    if refused is not None:
        return refused
    if load.array not in scope.params:
        return "its array is no parameter"
    if scope.dependences.alias_class(load.array) in scope.written:
        return "the kernel writes its array"
    if any(not isinstance(op, (control.For, control.If)) for op in scope.around(load)):
        return "it stands in a while loop"
    conditions = [op.cond for op in scope.around(load) if isinstance(op, control.If)]
    bounds = [v for op in scope.around(load) if isinstance(op, control.For) for v in (op.lower, op.upper, op.step)]
    if not scope.known_twice([*load.index, *conditions, *bounds]):
        return "its place depends on what other threads compute"
    size = load.result.type.size * load.result.type.dtype.bytes
    return f"only {size} bytes" if size < LEAST_BYTES else None


def find_candidate(loop: control.For, load: Load, scope: Scope) -> Candidate | str:
    """The ring that a load of a loop's body could have, or why it can have none."""
    refused = refusal(load, scope)
    if refused is not None:
        return refused
    inner = inner_axis(load.array.type, load.shape, load.steps, load.order)
    assert inner is not None
    dtype = load.result.type.dtype
    found = Candidate(load, bulk_layout(load.shape, inner, dtype.bytes), dtype)
    stages = _stages(loop, load, scope)
    if stages and only_leads_to(load.result, stages, scope.users):
        found.dtype = stages[0].result.type.dtype  # tfloat32 of float32: TMA rounds
    found.stages = [s for s in stages if s.result.type.dtype is found.dtype]
    return found


def only_leads_to(value: Value, stages: Collection[Op], users: dict[Value, list[Op]]) -> bool:
    """Whether a value has no use but those staged operands, over ops that move it."""
    seen, work = {value}, [value]
    while work:
        found = users.get(work.pop(), [])
        if not found:
            return False
        for user in found:
            if user in stages:
                continue
            if len(user.results) != 1 or user.blocks or user.effects().writes:
                return False
            if user.results[0] not in seen:
                seen.add(user.results[0])
                work.append(user.results[0])
    return True


def _stages(loop: control.For, load: Load, scope: Scope) -> list[Stage]:
    """The staged operands that the slot itself can be: dense along the same axis, used by products of this loop."""
    out = []
    for op in loop.loop.ops:
        if not isinstance(op, Stage) or source_of(op.src)[0] is not load.result:
            continue
        if dense_axis(op.src) != next(i for i, part in enumerate(op.result.type.layout.bases(OFFSET)[0]) if part):
            continue
        if all(is_outstanding(u) and u in loop.loop.ops for u in scope.users.get(op.result, [])):
            out.append(op)
    return out
