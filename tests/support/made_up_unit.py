"""A matrix unit that no GPU has, declared here alone: ops, engine, record, handlers, lowerings, and its simulation.

Like Blackwell's tensor memory and tcgen05, its accumulators live in a space of their own, one thread issues its MMAs
and alone knows when they are done, and both operands are in shared memory. Nothing in the compiler names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.layouts.mma import ProductLayouts
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.bulk import shared_number
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import AccumulatorRef
from tilewright.backend_ptx.lower.registry import LOWERINGS, lower
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.units import UNITS, MatrixUnit
from tilewright.backend_ptx.passes.matmul.select_instructions import SELECTIONS
from tilewright.backend_ptx.simulator.assembly import MEANINGS
from tilewright.backend_ptx.simulator.engines.bulk import each_thread
from tilewright.backend_ptx.simulator.errors import InFlight, PendingCopy
from tilewright.backend_ptx.simulator.machine.state import WARP as LANES
from tilewright.backend_ptx.simulator.machine.state import BlockState, Machine
from tilewright.backend_ptx.simulator.memory.in_flight import begin_reads, end_reads
from tilewright.backend_ptx.simulator.text.records import declare
from tilewright.backend_ptx.targets import SM_90A, Target
from tilewright.interp.handlers import warpgroup
from tilewright.interp.lowering import HANDLERS, impl, impl_step
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import OPS, Effects, Op, Start, Value, attribute, operand, operands
from tilewright.tileir.engines import SHARED, THREADS, Engine, Issuer, Proxy, space
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.blocked import row_major
from tilewright.tileir.layouts.flat import LANE, OFFSET, REGISTER, WARP
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.rewrite import Rewriter
from tilewright.tileir.types import Type

NAME = "made-up"
ROWS, DEPTH = 32, 16
ENGINE = Engine(NAME, Issuer.ELECTED, Proxy.ASYNC, multiplies=True, in_order=True, swizzles=True)
ACCUMULATORS = space("made-up accumulators")
TARGET: Target = replace(SM_90A, matrix_units=(NAME, "fma"))
Array = np.ndarray[Any, Any]


@contextmanager
def made_up_unit() -> Iterator[type[Product]]:
    """While it lasts the unit exists; gives the class of its MMAs."""
    before = set(OPS)
    ops = _declare_ops()
    _declare_handlers()
    _declare_lowerings(*ops)
    SELECTIONS[NAME] = lambda rewriter, op, c: _select(ops[0], rewriter, op)
    meanings = {"made_up_put": _put, "made_up_get": _get, "made_up_mma": _mma, "made_up_wait": _wait}
    MEANINGS.update(meanings)
    try:
        yield ops[0]
    finally:
        for opcode in set(OPS) - before:
            del LOWERINGS[OPS[opcode]], OPS[opcode], HANDLERS[opcode]
        del SELECTIONS[NAME], UNITS[NAME]
        for name in meanings:
            del MEANINGS[name]


# ---- ops and the record ---------------------------------------------------------------------------------------------


def _declare_ops() -> tuple[type[Product], type[Op], type[Op], type[Op]]:
    class MadeUpEnter(Op, opcode="made_up_enter", collective=True, io=True):
        """A tile in registers goes to the accumulators."""

        src: Value = operand()

        def effects(self) -> Effects:
            return Effects(io=True, starts=(Start(THREADS, self.result, ACCUMULATORS, writes=True),))

        def infer(self) -> tuple[Type, ...]:
            return (self.src.type.erased(),)

    class MadeUpFetch(Op, opcode="made_up_fetch", collective=True, io=True):
        """Accumulators come to registers."""

        src: Value = operand()

        def effects(self) -> Effects:
            return Effects(io=True, starts=(Start(THREADS, self.src, ACCUMULATORS, writes=False),))

        def infer(self) -> tuple[Type, ...]:
            return (self.src.type.erased(),)

    class MadeUpWait(Op, opcode="made_up_wait", collective=True, io=True, waits_for=ENGINE):
        """The thread that issues waits until at most the newest `pending` MMAs are outstanding."""

        accs: tuple[Value, ...] = operands()
        pending: int = attribute(default=0)

        def infer(self) -> tuple[Type, ...]:
            return tuple(v.type.erased() for v in self.accs)

    class MadeUpMma(Product, opcode="made_up_mma", collective=True, io=True):
        """One thread starts a @ b + acc."""

        unit = MatrixUnit(
            NAME, ENGINE, depth=lambda op: DEPTH, layouts=_layouts, describe=lambda op: NAME, a=(SHARED,), b=(SHARED,),
            accumulators=ACCUMULATORS, rows=ROWS, wait=MadeUpWait, enter=MadeUpEnter, fetch=MadeUpFetch)

        def effects(self) -> Effects:
            reads = tuple(Start(ENGINE, v, SHARED, writes=False) for v in (self.a, self.b))
            added = Start(ENGINE, self.result, ACCUMULATORS, writes=True)
            return Effects((self.a, self.b), io=True, starts=(*reads, added))

    return MadeUpMma, MadeUpEnter, MadeUpFetch, MadeUpWait


def _layouts(op: Product, warps: int, rows_only: bool) -> ProductLayouts:
    shapes = (v.type.shape for v in (op.acc, op.a, op.b))
    return ProductLayouts(*(row_major(shape, warps) for shape in shapes))


def _select(kind: type[Product], rewriter: Rewriter, op: Mma) -> Value | None:
    """bfloat16 operands, float32 accumulators."""
    types = [v.type.dtype for v in (op.a, op.b, op.acc)]
    fits = len(op.acc.type.shape) == 2 and op.acc.type.shape[0] >= ROWS and op.a.type.shape[-1] >= DEPTH
    if types != [dt.bfloat16, dt.bfloat16, dt.float32] or not fits:
        return None
    return rewriter.value(kind(a=op.a, b=op.b, acc=op.acc))


def _declare_handlers() -> None:
    """In program order an MMA happens at once, as for any unit, and the rest hands values on."""
    impl_step("made_up_mma")(warpgroup.wgmma)
    impl_step("made_up_wait")(warpgroup.wgmma_wait)
    impl("made_up_enter")(lambda op, low: lambda tile: tile)
    impl("made_up_fetch")(lambda op, low: lambda tile: tile)


# ---- lowering -------------------------------------------------------------------------------------------------------


def _declare_lowerings(mma: type[Product], enter: type[Op], fetch: type[Op], wait: type[Op]) -> None:
    @lower(enter)
    def lower_enter(ctx: Context, op: Any) -> None:
        value: Val = ctx[op.src]
        place = ctx.memo[NAME] = ctx.memo.get(NAME, 0) + 1  # one for each place of the program
        registers = [ctx.b.extract(value, n) for n in range(value.n)]
        address = ctx.b.const("i32", place)
        _move("put", ctx.layout(op.src)).emit(ctx.b, address, *registers)
        ctx.set(op.result, AccumulatorRef(address))

    @lower(fetch)
    def lower_fetch(ctx: Context, op: Any) -> None:
        ctx.set(op.result, ctx.b.vector(list(_move("get", ctx.layout(op.result)).emit(ctx.b, ctx[op.src].address))))

    @lower(mma)
    def lower_mma(ctx: Context, op: Any) -> None:
        record = _start(op.a.type.layout, op.b.type.layout)
        addresses = (shared_number(ctx, ctx[v]) for v in (op.a, op.b))
        record.emit(ctx.b, ctx[op.acc].address, *addresses, _issues(ctx))
        ctx.set(op.result, ctx[op.acc])

    @lower(wait)
    def lower_wait(ctx: Context, op: Any) -> None:
        _done(op.pending).emit(ctx.b, ctx.b.const("i32", 0), _issues(ctx))
        for acc, result in zip(op.accs, op.results, strict=True):
            ctx.set(result, ctx[acc])


def _issues(ctx: Context) -> Val:
    return ctx.once("made-up issuer", lambda b: b.icmp("eq", ctx.tid, 0))


def _record(name: str, operands: tuple[str, ...], results: tuple[str, ...], **facts: Any) -> Instruction:
    """A record with a text of its own."""
    meaning = "made_up_" + name.removeprefix("made.up.")
    text = f"{name}.{next(_NUMBERS)};"
    return declare(Instruction(name, text, operands, results, meaning, facts, reads=True, writes=True))


_NUMBERS = count()


@cache
def _move(way: str, layout: Layout) -> Instruction:
    registers = ("float",) * (1 << len(layout.bases(REGISTER)))
    operands, results = (("i32", *registers), ()) if way == "put" else (("i32",), registers)
    return _record(f"made.up.{way}", operands, results, layout=layout)


@cache
def _start(a: Layout, b: Layout) -> Instruction:
    return _record("made.up.mma", ("i32", "i32", "i32", "i1"), (), a=a, b=b)


@cache
def _done(pending: int) -> Instruction:
    return _record("made.up.wait", ("i32", "i1"), (), pending=pending)


# ---- simulation -----------------------------------------------------------------------------------------------------


@dataclass
class _Running:
    place: int
    product: Array
    offsets: list[Array]
    thread: int


@dataclass(init=False)
class _Unit(BlockState):
    """The accumulators of a CTA by address, and the MMAs that no wait has covered: they end as late as they may."""

    tiles: dict[int, Array] = field(default_factory=dict)
    running: list[_Running] = field(default_factory=list)

    def __init__(self, machine: Machine) -> None:
        self.tiles, self.running = {}, []

    def check(self, machine: Machine) -> None:
        if self.running:
            raise PendingCopy("the kernel ends while an MMA is outstanding", [self.running[0].thread])

    def tile(self, place: int, shape: tuple[int, ...], threads: Array) -> Array:
        """Accumulators for threads to touch: no MMA may be adding to them."""
        if any(r.place == place for r in self.running):
            raise InFlight("a thread touches accumulators of an outstanding MMA", threads)
        return self.tiles.setdefault(place, np.full(shape, np.nan, np.float32))


@cache
def _places(layout: Layout, threads: int) -> Array:
    """The element [threads, registers, axes] of each register of each thread."""
    registers = 1 << len(layout.bases(REGISTER))
    return np.array([[
        layout.apply(**{REGISTER: n, LANE: thread % LANES, WARP: thread // LANES}) for n in range(registers)
    ] for thread in range(threads)])


def _where(layout: Layout, threads: Array) -> tuple[Array, ...]:
    """An index of a tile: the elements [threads, registers] of the registers of these threads."""
    warps = 1 << len(layout.bases(WARP))
    return tuple(np.moveaxis(_places(layout, warps * LANES)[threads], -1, 0))


def _put(c: Any, i: Any, facts: Any) -> Any:
    address, *registers = (c.slot(o) for o in i.operands)
    layout = facts["layout"]

    def run(m: Machine, r: Any) -> None:
        tile = m.of_block(_Unit).tile(int(r[address].flat[0]), layout.shape, m.active)
        tile[_where(layout, m.active)] = np.stack([m.of_active(r[s]) for s in registers], axis=1)

    return run


def _get(c: Any, i: Any, facts: Any) -> Any:
    address, target = c.slot(i.operands[0]), c.result(i)
    layout = facts["layout"]

    def run(m: Machine, r: Any) -> None:
        tile = m.of_block(_Unit).tile(int(r[address].flat[0]), layout.shape, m.active)
        values = m.to_threads(tile[_where(layout, m.active)])
        m.put(r, target, tuple(values.T) if values.shape[1] > 1 else values[:, 0])

    return run


@cache
def _index(layout: Layout) -> tuple[Array, ...]:
    """The element that lies at each offset of a buffer."""
    return tuple(np.array([layout.apply(**{OFFSET: n}) for n in range(layout.size(OFFSET))]).T)


def _read(m: Machine, address: int, layout: Layout, thread: int) -> tuple[Array, Array]:
    size = layout.size(OFFSET) * dt.bfloat16.bytes
    addresses = (address + np.arange(0, size, 16)).astype(np.uint64)
    offsets, data = begin_reads(m.memory, addresses, thread, "a made-up MMA")
    tile = np.zeros(layout.shape)
    tile[_index(layout)] = data.reshape(-1).view(ml_dtypes.bfloat16).astype(float)
    return offsets, tile


def _mma(c: Any, i: Any, facts: Any) -> Any:
    slots = [c.slot(o) for o in i.operands]

    def run(m: Machine, r: Any) -> None:
        for thread, (place, *addresses) in each_thread(m, r, slots):
            found = (_read(m, at, facts[name], thread) for at, name in zip(addresses, "ab", strict=True))
            offsets, (left, right) = zip(*found, strict=True)
            m.of_block(_Unit).running.append(_Running(place, left @ right, list(offsets), thread))

    return run


def _wait(c: Any, i: Any, facts: Any) -> Any:
    slots = [c.slot(o) for o in i.operands]

    def run(m: Machine, r: Any) -> None:
        for thread, _ in each_thread(m, r, slots):
            unit = m.of_block(_Unit)
            while len(unit.running) > facts["pending"]:
                done = unit.running.pop(0)
                unit.tiles[done.place] += done.product.astype(np.float32)
                for offsets in done.offsets:
                    end_reads(m.memory, offsets, done.thread)
            m.memory.clocks.meet(np.array([thread // LANES]))

    return run
