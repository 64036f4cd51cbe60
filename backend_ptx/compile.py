"""From a Tile IR function to PTX: lower it to LLVM text, compile that; no GPU and no driver needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.backend_ptx.abi import KernelAbi
from tilewright.backend_ptx.targets import Target, get_target
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileError, TileInternalError
from tilewright.tileir.plan import PLAIN, Hints, Switches

if TYPE_CHECKING:
    from tilewright.backend_ptx.lower import Lowered

FunctionObserver = Callable[[str, Function], None]
TextObserver = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel as PTX. `threads` is the block size, `shared_bytes` the dynamic shared memory of a launch, `cluster` how
    many blocks of the machine run each block of it.

    `timings` holds seconds per stage: "lower", "llvm parse", "llvm verify", "llvm passes", "llvm codegen".
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


def compile_kernel(
    function: Function, target: Target, *, hints: Hints | None = None, switches: Switches = PLAIN,
    observer: FunctionObserver | None = None, text_observer: TextObserver | None = None,
) -> Compiled:
    """Compile for one target; `function` stays as it is.

    `hints` stand in for those of the function. `observer(pass, function)` sees the function after each
    pass of the backend; `text_observer(name, text)` sees "kernel.ll" before LLVM reads it, and "kernel.ptx".
    """
    from tilewright.backend_ptx.llvm.compile import llvm_to_ptx

    started = time.perf_counter()
    function = clone_function(function)
    prepare(function, hints, switches)
    lowered = lower_kernel(function, target, observer)
    timings = {"lower": time.perf_counter() - started}
    if text_observer is not None:
        text_observer("kernel.ll", lowered.llvm_text)
    ptx, stages = llvm_to_ptx(lowered.llvm_text, target)
    timings.update(stages)
    if text_observer is not None:
        text_observer("kernel.ptx", ptx)
    return Compiled(lowered.name, target, lowered.llvm_text, ptx, lowered.abi, lowered.threads, lowered.shared_bytes,
                    timings, lowered.cluster)


def prepare(function: Function, hints: Hints | None, switches: Switches) -> None:
    """Say what is asked of a function that is to be compiled."""
    function.hints = function.hints if hints is None else hints
    function.switches = switches


def backend_dumps(function: Function, target: str | Target, observer: FunctionObserver) -> None:
    """Show the function after every pass of the backend, for dumps and tests; `function` stays as it is."""
    from tilewright.backend_ptx.pipeline import run_passes

    run_passes(clone_function(function), get_target(target), observer)


def lower_kernel(function: Function, target: Target, observer: FunctionObserver | None = None) -> Lowered:
    """The function as LLVM text; TileInternalError for whatever is no user's mistake."""
    from tilewright.backend_ptx.llvm.compile import DUMP_HINT
    from tilewright.backend_ptx.lower import lower_function

    try:
        return lower_function(function, target, observer=observer)
    except TileError:
        raise
    except Exception as error:
        raise TileInternalError(
            f"the lowering of kernel {function.name} failed: {type(error).__name__}: {error}", hints=[DUMP_HINT]
        ) from error
