"""Places where a debugger may stop. It runs functions in its own way (`interp/debugging/`); here they do nothing."""

from __future__ import annotations

from tilewright.interp.chunk import Regs
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.tileir.ops.debug import Breakpoint


@impl_step(Breakpoint)
def breakpoint_(op: Breakpoint, low: Lowering) -> Step:
    def step(regs: Regs) -> None:
        pass

    return step
