"""Running a marked function under a debugger: block after block, at the user's lines."""

from __future__ import annotations

import os
import pdb
import sys
from typing import Any

from tilewright.interp.chunk import Regs
from tilewright.interp.debugging.code import Machine, Writer
from tilewright.interp.lowering import Lowering
from tilewright.interp.program import Program
from tilewright.interp.rectangles import Thin
from tilewright.tileir.core import Function

Place = tuple[int, int, int]

# What pdb's `step` passes through without stopping: the ops of a line are one step.
SKIPPED = ["tilewright.*", "numpy", "numpy.*", "ml_dtypes", "contextlib"]


class Debugger(pdb.Pdb):
    """pdb that first stops behind the line where it was called: from 3.13 on it would stop in the middle of that line,
    where the user sees nothing that is new."""

    started: tuple[Any, int] | None = None

    def user_line(self, frame: Any) -> None:
        if not self._on_first_line(frame):
            super().user_line(frame)

    def user_opcode(self, frame: Any) -> None:
        if not self._on_first_line(frame):
            super().user_opcode(frame)  # type: ignore[misc]  # Python 3.13 has it

    def _on_first_line(self, frame: Any) -> bool:
        if self.started == (frame, frame.f_lineno):
            self.set_step()
            return True
        self.started = None
        return False


class Debugged(Lowering):
    """A function as code at the user's lines; it runs one block at a time."""

    def __init__(self, program: DebugProgram, copied: frozenset[int], namespace: dict[str, Any]) -> None:
        function = program.function
        super().__init__(function, frozenset(), copied, program.dependences)
        self.machine = Machine(function, self, program.stop)
        kernel = Writer(self.machine, namespace).function(function)

        def run(regs: Regs) -> None:
            self.machine.regs = regs + [None] * (self.slots - len(regs))
            program.place = tuple(int(i) for i in regs[0].ids)
            kernel()

        self.run = run


class DebugProgram(Program):
    """A marked function (`translate(..., debug=True)`) that stops where `breakpoint()` is called, and with `first` also
    at the first statement; of `block`, or of every block. `namespace`: the globals that the debugger sees."""

    loops = False
    serial = True

    def __init__(
        self, function: Function, namespace: dict[str, Any], *, first: bool = False, block: Place | None = None
    ) -> None:
        super().__init__(function)
        self._namespace = namespace
        self._first = first
        self._block = block
        self.place: tuple[int, ...] = ()

    def stop(self, asked: bool) -> bool:
        """Called by the code at its beginning, and where the user wrote `breakpoint()` (`asked`): whether to call
        `breakpoint` there. Where that is plain pdb, one that does not step into the interpreter stops instead."""
        if not (asked or self._first) or self._block not in (None, self.place):
            return False
        if sys.breakpointhook is not sys.__breakpointhook__ or os.environ.get("PYTHONBREAKPOINT"):
            return True
        print(f"block {self.place} of kernel {self.function.name}")
        debugger = Debugger(skip=SKIPPED, nosigint=True)
        debugger.started = sys._getframe(1), sys._getframe(1).f_lineno
        debugger.set_trace(sys._getframe(1))
        return False

    def _lower(
        self, axes: frozenset[int], copied: frozenset[int], checks: frozenset[str], thin: Thin
    ) -> Lowering:
        return Debugged(self, copied, self._namespace)
