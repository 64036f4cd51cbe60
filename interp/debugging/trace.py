"""What every op of some blocks computes: a program that records values as it goes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tilewright.interp.chunk import Regs
from tilewright.interp.debugging.show import shown
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.program import Program
from tilewright.interp.rectangles import Thin
from tilewright.tileir.core import Function, Op
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.ops.fold import Fold
from tilewright.tileir.types import TileType

Place = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One result of one op. `name` is the user's, "" where the source gives none; `value` a copy, as NumPy holds it.
    An op without results has a row with the value that it stores, or None."""

    block: Place
    span: Span
    name: str
    op: str
    value: Any


class _Tracing(Lowering):
    def __init__(self, program: TraceProgram, copied: frozenset[int]) -> None:
        self._program = program
        self._in_fold = False
        super().__init__(program.function, frozenset(), copied, program.dependences)

    def step(self, op: Op) -> Step:
        # The body of a fold runs on many pairs of elements at a time: its ops have no one value.
        outside, self._in_fold = self._in_fold, self._in_fold or isinstance(op, Fold)
        plain = super().step(op)
        self._in_fold = outside
        record = self._program.record
        rows = [] if outside else list(self._rows(op))

        def step(regs: Regs) -> None:
            plain(regs)
            place = tuple(int(i) for i in regs[0].ids)
            for name, value in rows:
                record(place, op, name, value(regs))

        return step if rows else plain

    def _rows(self, op: Op) -> Iterator[tuple[str, Callable[[Regs], Any]]]:
        """The name and the value of each row of an op. Loops and branches have rows for what is in them alone."""
        values = op.results or op.operands[-1:]
        if (op.blocks and not op.results) or op.opcode in _SILENT:
            return
        for value in values:
            if isinstance(value.type, TileType):
                slot = self.slot(value)
                yield value.hint if op.results else "", lambda regs, s=slot, v=value: shown(regs[s], v)  # type: ignore[misc]


# Ops that only say what the row after them shows.
_SILENT = ("constant", "breakpoint")


class TraceProgram(Program):
    """Runs a function block after block, and records the ops of `blocks` (None: of all)."""

    loops = False
    serial = True

    def __init__(self, function: Function, blocks: Collection[Place] | None) -> None:
        super().__init__(function)
        self._blocks = blocks
        self.rows: list[Row] = []

    def record(self, place: Any, op: Op, name: str, value: Any) -> None:
        if self._blocks is None or place in self._blocks:
            self.rows.append(Row(place, op.span, name, op.opcode, value))

    def _lower(
        self, axes: frozenset[int], copied: frozenset[int], checks: frozenset[str], thin: Thin
    ) -> Lowering:
        return _Tracing(self, copied)
