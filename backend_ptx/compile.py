"""From a Tile IR function to PTX: lower it to LLVM text, compile that; no GPU and no driver needed.

Where shared memory overflows or the assembler refuses the code, the ladder (resources/ladder.py) makes another attempt
with tighter limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.attempt import Attempt, Compiled, FunctionObserver, TextObserver
from tilewright.backend_ptx.resources.ladder import Accepted, climb
from tilewright.backend_ptx.resources.tiles import too_large
from tilewright.backend_ptx.resources.verdict import Rejection, Shortage, of_error, of_log, of_overflow
from tilewright.backend_ptx.targets import Target, get_target
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileCompilerExecutionError
from tilewright.tileir.plan import PLAIN, Hints, Limits, Switches

if TYPE_CHECKING:
    from tilewright.backend_ptx.lower import Lowered

__all__ = ["FULL_LEVEL", "Attempt", "Compiled", "FunctionObserver", "Judge", "TextObserver", "backend_dumps",
           "compile_kernel",
           "lower_kernel", "offline_judge", "settle"]

Judge = Callable[[Attempt], Rejection | None]
FULL_LEVEL = 3  # the opt_level whose spills say something of the plan
# Live ranges so many times over what a hint leaves. They overestimate some softmax and norms up to three times.
HOPELESS = 4


def offline_judge(plan: Attempt) -> Rejection | None:
    """Ask ptxas, where there is one, about plans whose live ranges come close to the registers of a thread.

    Where the hint for occupancy leaves a small part of what live ranges take, a lower one is tried at once: ptxas would
    spill for minutes. It ignores a hint for more threads than an SM runs.
    """
    from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas

    asked = plan.limits.max_occupancy or plan.hints.occupancy or 1
    can_ask = plan.hints.opt_level >= FULL_LEVEL and has_ptxas()
    if asked == 1 and not can_ask:
        return None
    facts = plan.facts
    heeded = facts.resident * facts.threads <= plan.target.threads_per_sm
    if asked > 1 and heeded and facts.registers > HOPELESS * facts.register_cap:
        return Rejection(Shortage.HOPELESS, f"live ranges take {facts.registers} registers")
    if facts.registers <= facts.register_cap or not can_ask:
        return None
    try:
        return of_log(assemble(plan.compiled.ptx, plan.target, kernel=plan.compiled.name).log)
    except TileCompilerExecutionError as error:
        rejection = of_error(error)
        if rejection is None:
            raise
        return rejection


def settle(
    function: Function, target: Target, *, observer: FunctionObserver | None = None,
    text_observer: TextObserver | None = None, judge: Judge = offline_judge, limits: Limits = Limits(),
) -> Accepted[Attempt]:
    """The plan that fits shared memory and that `judge` accepts, from `limits` down the ladder.

    TileValueError for tiles that no plan can hold.
    """

    def attempt(limits: Limits) -> Attempt:
        return Attempt(function, target, limits, observer, text_observer)

    def verdict(plan: Attempt) -> Rejection | None:
        refused = judge(plan) if plan.overflow is None else of_overflow(plan.overflow)
        refuses = refused is not None and not refused.runs and refused.kind is not Shortage.HOPELESS
        error = too_large(function, target) if refuses else None
        if error is not None:
            raise error
        return refused

    settled = climb(attempt, verdict, limits)
    settled.plan.machine.decisions += [decisions.rung(words) for words in settled.rungs]
    return settled


def compile_kernel(
    function: Function, target: Target, *, hints: Hints | None = None, switches: Switches = PLAIN,
    observer: FunctionObserver | None = None, text_observer: TextObserver | None = None,
    judge: Judge = offline_judge, limits: Limits = Limits(),
) -> Compiled:
    """Compile for one target; `function` stays as it is.

    `hints` stand in for those of the function. `observer(pass, function)` sees the function after each pass of the
    backend; `text_observer(name, text)` sees "kernel.ll" before LLVM reads it, and "kernel.ptx"; both of each attempt,
    if several are made. `judge` says what the assembler thinks of an attempt, `limits` is where the ladder starts.
    """
    function = clone_function(function)
    function.hints, function.switches = function.hints if hints is None else hints, switches
    plan, rungs = settle(function, target, observer=observer, text_observer=text_observer, judge=judge, limits=limits)
    return replace(plan.compiled, rungs=rungs)


def backend_dumps(function: Function, target: str | Target, observer: FunctionObserver) -> Function:
    """Show the function after every pass of the backend, for dumps and tests; `function` stays as it is. The result is
    what the passes of the accepted plan have made of it."""
    return settle(function, get_target(target), observer=observer).plan.machine


def lower_kernel(function: Function, target: Target, observer: FunctionObserver | None = None) -> Lowered:
    """The function as LLVM text; TileInternalError for whatever is no user's mistake."""
    return settle(function, target, observer=observer).plan.lowered
