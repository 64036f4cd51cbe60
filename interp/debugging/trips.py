"""How often the bodies of a function's loops run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.options import DEFAULT
from tilewright.interp.program import Grid, Program
from tilewright.interp.rectangles import Thin
from tilewright.tileir.core import Function, Op
from tilewright.tileir.ops.control import For, While


def most_trips(function: Function, grid: Grid, args: Sequence[Any]) -> dict[Op, int]:
    """The largest number of iterations that a loop makes at once, in any block; of a `while`, perhaps with the last
    run of its condition. The arrays in `args` are written."""
    program = _Counting(function)
    program.run(grid, args, DEFAULT)
    return program.most


class _Counting(Program):
    loops = False
    serial = True

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        loops = [op for op in function.walk() if isinstance(op, For | While)]
        self.most: dict[Op, int] = dict.fromkeys(loops, 0)
        self.now: dict[Op, int] = dict.fromkeys(loops, 0)
        self.counted: dict[Op, Op] = {}
        """The op whose runs are the iterations of a loop: the first of its body."""
        for loop in loops:
            first = _first(loop)
            if first is not None:
                self.counted[first] = loop

    def _lower(
        self, axes: frozenset[int], copied: frozenset[int], checks: frozenset[str], thin: Thin
    ) -> Lowering:
        return _CountingLowering(self, copied)


class _CountingLowering(Lowering):
    def __init__(self, program: _Counting, copied: frozenset[int]) -> None:
        self._program = program
        super().__init__(program.function, frozenset(), copied, program.dependences)

    def step(self, op: Op) -> Step:
        plain, program = super().step(op), self._program
        inside = program.counted.get(op)
        if inside is not None:
            plain = self._counts(inside, plain)
        if op not in program.most:
            return plain

        def loop(regs: Regs) -> None:
            program.now[op] = 0
            plain(regs)
            program.most[op] = max(program.most[op], program.now[op])
        return loop

    def _counts(self, loop: Op, plain: Step) -> Step:
        now = self._program.now

        def counted(regs: Regs) -> None:
            now[loop] += 1
            plain(regs)
        return counted


def _first(loop: For | While) -> Op | None:
    """An op that each iteration runs once."""
    blocks = [loop.loop] if isinstance(loop, For) else [loop.before, loop.after]
    return next((op for block in blocks for op in block.ops if not op.terminator), None)
