"""One plan of a kernel: the backend's passes within limits, and what becomes of the function when it is asked for."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tilewright.backend_ptx.abi import KernelAbi
from tilewright.backend_ptx.resources.ladder import Facts
from tilewright.backend_ptx.resources.occupancy import register_cap
from tilewright.backend_ptx.resources.registers import MARGIN, estimated_registers
from tilewright.backend_ptx.resources.shared import OutOfSharedMemory
from tilewright.backend_ptx.roles import CONSUMER
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileError, TileInternalError
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.plan import Hints, Limits

if TYPE_CHECKING:
    from tilewright.backend_ptx.lower import Lowered

FunctionObserver = Callable[[str, Function], None]
TextObserver = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel as PTX. `threads` is the block size, `shared_bytes` the dynamic shared memory of a launch, `cluster` the
    number of CTAs that run each block of it.

    `rungs` say how the plan was made smaller until the assembler took it: to `limits`. `timings` holds seconds per
    stage: "lower", "llvm parse", "llvm verify", "llvm passes", "llvm codegen".
    """

    name: str
    target: Target
    llvm_text: str
    ptx: str
    abi: KernelAbi
    threads: int
    shared_bytes: int
    timings: Mapping[str, float]
    cluster: int = 1
    rungs: tuple[str, ...] = ()
    limits: Limits = Limits()


class Attempt:
    """The function after the backend's passes (`machine`), within `limits`.

    `overflow` is set where its buffers do not fit shared memory; then there is nothing more of it.
    """

    def __init__(self, function: Function, target: Target, limits: Limits, observer: FunctionObserver | None = None,
                 text_observer: TextObserver | None = None) -> None:
        from tilewright.backend_ptx.pipeline import run_passes

        self.target, self.limits, self.hints = target, limits, function.hints
        self._text_observer = text_observer
        self._started = time.perf_counter()
        self.machine = clone_function(function)
        self.machine.limits, self.machine.hints = limits, within(function.hints, limits)
        self._allowed = target.up_to_unit(limits.matrix_unit)
        self._depth = max((op.a.type.shape[-1] for op in function.walk() if isinstance(op, Mma)), default=0)
        self.overflow: OutOfSharedMemory | None = None
        try:
            with internal_errors(function.name):
                run_passes(self.machine, self._allowed, observer)
        except OutOfSharedMemory as error:
            self.overflow = error

    @cached_property
    def lowered(self) -> Lowered:
        from tilewright.backend_ptx.lower import emit_function

        with internal_errors(self.machine.name):
            return emit_function(self.machine, self._allowed)

    @cached_property
    def compiled(self) -> Compiled:
        from tilewright.backend_ptx.llvm.compile import llvm_to_ptx

        lowered, observer = self.lowered, self._text_observer
        timings = {"lower": time.perf_counter() - self._started}
        if observer is not None:
            observer("kernel.ll", lowered.llvm_text)
        ptx, stages = llvm_to_ptx(lowered.llvm_text, self.target)
        timings.update(stages)
        if observer is not None:
            observer("kernel.ptx", ptx)
        return Compiled(lowered.name, self.target, lowered.llvm_text, ptx, lowered.abi, lowered.threads,
                        lowered.shared_bytes, timings, lowered.cluster, limits=self.limits)

    @cached_property
    def facts(self) -> Facts:
        """What the ladder asks of the plan."""
        from tilewright.backend_ptx.lower.function import min_blocks
        from tilewright.backend_ptx.ops.matmul import Product

        plan, units = self.machine.plan, self._allowed.matrix_units
        threads = 32 * plan.all_warps
        resident = min_blocks(self.machine, self.target)
        consumer = plan.role(CONSUMER)
        given = consumer.registers if consumer is not None else None
        slots, largest = (self.overflow.slots, self.overflow.largest) if self.overflow is not None else (1, 0)
        outstanding = {op.unit.name for op in self.machine.walk() if isinstance(op, Product) and op.unit.asynchronous}
        unit = next((name for name in units if name in outstanding), None)
        return Facts(
            plan.warps, threads, plan.cluster, slots, largest, self._depth, estimated_registers(self.machine) + MARGIN,
            given or register_cap(resident, threads, self.target), unit,
            next(iter(units[units.index(unit) + 1:]), None) if unit else None, given is not None, resident)


def within(hints: Hints, limits: Limits) -> Hints:
    """The hints as far as the limits let them be met."""
    occupancy = hints.occupancy if limits.max_occupancy is None else limits.max_occupancy
    ctas = hints.num_ctas if limits.ctas is None else limits.ctas
    return replace(hints, occupancy=occupancy, num_ctas=ctas if limits.allow_cluster else 1)


@contextlib.contextmanager
def internal_errors(name: str) -> Iterator[None]:
    """What is no user's mistake becomes a TileInternalError."""
    from tilewright.backend_ptx.llvm.compile import DUMP_HINT

    try:
        yield
    except TileError:
        raise
    except Exception as error:
        raise TileInternalError(
            f"the lowering of kernel {name} failed: {type(error).__name__}: {error}", hints=[DUMP_HINT]
        ) from error
