"""Matrix multiplies of warpgroups (wgmma): operands in shared memory, started and waited for like copies.

PTX ISA 9.7.15. A warpgroup is four warps; its accumulators are registers that nobody may touch until a wait. In program
order an MMA completes at once and a wait gives its value.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.backend_ptx.instructions.warpgroup import KINDS
from tilewright.backend_ptx.layouts.fragments import warpgroup_fragment
from tilewright.backend_ptx.layouts.warpgroup import LEAST_COLUMNS, ROWS, WARPS, warpgroup_layouts
from tilewright.backend_ptx.ops.engines import PROXY_FENCE, WGMMA, needs_proxy_fence
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import Signal, require_slot
from tilewright.backend_ptx.ops.units import MatrixUnit
from tilewright.tileir.core import (
    Effects,
    Op,
    Start,
    Value,
    attribute,
    operand,
    operands,
    optional_operand,
    require,
    space_of,
)
from tilewright.tileir.dtypes import int32
from tilewright.tileir.engines import REGISTERS, SHARED, Engine
from tilewright.tileir.types import SharedType, TileType, Type


class Stage(Op, opcode="stage"):
    """The tile in a buffer of shared memory of its own, where the result type's layout puts its elements."""

    src: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        return (SharedType(self.src.type.dtype, self.src.type.shape),)


class SharedView(Op, opcode="shared_view"):
    """Slot `slot` of a ring (none: a single buffer) as a buffer of its own, under another shape.

    Its axes are permuted first: axis i becomes axis axes[i] of the slot. Then it gets `shape`, in row-major order.
    """

    buffer: Value = operand()
    slot: Value | None = optional_operand()
    axes: tuple[int, ...] = attribute()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        buffer = self.buffer.type
        ok = isinstance(buffer, SharedType) and sorted(self.axes) == list(range(len(buffer.shape)))
        require(ok, f"shared_view: axes {self.axes} of {buffer}")
        require_slot("shared_view", buffer, self.slot, 0)
        view = SharedType(buffer.dtype, self.shape)
        require(view.size == buffer.size, f"shared_view: {view} does not have {buffer.size} elements")
        return (view,)


class ProxyFence(Signal, opcode="proxy_fence", fence=PROXY_FENCE):
    """Makes what this thread stored in shared memory visible to tensor cores and bulk copies, from the next barrier
    on."""


def proxy_fences(writer: Engine, readers: Iterable[Op]) -> list[Op]:
    """The fence that brings what `writer` put into shared memory to what ops start, where a barrier alone does not."""
    starts = (start for op in readers for start in op.effects().starts)
    engines = {start.engine for start in starts if start.space is SHARED and not start.writes}
    return [ProxyFence()] if any(needs_proxy_fence(writer, engine) for engine in engines) else []


class WgmmaWait(Op, opcode="wgmma_wait", collective=True, io=True, waits_for=WGMMA):
    """The values of accumulators when at most the newest `pending` MMAs of the thread are outstanding."""

    accs: tuple[Value, ...] = operands()
    pending: int = attribute(default=0)

    def infer(self) -> tuple[Type, ...]:
        return tuple(v.type.erased() for v in self.accs)


class Wgmma(Product, opcode="wgmma", collective=True, io=True):
    """Start a @ b + acc. a [M, K]: a tile in registers or a buffer; b [K, N]: a buffer; acc [M, N].

    `kind` names the dtypes (backend_ptx/instructions/warpgroup.py). Until a `wgmma_wait` covers it, only another wgmma
    may take the result, as its acc. Before layouts are assigned, a and b are tiles. `k_of_sums`: in a and b the
    hardware's k counts as accumulators lie (`in_order_of_sums`). `rows_in_pairs`: a lies along m, where the unit cannot
    read it from shared memory: threads read pairs of rows into their registers. `left`: behind so many k
    both are zeros. `wide`: what a is cast from, in a loop's only MMA, which starts in up to `GROUPS` parts of k, each a
    group of its own, and casts a part of A when that part of the iteration before has ended.
    """

    GROUPS = 4

    unit = MatrixUnit(
        "wgmma", WGMMA, a=(SHARED, REGISTERS), b=(SHARED,), warps=WARPS, rows=ROWS, columns=LEAST_COLUMNS,
        depth=lambda op: KINDS[op.kind].k, transposes=lambda op: KINDS[op.kind].transposes,
        layouts=lambda op, warps, rows_only: warpgroup_layouts(
            op.acc.type.shape, op.a.type.shape[-1], warpgroup_fragment(op.kind), warps, op.k_of_sums, op.rows_in_pairs),
        wait=WgmmaWait, describe=lambda op: f"wgmma, {op.kind}")
    kind: str = attribute()
    k_of_sums: bool = attribute(default=False)
    rows_in_pairs: bool = attribute(default=False)
    left: Value | None = optional_operand()
    wide: Value | None = optional_operand()

    @property
    def in_parts(self) -> bool:
        return self.wide is not None

    def start_in_parts(self, wide: Value) -> bool:
        self.wide = wide if self.left is None else None
        return self.in_parts

    @property
    def parts(self) -> list[range]:
        """The steps of k of each group."""
        steps = self.a.type.shape[-1] // KINDS[self.kind].k
        size = -(-steps // self.GROUPS) if self.in_parts else steps
        return [range(first, min(first + size, steps)) for first in range(0, steps, size)]

    def effects(self) -> Effects:
        shared = tuple([v for v in (self.a, self.b) if isinstance(v.type, SharedType)])
        operands = [Start(WGMMA, v, space_of(v), writes=False) for v in (self.a, self.b)]
        return Effects(shared, io=True, starts=(*operands, Start(WGMMA, self.result, REGISTERS, writes=True)))


class SkippedBlocks(Op, opcode="skipped_blocks", speculatable=True):
    """How many blocks of the launch the other warps of the role run before those that execute this run their first one
    (`first`), or between two of theirs, i32: 0 in program order, and for a role that runs all."""

    first: bool = attribute()

    def infer(self) -> tuple[Type, ...]:
        return (TileType(int32),)


class TakeTurn(Signal, opcode="take_turn", collective=True):
    """Wait until the warpgroup before this one has yielded the tensor cores; the first warpgroup goes first."""


class PassTurn(Signal, opcode="pass_turn", collective=True):
    """Let the next warpgroup go on; after the last one comes the first."""
