"""Places where a debugger may stop: there is none on a GPU."""

from __future__ import annotations

from tilewright.backend_ptx.lower.registry import refuse
from tilewright.tileir.ops.debug import Breakpoint

refuse(Breakpoint, "a kernel cannot stop on a GPU", "run it in the interpreter: kernel.debug(grid, ...) stops at its "
       "first statement, kernel.interpret(grid, ...) at breakpoint()")
