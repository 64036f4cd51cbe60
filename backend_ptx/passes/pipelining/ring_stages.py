"""Give operands that threads put into shared memory for wgmma several slots, so that products need not end first.

    before: %r = for(..., init=(%x)) .loop(%k: i32, %acc: tile<128x128xf32>) {
                %b: shared<64x128xbf16> = stage(src=%v)
                %y = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%y))
            }
    after:  %ring: shared<3, 64x128xbf16> = shared_alloc(...)
            %r, %n = for(..., init=(%x, %zero)) .loop(%k: i32, %acc: tile<128x128xf32>, %slot: i32) {
                shared_store(buffer=%ring, slot=%slot, value=%v)            // while products of the round before run
                proxy_fence()
                %b: shared<64x128xbf16> = shared_view(buffer=%ring, slot=%slot, ...)
                %y = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                wgmma_wait(accs=(), pending=1)
                yield(values=(%y, %slot + 1 == 3 ? 0 : %slot + 1))
            }
            wgmma_wait(accs=())

With three slots a round has one barrier, between its stores and its products: what a slot held three rounds ago was
read by products that every thread has waited for before it came to the barrier of the round before. With two slots
another barrier stands before the stores. The decision `staged` says what was decided.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import is_outstanding, left_outstanding, waits_for
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedStore
from tilewright.backend_ptx.ops.warpgroup import SharedView, Stage, proxy_fences
from tilewright.backend_ptx.passes.matmul.outstanding import still_read
from tilewright.backend_ptx.passes.pipelining.ring_depth import SLACK, other_bytes
from tilewright.backend_ptx.resources.occupancy import AIM, shared_of_cta
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.engines import THREADS
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.types import SharedType, TileType

SLOTS = (3, 2)
INDEX = TileType(int32)


def ring_stages(c: Compilation) -> None:
    """Needs rings of loads in place: what they leave of shared memory is used here."""
    function, target = c.function, c.target
    busy = still_read(function)
    if not busy:
        return
    free = _budget(function, target) - other_bytes(function, ())
    for block in [function.body, *(b for op in function.walk() for b in op.blocks)]:
        for op in list(block.ops):
            if not isinstance(op, For):
                continue
            stages = _stages(op, busy)
            each = sum(buffer_bytes(s.result.type) for s in stages)
            fitting = (n for n in SLOTS if n <= (c.limits.max_stages or n) and (n - 1) * each <= free)
            slots = next(fitting, 1) if stages else 1
            if slots == 1:
                continue
            free -= (slots - 1) * each
            c.decide(decisions.staged(slots, each, op.span))
            _Rings(block, op, stages, slots).run()


def _budget(function: Function, target: Target) -> int:
    """Shared memory that a block may take. One without a producer leaves room for a second one beside it."""
    most = shared_of_cta(function.hints.occupancy, target)
    return (most if function.plan.roles else min(most, shared_of_cta(AIM, target))) - SLACK


def _stages(loop: For, busy: set[Op]) -> list[Stage]:
    """The staged operands of a loop whose products run on; none where branches hide some products."""
    ops = loop.loop.ops
    if any(is_outstanding(op) and op not in ops for op in loop.loop.walk()):
        return []
    return [op for op in ops if isinstance(op, Stage) and op in busy]


class _Rings:
    """Rewrites one loop of a block."""

    def __init__(self, block: Block, loop: For, stages: list[Stage], slots: int) -> None:
        self.block = block
        self.loop = loop
        self.stages = stages
        self.slots = slots

    def run(self) -> None:
        before, after = Builder(Block(), self.loop.span), Builder(Block(), self.loop.span)
        rings = {stage: self._allocate(before, stage) for stage in self.stages}
        zero, one, last = (before.value(arith.Constant(value=n, type=INDEX)) for n in (0, 1, self.slots - 1))
        self.loop.init = (*self.loop.init, zero)
        self.loop.results = (*self.loop.results, Value(INDEX, "", self.loop))
        self._body(rings, self.loop.loop.add_param(INDEX, "stage"), zero, one, last)
        place = self.block.ops.index(self.loop)
        if not _is_waited(self.block.ops[place + 1 : place + 2], 0):
            for wait in waits_for(self.loop.loop.ops):
                after.emit(wait)
        self.block.ops[place : place + 1] = [*before.block.ops, self.loop, *after.block.ops]

    def _allocate(self, b: Builder, stage: Stage) -> Value:
        type_: SharedType = stage.result.type
        with b.at(stage.span):
            return b.value(SharedAlloc(type=SharedType(type_.dtype, type_.shape, self.slots, type_.layout)))

    def _body(self, rings: dict[Stage, Value], slot: Value, zero: Value, one: Value, last: Value) -> None:
        b = Builder(Block(), self.loop.span)
        ops = self.loop.loop.ops
        products = [op for op in ops if is_outstanding(op)]
        views: dict[Value, Value] = {}
        for op in ops:
            op.replace_operands(views)
            if isinstance(op, Stage) and op in rings:
                with b.at(op.span):
                    views[op.result] = self._store(b, op, rings[op], slot)
                continue
            if isinstance(op, Yield):
                following = b.value(arith.Add(lhs=slot, rhs=one))
                wraps = b.value(arith.Eq(lhs=slot, rhs=last))
                op.values = (*op.values, b.value(arith.Select(cond=wraps, lhs=zero, rhs=following)))
            b.block.ops.append(op)
            if op is products[-1] and not _is_waited(ops[ops.index(op) + 1 :], len(products)):
                for wait in waits_for(products, len(products)):
                    b.emit(wait)
        self.loop.loop.ops = b.block.ops

    def _store(self, b: Builder, stage: Stage, ring: Value, slot: Value) -> Value:
        b.emit(SharedStore(buffer=ring, slot=slot, value=stage.src))
        for fence in proxy_fences(THREADS, self.loop.loop.ops):
            b.emit(fence)
        axes = tuple(range(len(stage.result.type.shape)))
        view = b.value(SharedView(buffer=ring, slot=slot, axes=axes, shape=stage.result.type.shape))
        view.type, view.hint = stage.result.type, stage.result.hint
        return view


def _is_waited(following: Sequence[Op], pending: int) -> bool:
    """Whether one of these ops waits until no more than `pending` products run."""
    return any((left := left_outstanding(op)) is not None and left <= pending for op in following)
