"""From a Tile IR function to PTX: lower it to LLVM text, compile that; no GPU and no driver needed.

An attempt is one plan of a kernel: the backend's passes within limits, and what becomes of the function when it is
asked for. Where shared memory overflows or the assembler refuses the code, the ladder (resources/ladder.py) makes
another attempt with tighter limits.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from typing import NamedTuple, Protocol

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.abi import Lowered
from tilewright.backend_ptx.llvm.compile import DUMP_HINT, llvm_to_ptx
from tilewright.backend_ptx.resources.ladder import Accepted, Facts, climb
from tilewright.backend_ptx.resources.occupancy import RESERVED, register_cap
from tilewright.backend_ptx.resources.registers import MARGIN, REGISTER_BYTES, estimated_registers
from tilewright.backend_ptx.resources.shared import OutOfSharedMemory
from tilewright.backend_ptx.resources.verdict import FULL_LEVEL, Rejection, Shortage, of_error, of_log, of_overflow
from tilewright.backend_ptx.roles import CONSUMER
from tilewright.backend_ptx.targets import Target, get_target
from tilewright.tileir.analysis.live_tiles import too_large
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileError, TileInternalError
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.plan import PLAIN, Hints, Limits, Switches
from tilewright.tileir.process import uncollected

# Live ranges so many times over what a hint leaves. They overestimate some softmax and norms up to three times.
HOPELESS = 4


class Watch(Protocol):
    """Sees what becomes of a kernel, in each attempt if several are made."""

    def function(self, stage: str, function: Function, /) -> None:
        """The function after a pass of the backend."""

    def text(self, name: str, text: str, /) -> None:
        """ "kernel.ll" before LLVM reads it, and "kernel.ptx"."""


class Look(NamedTuple):
    """A watch made of functions; without any it sees nothing."""

    function: Callable[[str, Function], None] = lambda stage, function: None
    text: Callable[[str, str], None] = lambda name, text: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled(Lowered):
    """A kernel as PTX.

    `rungs` say how the plan was made smaller until the assembler took it: to `limits`. `timings` holds seconds per
    stage: "lower", "llvm parse", "llvm verify", "llvm passes", "llvm codegen".
    """

    ptx: str
    timings: Mapping[str, float]
    rungs: tuple[str, ...] = ()
    limits: Limits = Limits()

    def _repr_html_(self) -> str:
        """How a notebook displays it: resources and the PTX, folded, without scripts or colours."""
        head = f"<strong>{escape(self.name)}</strong> for {self.target}: {self.threads} threads a CTA, "
        how = 'tabindex="0" role="group" aria-label="PTX" style="overflow-x: auto; text-align: left"'
        text = f"<pre {how}>{escape(self.ptx)}</pre>"
        lines = len(self.ptx.splitlines())
        return (f"<div>{head}{self.shared_bytes} bytes of shared memory<details><summary>PTX, {lines} lines</summary>"
                f"{text}</details></div>")


class Attempt:
    """The function after the backend's passes (`machine`), within `limits`.

    `overflow` is set where its buffers do not fit shared memory; then there is nothing more of it.
    """

    def __init__(self, function: Function, target: Target, limits: Limits, watch: Watch | None = None) -> None:
        from tilewright.backend_ptx.pipeline import run_passes

        self.target, self.limits, self.hints = target, limits, function.hints
        self._watch = watch or Look()
        self._started = time.perf_counter()
        self.machine = clone_function(function)
        self.machine.limits, self.machine.hints = limits, limits.met(function.hints)
        self._allowed = target.up_to_unit(limits.matrix_unit)
        self._depth = max((op.a.type.shape[-1] for op in function.walk() if isinstance(op, Mma)), default=0)
        self.overflow: OutOfSharedMemory | None = None
        try:
            with internal_errors(function.name), uncollected:
                run_passes(self.machine, self._allowed, None if watch is None else watch.function)
        except OutOfSharedMemory as error:
            self.overflow = error

    @cached_property
    def lowered(self) -> Lowered:
        from tilewright.backend_ptx.lower import emit_function

        with internal_errors(self.machine.name), uncollected:
            return emit_function(self.machine, self._allowed)

    @cached_property
    def compiled(self) -> Compiled:
        lowered = self.lowered
        timings = {"lower": time.perf_counter() - self._started}
        self._watch.text("kernel.ll", lowered.llvm_text)
        ptx, stages = llvm_to_ptx(lowered.llvm_text, self.target.at_least(lowered.abi.ptx))
        self._watch.text("kernel.ptx", ptx)
        own = {field.name: getattr(lowered, field.name) for field in fields(lowered)} | {"target": self.target}
        return Compiled(**own, ptx=ptx, timings={**timings, **stages}, limits=self.limits)

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
            next(iter(units[units.index(unit) + 1:]), None) if unit else None, given is not None, resident,
            plan.split, plan.early, plan.deferred, any(op.reduces for op in self.machine.walk()), plan.looped,
            plan.teams > 1, self.machine.hints.occupancy or 1,
            self.target.shared_per_sm // (plan.shared_bytes + RESERVED))


@contextlib.contextmanager
def internal_errors(name: str) -> Iterator[None]:
    """What is no user's mistake becomes a TileInternalError."""
    try:
        yield
    except TileError:
        raise
    except Exception as error:
        raise TileInternalError(
            f"the lowering of kernel {name} failed: {type(error).__name__}: {error}", hints=[DUMP_HINT]
        ) from error


Judge = Callable[[Attempt], Rejection | None]
# What ptxas may take beyond live ranges for values that pass from one part of a split loop to the next.
SPLIT_COPIES = 64
# Registers that ptxas 13.0 aims at where nothing says how many it may take: it spills a few rather than take some more
# (softmax of 16 float32 rows of 128 in a warp: 8 bytes at 128 registers, none at the 132 that it takes when it may).
AIMED_AT = 128


def hopeless(plan: Attempt) -> Rejection | None:
    """Where live ranges take many times the registers that the hint for occupancy leaves, or that there are beside
    loops that became several, an assembler would spill for minutes: a lower occupancy is tried at once, and whole
    loops. It ignores a hint for more threads than an SM runs.
    """
    asked = (plan.limits.max_occupancy or plan.hints.occupancy or 1) > 1
    parts = plan.machine.plan.split and plan.limits.split_loops
    if not (asked or parts):
        return None
    facts = plan.facts
    heeded = asked and facts.resident * facts.threads <= plan.target.threads_per_sm
    if (heeded or parts) and facts.registers > HOPELESS * facts.register_cap:
        return Rejection(Shortage.HOPELESS, f"live ranges take {facts.registers} registers")
    return None


def offline_judge(plan: Attempt) -> Rejection | None:
    """Ask ptxas, where there is one, about plans whose live ranges come close to the registers of a thread, or to those
    that it takes of its own accord."""
    from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas

    if plan.hints.opt_level < FULL_LEVEL or not has_ptxas():
        return None
    facts = plan.facts
    aims = facts.resident == 0 and abs(facts.registers - AIMED_AT) < MARGIN
    if not aims and facts.registers + (SPLIT_COPIES if facts.split else 0) <= facts.register_cap:
        return None
    try:
        return of_log(assemble(plan.compiled.ptx, plan.target, kernel=plan.compiled.name).log)
    except TileCompilerExecutionError as error:
        rejection = of_error(error)
        if rejection is None:
            raise
        return rejection


def settle(function: Function, target: Target, watch: Watch | None = None, *, judge: Judge = offline_judge,
           limits: Limits = Limits()) -> Accepted[Attempt]:
    """The plan that fits shared memory and that `judge` accepts, from `limits` down the ladder.

    TileValueError for tiles that no plan can hold.
    """

    room = target.registers_per_thread * target.threads_per_block * REGISTER_BYTES + target.shared_per_block

    def verdict(plan: Attempt) -> Rejection | None:
        refused = hopeless(plan) or judge(plan) if plan.overflow is None else of_overflow(plan.overflow)
        refuses = refused is not None and not refused.runs and refused.kind is not Shortage.HOPELESS
        error = too_large(function, room, target.name) if refuses else None
        if error is not None:
            raise error
        return refused

    settled = climb(lambda limits: Attempt(function, target, limits, watch), verdict, limits)
    settled.plan.machine.decisions += [decisions.rung(words) for words in settled.rungs]
    return settled


def compile_kernel(function: Function, target: Target, watch: Watch | None = None, *, hints: Hints | None = None,
                   switches: Switches = PLAIN, judge: Judge = offline_judge, limits: Limits = Limits()) -> Compiled:
    """Compile for one target; `function` stays as it is.

    `hints` stand in for those of the function. `judge` says what the assembler thinks of an attempt, `limits` is where
    the ladder starts.
    """
    function = copy(function)
    function.hints, function.switches = function.hints if hints is None else hints, switches
    plan, rungs = settle(function, target, watch, judge=judge, limits=limits)
    return replace(plan.compiled, rungs=rungs)


def backend_dumps(function: Function, target: str | Target, observer: Callable[[str, Function], None]) -> Function:
    """Show the function after every pass of the backend, for dumps and tests; `function` stays as it is. The result is
    what the passes of the accepted plan have made of it."""
    return settle(function, get_target(target), Look(observer)).plan.machine


def lower_kernel(function: Function, target: Target, watch: Watch | None = None) -> Lowered:
    """The function as LLVM text; TileInternalError for whatever is no user's mistake."""
    return settle(function, target, watch).plan.lowered
