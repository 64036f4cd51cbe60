"""Emit transfers: slots and phases, carried through loops and branches, and reads of slots.

Slots, barriers and phases appear here and nowhere earlier. A `Carrier` is what an engine contributes: how a copy
starts, what waits for it, how a slot is released. Everything else is the same for all engines:

    %r, %n, %q = for(..., init=(%x, %zero, %zero)) .loop(%k: i32, %acc, %slot: i32, %parity: i32) {
        ...                                                     // the carrier starts copies and waits for them
        %b: shared<64x128xbf16> = shared_view(buffer=%ring, slot=%slot, ...)        // or shared_load, into registers
        ...                                                     // the carrier releases the slot
        yield(values=(..., %slot + 1 == 4 ? 0 : %slot + 1, %slot + 1 == 4 ? %parity ^ 1 : %parity))
    }

All enclosing loops and branches carry the slots that a producer fills, with the parity of their phases: the producer
can then run ahead into the next iteration of an outer loop. Other slots start at 0 with their loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.backend_ptx.ops.matmul import left_outstanding
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.ops.warpgroup import SharedView, SkippedBlocks, Stage
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Ring, Transfer
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.moved import view_of
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.builder import Builder, Constants
from tilewright.tileir.carried import Loop, Region, add_results, body_of, carry, hand_on
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.dtypes import int32, uint32
from tilewright.tileir.engines import THREADS
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import LaunchedBlock
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.types import SharedType, TileType

INDEX = TileType(int32)
GUARDED = ["slot", "parity"]


class Position(NamedTuple):
    """The position of a channel: the slot of the iteration and, if it is mbarrier-synchronised, the parity of its
    phase."""

    slot: Value
    parity: Value | None = None

    @property
    def values(self) -> list[Value]:
        return [v for v in self if v is not None]


Positions = dict[Ring, Position]


class Carrier:
    """What an engine puts into the program for one channel. By default each hook emits nothing."""

    guarded = False  # whether its slots are mbarrier-synchronised, and carried through all enclosing control flow
    read_by_threads = False  # whether threads have read a slot that is not released, beside what MMAs read of it

    def __init__(self, channel: Channel, constants: Constants, known: Facts, warps: int) -> None:
        self.channel, self.ring = channel, channel.ring
        self.constants, self.known, self.warps = constants, known, warps

    @property
    def span(self) -> Span:
        """Where the first of its tiles comes from: what the ring takes is the work of that line."""
        return self.channel.transfers[0].source.span

    def read_at_once(self, transfer: Transfer) -> Sequence[Op]:
        """The ops whose results are read from the slot at the op itself, not at their first use."""
        return ()

    def allocate(self, b: Builder) -> None:
        """Buffers, once for each ring."""
        for transfer in self.channel.transfers:
            with b.at(transfer.source.span):
                one = transfer.type
                type_ = SharedType(one.dtype, one.shape, self.ring.slots, one.layout)
                made = SharedAlloc(type=type_, guarded=self.guarded and self.channel.engine is THREADS)
                self.ring.buffers.append(b.value(made, f"{transfer.name}_ring"))

    def before(self, b: Builder) -> None:
        """Before the loop."""

    def begin(self, b: Builder, at: Position) -> None:
        """At the start of an iteration."""

    def start(self, b: Builder, transfer: Transfer, at: Position) -> None:
        """In place of the transfer's source."""

    def wait(self, b: Builder, at: Position, again: bool = False) -> None:
        """Before the first read of a slot."""

    def acquire(self, b: Builder, at: Position) -> None:
        """Wait until a slot may be filled again."""

    def behind(self, b: Builder, op: Op, at: Position) -> None:
        """After an op of the body."""

    def end(self, b: Builder, at: Position) -> None:
        """Before the iteration's yield."""

    def after(self, b: Builder, at: Position, following: Sequence[Op]) -> int:
        """After the loop; gives how many of the following ops stay above what was emitted."""
        return 0


class Expander:
    """Rewrites a function for the channels that have got slots."""

    def __init__(self, function: Function, carriers: Sequence[Carrier], constants: Constants) -> None:
        self.function, self.constants = function, constants
        self.of_loop: dict[Region, list[Carrier]] = {}
        for carrier in carriers:
            self.of_loop.setdefault(carrier.channel.region, []).append(carrier)
        self.guarded = [c for c in carriers if c.guarded]

    def run(self) -> None:
        start: Positions = {}
        for carrier in self.guarded:
            if carrier.ring not in start:
                with self.constants.top.at(carrier.span):
                    carrier.allocate(self.constants.top)
                start[carrier.ring] = Position(self.constants(0), self.constants(0))
        ends = self._block(self.function.body, start)
        for carrier in self.of_loop.get(self.function, ()):
            self._iterate(carrier, start[carrier.ring])
        body, behind = self.function.body.ops, Builder(Block(), self.function.span)
        for carrier in {c.ring: c for c in self.guarded}.values():
            self._outlast(behind, carrier, ends[carrier.ring])
        body[-1:-1] = behind.block.ops
        self.function.body.ops[:0] = self.constants.top.block.ops

    # ---- positions through control flow ------------------------------------------------------------------------------

    def _inside(self, op: Op) -> list[Ring]:
        """The guarded rings of the loops that an op is or contains."""
        if not op.blocks or not self.guarded:
            return []
        ops = {op, *op.inside()}
        return list(dict.fromkeys(c.ring for c in self.guarded if c.channel.region in ops))

    def _block(self, block: Block, at: Positions) -> Positions:
        """Rewrite a block; the positions at its end."""
        at = dict(at)
        following, block.ops = block.ops, []
        while following:
            op = following.pop(0)
            rings = self._inside(op)
            if isinstance(op, (For, While)) and (rings or op in self.of_loop):
                at.update(self._loop(Builder(block, op.span), op, rings, at, following))
                continue
            ends = [self._block(inner, at) for inner in op.blocks]
            if rings:
                assert isinstance(op, If)
                for inner, end in zip(op.blocks, ends, strict=True):
                    hand_on(inner, [v for r in rings for v in end[r].values])
                at.update(_positions(rings, add_results(op, [INDEX] * 2 * len(rings), GUARDED * len(rings))))
            block.ops.append(op)
        return at

    def _loop(self, b: Builder, loop: Loop, rings: list[Ring], at: Positions, following: list[Op]) -> Positions:
        """Rewrite a loop and append it; the positions after it."""
        skips = self.function.plan.teams > 1 and isinstance(loop.operands[0].op, LaunchedBlock)
        if skips:
            at = {r: self._skip(b, r, at[r], first=True) for r in rings}
        params, results = carry(loop, [v for r in rings for v in at[r].values], GUARDED * len(rings))
        starts, out = _positions(rings, params), _positions(rings, results)
        ends = self._block(body_of(loop), {**at, **starts})
        carriers = self.of_loop.get(loop, [])
        for carrier in carriers:
            if carrier.ring in starts:
                ends[carrier.ring] = self._iterate(carrier, starts[carrier.ring])
        if skips:
            behind = Builder(Block(), b.span)
            ends |= {r: self._skip(behind, r, ends[r], first=False) for r in rings}
            body_of(loop).ops[-1:-1] = behind.block.ops
        hand_on(body_of(loop), [v for r in rings for v in ends[r].values])
        for carrier in carriers:
            if carrier.ring not in starts:
                b.span = carrier.span
                carrier.allocate(b)
                carrier.before(b)
                [slot], [last] = carry(loop, [self.constants(0)], ["slot"])
                hand_on(body_of(loop), self._iterate(carrier, Position(slot)).values)
                out[carrier.ring] = Position(last)
        b.block.ops.append(loop)
        for carrier in carriers:
            behind = Builder(Block(), carrier.span)
            place = carrier.after(behind, out[carrier.ring], following)
            following[place:place] = behind.block.ops
        return {r: out[r] for r in rings}

    def _skip(self, b: Builder, ring: Ring, at: Position, first: bool) -> Position:
        """The position after the blocks that other teams of warps run meanwhile."""
        assert at.parity is not None
        trips = b.number(0)
        for loop in {c.loop: None for c in ring.channels}:
            assert isinstance(loop, For)
            most = b.value(arith.Max(lhs=b.cast(loop.upper, int32), rhs=b.number(0)))
            trips = b.value(arith.Add(lhs=trips, rhs=most))
        trips = b.value(arith.Mul(lhs=trips, rhs=b.value(SkippedBlocks(first=first))))
        passed = b.cast(b.value(arith.Add(lhs=at.slot, rhs=trips)), uint32)
        laps, slots = b.value(arith.FloorDiv(lhs=passed, rhs=b.number(ring.slots, uint32))), b.number(ring.slots)
        laps = b.cast(laps, int32)
        slot = b.value(arith.Sub(lhs=b.cast(passed, int32), rhs=b.value(arith.Mul(lhs=laps, rhs=slots))))
        odd = b.value(arith.And(lhs=laps, rhs=b.number(1)))
        return Position(slot, b.value(arith.Xor(lhs=at.parity, rhs=odd)))

    # ---- one iteration -----------------------------------------------------------------------------------------------

    def _iterate(self, carrier: Carrier, at: Position) -> Position:
        """Rewrite the body of a carrier's region; the position of the next iteration."""
        block = body_of(carrier.channel.region)
        *ops, end = block.ops
        b = Builder(Block(), carrier.span)
        body = _Body(carrier, b, at)
        carrier.begin(b, at)
        for op in ops:
            body.rewrite(op)
        b.span = carrier.span
        body.read_for(end)
        carrier.behind(b, end, at)
        carrier.end(b, at)
        following = self._next(b, carrier.ring, at)
        block.ops = [*b.block.ops, end]
        return following

    def _outlast(self, b: Builder, carrier: Carrier, at: Position) -> None:
        """A CTA of a cluster stays until the others have released its slots: they arrive on mbarriers of its own."""
        for _ in range(carrier.ring.slots if carrier.ring.ctas > 1 else 0):
            carrier.acquire(b, at)
            at = self._next(b, carrier.ring, at)

    def _next(self, b: Builder, ring: Ring, at: Position) -> Position:
        zero, one, last = (self.constants(n) for n in (0, 1, ring.slots - 1))
        more, wraps = arith.Add(lhs=at.slot, rhs=one), arith.Eq(lhs=at.slot, rhs=last)
        b.extend((more, wraps) if at.parity is None else (wraps, more))
        slot = b.value(arith.Select(cond=wraps.result, lhs=zero, rhs=more.result))
        if at.parity is None:
            return Position(slot)
        flipped = b.value(arith.Xor(lhs=at.parity, rhs=one))
        return Position(slot, b.value(arith.Select(cond=wraps.result, lhs=flipped, rhs=at.parity)))


class _Body:
    """Rewrite the ops of a body: sources become starts of copies, and reads of slots replace what was loaded."""

    def __init__(self, carrier: Carrier, b: Builder, at: Position) -> None:
        self.carrier, self.b, self.at = carrier, b, at
        transfers = carrier.channel.transfers
        self.starts: dict[Op, Transfer] = {t.source: t for t in transfers}
        self.held = {op.results[0]: t for t in transfers for op in (*t.stages, *t.conversions, t.source)}
        self.eager = {op for t in transfers for op in carrier.read_at_once(t)}
        self.dead = {op for t in transfers for op in (*t.stages, *t.moves, *t.conversions)}.difference(self.eager)
        self.read: dict[Value, Value] = {}

    def rewrite(self, op: Op) -> None:
        self.b.span = op.span
        if op in self.starts:
            self.carrier.start(self.b, self.starts[op], self.at)
        elif op in self.dead:
            return
        if op in self.eager and op.operands[0] not in self.read:
            self._read(op.results[0])
        elif op not in self.starts:
            if self.carrier.read_by_threads and left_outstanding(op) is not None:
                # ptxas hoists a wait for MMAs above what may run beside these, but for the end of a basic block: a
                # second wait for the bytes, which have landed, is one.
                self.carrier.wait(self.b, self.at, again=True)
            self.read_for(op)
            self.b.block.ops.append(op)
            if op in self.eager:
                del self.held[op.results[0]]  # of a tile that is in registers already
        self.carrier.behind(self.b, op, self.at)

    def read_for(self, op: Op) -> None:
        """Read from slots what an op needs, unless it has been read before."""
        wanted = [value for value in all_reads(op) if value in self.held]
        for value in wanted:
            if value not in self.read:
                self._read(value)
        if wanted:
            replace_everywhere(op, self.read)

    def _read(self, value: Value) -> None:
        """A staged operand as a view of the slot, or the tile in registers."""
        transfer = self.held[value]
        buffer, slot, stage = self.carrier.channel.buffer(transfer), self.at.slot, value.op
        if not self.read:
            self.carrier.wait(self.b, self.at)
        if isinstance(stage, Stage):
            axes, shape = view_of(stage.src)
            if stage is transfer.source:
                axes = tuple(range(len(shape)))
            made = self.b.value(SharedView(buffer=buffer, slot=slot, axes=axes, shape=shape), stage.src.hint)
        else:
            self.carrier.read_by_threads = True
            made = self.b.value(SharedLoad(buffer=buffer, slot=slot, index=(), shape=value.type.shape), value.hint)
        self.read[value] = made.retype(value.type)


def _positions(rings: Sequence[Ring], values: Sequence[Value]) -> Positions:
    """Slots and parities of guarded rings."""
    return {ring: Position(*values[2 * i:2 * i + 2]) for i, ring in enumerate(rings)}
