"""How often the ops of a function run, and which elements of arrays they access: the function itself says, run in the
interpreter without the values that decide neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tilewright.estimating.slicing import Slice, is_access
from tilewright.interp.access import each_array
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.lowering import Lowering, Runner, Step
from tilewright.interp.options import ExecutionOptions
from tilewright.interp.program import Pair, Program
from tilewright.interp.rectangles import Thin
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops import control

MAX_BLOCKS = 1 << 15  # of a chunk
# Of one body, over all blocks of the grid. Only loops that wait for what arrays never hold run so often.
MAX_RUNS = 1 << 33
BODIES = (control.For, control.While, control.If)


class Observer(Protocol):
    """Who is told of the accesses. Where indices do not vary by block, all `blocks` access the same.

    `starts` are the first elements of a tile along its axes, `indices` those of each element along the array's axes:
    numbers, or arrays over the blocks (elements: over blocks and tile). `mask` excludes elements.
    """

    def bound(self, values: Sequence[Any]) -> None: ...
    def tile(self, op: Op, ref: ArrayRef, starts: list[Any], blocks: Accessing) -> None: ...
    def elements(self, op: Op, ref: ArrayRef, indices: list[Any], mask: Any, blocks: Accessing) -> None: ...


@dataclass(frozen=True, slots=True)
class Accessing:
    """The blocks that make an access: `count` of them, those of a chunk that are numbered in each of `chosen`, one
    within the other (None: all)."""

    count: int
    chunk: Chunk
    chosen: tuple[Any, ...]

    @property
    def ids(self) -> tuple[Any, Any, Any]:
        """Their coordinates in the grid: int64 arrays."""
        whole = [np.broadcast_to(np.asarray(i, np.int64), (self.chunk.count,)) for i in self.chunk.ids]
        for numbers in self.chosen:
            if numbers is not None:
                whole = [i[numbers] for i in whole]
        x, y, z = whole
        return x, y, z


class CountingProgram(Program):
    """A function as a program that counts: `runs` says how often each body has run, over all blocks."""

    loops = False

    def __init__(self, function: Function, observer: Observer) -> None:
        super().__init__(function)
        self.observer = observer
        self.slice = Slice(function, self.dependences)
        self.runs: dict[Block, int] = {}
        if not self.slice.executed:
            # No block sees what others write, so that all may run side by side.
            self.hazards = replace(self.hazards, serial=False, axes=None, lone=False)
            self.together = 1
        needed = [v for v in self.slice.values if getattr(v.type, "shape", ())]
        self._peak = max([1, *(8 * v.type.size for v in needed if hasattr(v.type, "size"))])

    def count(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run over the whole grid."""
        self.run(grid, args, ExecutionOptions(chunk_blocks=MAX_BLOCKS, chunk_bytes=1 << 25))

    def bound(self, args: Sequence[Any]) -> list[Any]:
        bound = super().bound(args)
        self.observer.bound(bound)
        return bound

    def _overlaps(self, bound: list[Any]) -> bool:
        return bool(self.slice.executed) and super()._overlaps(bound)

    def _lower(
        self, axes: frozenset[int], copied: frozenset[int], checks: frozenset[str], thin: Thin
    ) -> Lowering:
        return CountingLowering(self.function, axes, copied, self.dependences, self)

    def _pair(self, grid: tuple[int, int, int], options: ExecutionOptions) -> Pair | None:
        return None


class CountingLowering(Lowering):
    """Closures of the ops that decide, and of each access one that tells the observer."""

    def __init__(
        self, function: Function, axes: frozenset[int], copied: frozenset[int], dependences: Dependences,
        program: CountingProgram,
    ) -> None:
        self._program = program
        self._slice = program.slice
        self._folded = {body for op in function.walk() if not isinstance(op, BODIES) for body in op.blocks}
        super().__init__(function, axes, copied, dependences)

    def joined(self, values: Sequence[Value], targets: Sequence[Value] | None = None) -> Sequence[Value]:
        pairs = zip(values, values if targets is None else targets, strict=True)
        return [value for value, target in pairs if target in self._slice.values]

    def moves(self, sources: Any, targets: Any) -> Step:
        return super().moves(self.joined(sources, targets), self.joined(targets))

    def block(self, block: Block) -> Runner:
        run, runs = super().block(block), self._program.runs
        if block in self._folded:
            return run
        runs.setdefault(block, 0)

        def counted(regs: Regs) -> None:
            runs[block] += regs[0].count
            if runs[block] > MAX_RUNS:
                raise TileValueError("this runs too often to be counted",
                                     hints=["where a loop waits for what other blocks write, pass real arrays"])
            run(regs)

        return counted

    def step(self, op: Op) -> Step:
        if isinstance(op, BODIES):
            return super().step(op)
        wanted = op in self._slice.executed or any(r in self._slice.values for r in op.results)
        execute = super().step(op) if wanted else _nothing
        tell = self._told(op) if is_access(op) else _nothing
        if tell is _nothing:
            return execute

        def both(regs: Regs) -> None:
            tell(regs)
            execute(regs)
        return both if wanted else tell

    def _told(self, op: Any) -> Step:
        """The step that tells the observer of an access."""
        observer, array, tiled = self._program.observer, self.slot(op.array), "steps" in op.fields
        where = op.index if tiled else [*op.indices, *([] if op.mask is None else [op.mask])]
        slots, varying = self.slot_list(where), [self.varies(v) for v in where]
        active = self.slot(op.active) if "active" in op.fields else None
        steps, masked = op.steps if tiled else (), not tiled and op.mask is not None

        def tell(regs: Regs) -> None:
            going = True if active is None else regs[active]
            if not np.any(going):
                return
            operands, chosen = [regs[s] for s in slots], None if np.all(going) else np.flatnonzero(going)
            ref, count = regs[array], regs[0].count
            if chosen is not None:
                operands = [v[chosen] if by else v for v, by in zip(operands, varying, strict=True)]
                ref, count = (ref.take(chosen) if self.varies(op.array) else ref), len(chosen)
            for one, part, own in each_array(ref, operands, varying):
                blocks = Accessing(count if part is None else len(part), regs[0], (chosen, part))
                if tiled:
                    starts = [np.asarray(i, np.int64) * s for i, s in zip(own, steps, strict=True)]
                    observer.tile(op, one, starts, blocks)
                else:
                    observer.elements(op, one, own[:-1] if masked else own, own[-1] if masked else None, blocks)

        return tell


def _nothing(regs: Regs) -> None:
    """An op whose value nobody needs."""


def counted_blocks(function: Function, body: Callable[[Op], bool]) -> dict[Block, list[Op]]:
    """The bodies of a function that run, each with those of its own ops that `body` takes."""
    blocks = [function.body, *(b for op in function.walk() if isinstance(op, BODIES) for b in op.blocks)]
    return {block: [op for op in block.ops if body(op)] for block in blocks}
