"""From Tile IR to closures: every op becomes one Python closure over numbered registers, once per function.

Handlers, the NumPy implementations of ops, stand in `handlers/` and register themselves here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tilewright.interp.chunk import Regs, spread
from tilewright.interp.liveness import byte_size, captured, deaths
from tilewright.interp.uniform import varying_values
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileError, TileInternalError, TileUnsupportedFeatureError, at
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.tensor_cores import TensorCores
from tilewright.tileir.types import Type

Step = Callable[[Regs], Any]
Runner = Callable[[Regs], None]

# Registers of dead values below this size are not worth a closure that clears them.
RELEASE_BYTES = 1024


# A handler runs once per op while a function is compiled, and returns the closure that runs per chunk.
Handler = Callable[[Any, "Lowering"], Callable[..., Any]]
H = TypeVar("H", bound=Handler)


class Entry(NamedTuple):
    """A handler; `step` says whether its closure takes the registers or the operand values."""

    handler: Handler
    step: bool


HANDLERS: RuleTable[Entry] = RuleTable("handler in the interpreter")


def _register(op: type[Op] | str, step: bool) -> Callable[[H], H]:
    def register(handler: H) -> H:
        HANDLERS.add(op, Entry(handler, step))
        return handler

    return register


def impl(op: type[Op] | str) -> Callable[[H], H]:
    """Register `handler(op, lowering) -> closure(*operand_values)`, which returns the result, a tuple of results, or
    None for an op without results. Operand values come in the order of `op.operands`.

    A tile value is an array with a leading axis over the blocks of the chunk where `lowering.varies(value)`, and
    without that axis where it does not; floats of 16 bits and tf32 are held as float32, 8- and 4-bit floats as codes.
    """
    return _register(op, step=False)


def impl_step(op: type[Op] | str) -> Callable[[H], H]:
    """Register `handler(op, lowering) -> closure(registers)`, which reads and writes `registers[lowering.slot(v)]`."""
    return _register(op, step=True)


class Lowering:
    """Compiles a function for chunks of blocks that differ along `axes` (none: one block at a time).

    Handlers ask it for `slot`, `varies`, `block`, `follow` and `overwritten`. `copied` are the positions of parameters
    whose memory may change while tiles of it live. `thin`: values that are held for each position along one axis of
    a rectangle of blocks, by that axis (interp/rectangles.py). `numerics`: whose sums of
    products are computed, bit for bit.
    """

    def __init__(
        self, function: Function, axes: frozenset[int], copied: frozenset[int], dependences: Dependences,
        thin: Mapping[Value, int] | None = None, numerics: TensorCores | None = None,
    ) -> None:
        self.function = function
        self.numerics = numerics
        self.axes = axes
        self.thin = thin or {}
        self._copied = copied
        self._dependences = dependences
        self._varying = varying_values(function, axes)
        self._slots: dict[Value, int] = {}
        self.params = self.slot_list(function.params)
        self.run = self.block(function.body)

    @property
    def peak(self) -> int | None:
        """The bytes that live at once in a block, if that is known better than from the function."""
        return None

    @property
    def slots(self) -> int:
        """Number of registers, register 0 (the chunk) included."""
        return len(self._slots) + 1

    def slot(self, value: Value) -> int:
        """The register of a value."""
        return self._slots.setdefault(value, len(self._slots) + 1)

    def slot_list(self, values: Any) -> tuple[int, ...]:
        return tuple(self.slot(v) for v in values)

    def temporary(self, type_: Type, varies: bool) -> Value:
        """A value of no op, for a handler that is made of others."""
        value = Value(type_)
        if varies:
            self._varying.add(value)
        return value

    def varies(self, value: Value) -> bool:
        """Does the value have a leading axis over the blocks of the chunk?"""
        return value in self._varying

    def overwritten(self, array: Value) -> bool:
        """May the memory of an array change while a tile of it lives?"""
        return not self._copied.isdisjoint(self._dependences.parameters(array))

    def joined(self, values: Sequence[Value], targets: Sequence[Value] | None = None) -> Sequence[Value]:
        """What moves where these values go to `targets`, values of a join: they, and what a subclass keeps of each."""
        return values

    def follow(self, *blocks: Block) -> tuple[int, ...]:
        """Registers of varying values that bodies capture: what to split when some blocks of a chunk enter them."""
        return self.slot_list(v for v in captured(*blocks) if self.varies(v))

    def block(self, block: Block) -> Runner:
        """The ops of a block but its terminator, as one callable."""
        pairs = self.steps(block)
        steps = tuple(step for step, _ in pairs)

        def run(regs: Regs) -> None:
            step: Step | None = None
            try:
                for step in steps:
                    step(regs)
            except TileError as error:
                with at(_op_of(step, pairs).span):
                    raise error
            except MemoryError:
                raise
            except Exception as error:
                op = _op_of(step, pairs)
                raise TileInternalError(
                    f"the interpreter failed in {op.opcode}: {type(error).__name__}: {error}", op.span
                ) from error

        return run

    def steps(self, block: Block) -> list[tuple[Step, Op]]:
        """The ops of a block but its terminator, each with its step."""
        return self.sequence(block.ops, dict(zip(block.ops, deaths(block.ops), strict=True)))

    def sequence(self, ops: Sequence[Op], dying: dict[Op, list[Value]]) -> list[tuple[Step, Op]]:
        """Steps of these ops, and of the release of what dies with each."""
        pairs: list[tuple[Step, Op]] = []
        for op in ops:
            if op.terminator:
                continue
            with at(op.span):
                pairs.append((self.step(op), op))
            dead = [self.slot(v) for v in dying[op]
                    if byte_size(v) * (64 if self.varies(v) else 1) >= RELEASE_BYTES]
            if dead:
                pairs.append((_release(dead), op))
        return pairs

    def moves(self, sources: Any, targets: Any) -> Step:
        """Parallel assignment of values to values of a join; uniform ones are spread where the target varies."""
        src, dst = self.slot_list(sources), self.slot_list(targets)
        grow = tuple(self.varies(t) and not self.varies(s) for s, t in zip(sources, targets, strict=True))
        if any(grow):
            def move(regs: Regs) -> None:
                count = regs[0].count
                values = [spread(regs[s], count) if g else regs[s] for s, g in zip(src, grow, strict=True)]
                for d, value in zip(dst, values, strict=True):
                    regs[d] = value
            return move
        if len(src) == 1:
            [s], [d] = src, dst

            def move_one(regs: Regs) -> None:
                regs[d] = regs[s]
            return move_one

        def move_all(regs: Regs) -> None:
            values = [regs[s] for s in src]
            for d, value in zip(dst, values, strict=True):
                regs[d] = value
        return move_all

    def step(self, op: Op) -> Step:
        """What executes one op; those in its blocks included."""
        entry = HANDLERS.of(op)
        if entry is None:
            raise TileUnsupportedFeatureError(f"the interpreter cannot execute {op.opcode}")
        function = entry.handler(op, self)
        if entry.step:
            return function
        return _wire(function, self.slot_list(op.operands), self.slot_list(op.results))


def _op_of(step: Step | None, pairs: list[tuple[Step, Op]]) -> Op:
    return next((op for s, op in pairs if s is step), pairs[0][1])


def _release(slots: list[int]) -> Step:
    def release(regs: Regs) -> None:
        for s in slots:
            regs[s] = None
    return release


def _wire(fn: Callable[..., Any], src: tuple[int, ...], dst: tuple[int, ...]) -> Step:
    """A step that calls `fn` with the values of some registers and stores what it returns."""
    if len(dst) != 1:
        def many(regs: Regs) -> None:
            out = fn(*[regs[s] for s in src])
            for d, value in zip(dst, out or (), strict=True):
                regs[d] = value
        return many
    [d] = dst
    match src:
        case ():
            def nullary(regs: Regs) -> None:
                regs[d] = fn()
            return nullary
        case (a,):
            def unary(regs: Regs) -> None:
                regs[d] = fn(regs[a])
            return unary
        case (a, b):
            def binary(regs: Regs) -> None:
                regs[d] = fn(regs[a], regs[b])
            return binary
        case _:
            def variadic(regs: Regs) -> None:
                regs[d] = fn(*[regs[s] for s in src])
            return variadic
