"""What must hold for a random program: each oracle runs it another way and compares every output bit by bit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tilewright.backend_ptx.ops  # dumps hold its ops
from fuzz.program import Program
from tilewright.backend_ptx.compile import backend_dumps
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileInternalError, TileUnsupportedFeatureError
from tilewright.tileir.parser import parse
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

TARGETS = ("sm_80", "sm_90a")
EVERY_PASS = 20  # one program in so many is run after each pass


class Mismatch(Exception):
    """Two executions differ; `kind` says which, for the reducer."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(f"{kind}: {what}")
        self.kind = kind


class Refused(Exception):
    """The program is no valid one: the reducer cut too much, or the generator drew what the language refuses."""


def compare(kind: str, program: Program, got: Sequence[Any], want: Sequence[Any]) -> None:
    """Equal outputs: NaNs are alike, zeros keep their sign."""
    for parameter, a, b in zip(program.parameters, got, want, strict=True):
        if not parameter.output:
            continue
        wrong = ~((a == b) | ((a != a) & (b != b)))
        if a.dtype.kind not in "iub":
            with np.errstate(invalid="ignore"):
                wrong |= (a == 0) & (b == 0) & (np.signbit(a.astype(np.float64)) != np.signbit(b.astype(np.float64)))
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise Mismatch(kind, f"{parameter.name}{list(at)} is {a[at]}, expected {b[at]} "
                                 f"({int(wrong.sum())} of {wrong.size} elements)")


class Run:
    """One program, its result in the interpreter, and its Tile IR."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.kernel = program.kernel()
        self.want = program.arguments()
        try:
            self.kernel.interpret(program.grid, *self.want, numerics=program.numerics or None)
        except TileInternalError as error:
            raise Mismatch("internal", error.message) from error
        except tilewright.TileError as error:
            raise Refused(str(error)) from error

    @functools.cached_property
    def function(self) -> Function:
        """The Tile IR as the frontend makes it for a launch, the same for every target; not to be changed."""
        lowered = self.kernel.lower(*self.program.arguments(), target="sm_90a")
        function: Function = lowered.tile_ir(passes=False)
        return function

    def ir(self, kind: str, function: Function, mode: Any = "chunked") -> None:
        """The function in the interpreter against the result."""
        got = self.program.arguments()
        compile_function(function).run((self.program.grid[0], 1, 1), got, ExecutionOptions(mode=mode))
        compare(kind, self.program, got, self.want)


def element_by_element(run: Run) -> None:
    """The evaluator of tests/oracle, which knows the language's page and none of our code."""
    from oracle.language import launch

    got = run.program.arguments()
    launch(run.program.source(), "kernel", run.program.grid, got, run.program.dtypes())
    compare("oracle", run.program, run.want, got)


def one_by_one(run: Run) -> None:
    """Chunks of blocks against single blocks."""
    run.ir("single", run.function, "single")


def round_trip(run: Run) -> None:
    """Text parses back, prints the same and means the same."""
    text = to_text(run.function)
    function = parse(text, "fuzz.tile")
    verify(function)
    if to_text(function) != text:
        raise Mismatch("text", "prints differently after parsing")
    run.ir("text", function)


def passes(run: Run) -> None:
    """Equal at the ends of both halves; after every pass for some programs, and where the ends differ."""
    every = run.program.seed % EVERY_PASS == 0
    for target in TARGETS if every else [TARGETS[run.program.seed % len(TARGETS)]]:
        try:
            _pipeline(run, target, every)
        except Mismatch:
            if not every:
                _pipeline(run, target, True)  # names the pass
            raise


def _pipeline(run: Run, target: str, every: bool) -> None:
    last = to_text(run.function) if every else ""

    def observe(name: str, now: Function) -> None:
        nonlocal last
        text = to_text(now)
        if text != last:
            run.ir(f"pass {name}", parse(text, f"{name}.tile"))
        last = text

    observer = observe if every else None
    function = clone_function(run.function)
    run_pipeline(function, verify=every, observer=observer)
    verify(function)
    run.ir("passes", function)
    try:
        machine = backend_dumps(function, target, observer or _ignored)
    except TileUnsupportedFeatureError:
        return
    run.ir(f"backend {target}", machine)


def _ignored(name: str, now: Function) -> None:
    """Nobody looks at single passes."""


def simulated(run: Run) -> None:
    """The generated code in the simulator."""
    from tilewright.backend_ptx.simulator import SimError, Unsupported, simulate

    for target in [run.program.numerics] if run.program.numerics else TARGETS:
        got = run.program.arguments()
        try:
            simulate(run.kernel, run.program.grid, tuple(got), target)
        except (TileUnsupportedFeatureError, Unsupported):
            continue
        except SimError as error:
            raise Mismatch(f"simulator {target}", f"{type(error).__name__}: {error}") from error
        compare(f"simulator {target}", run.program, got, run.want)


def assembled(run: Run) -> None:
    """ptxas accepts the PTX of every target."""
    from tilewright.backend_ptx.runtime.ptxas import assemble
    from tilewright.backend_ptx.targets import TARGETS as EVERY

    for target in EVERY:
        try:
            ptx = run.kernel.ptx(*run.program.arguments(), target=target)
        except TileUnsupportedFeatureError:
            continue
        try:
            assemble(ptx, target)
        except tilewright.TileError as error:
            raise Mismatch(f"ptxas {target}", str(error)) from error


def checked(run: Run) -> None:
    """The checked mode reports nothing, and gives the same bits. Generated programs read empty arrays nevertheless,
    whose first tile starts outside of them, strictly."""
    got = run.program.arguments()
    for report in run.kernel.interpret(run.program.grid, *got, check=True, on_report="collect") or ():
        if report.severity != "note" and not (report.kind == "bounds" and 0 in report.values.get("shape", ())):
            raise Mismatch(f"checked {report.kind}", str(report))
    compare("checked", run.program, got, run.want)


def on_gpu(run: Run) -> None:
    """The machine against the interpreter."""
    memory: dict[int, Any] = {}
    arguments = run.program.arguments()
    held = [_to_device(a, memory) for a in arguments]
    run.kernel[run.program.grid](*held)
    compare("gpu", run.program, [_to_host(a, h, memory) for a, h in zip(arguments, held, strict=True)], run.want)


class Part:
    """A part of an array on the GPU."""

    def __init__(self, whole: Any, of: np.ndarray[Any, Any], part: np.ndarray[Any, Any]) -> None:
        self.whole = whole
        self.at = part.__array_interface__["data"][0] - of.__array_interface__["data"][0]
        given = whole.__cuda_array_interface__
        self.__cuda_array_interface__ = {
            **given, "data": (given["data"][0] + self.at, False), "shape": part.shape, "strides": part.strides}


def _to_device(value: Any, memory: dict[int, Any]) -> Any:
    """On the GPU; what shares memory here does so there. `memory` has the copy of each array."""
    if isinstance(value, list):
        return [_to_device(item, memory) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    whole = value if value.base is None else value.base
    if id(whole) not in memory:
        memory[id(whole)] = tilewright.to_device(whole)
    copied = memory[id(whole)]
    return copied if whole is value else Part(copied, whole, value)


def _to_host(value: Any, held: Any, memory: dict[int, Any]) -> Any:
    if isinstance(value, np.ndarray) and isinstance(held, Part):
        whole = held.whole.to_host()
        return np.ndarray(value.shape, value.dtype, whole, held.at, value.strides)
    return held.to_host() if hasattr(held, "to_host") else held


ORACLES: dict[str, Callable[[Run], None]] = {
    "oracle": element_by_element, "single": one_by_one, "text": round_trip, "passes": passes, "simulator": simulated,
    "ptxas": assembled, "checked": checked, "gpu": on_gpu,
}


def check(program: Program, oracles: Sequence[str]) -> None:
    """Raise Mismatch where an oracle differs or anything but a user's error happens, Refused for no valid program."""
    run = Run(program)
    for name in oracles:
        try:
            ORACLES[name](run)
        except Mismatch:
            raise
        except TileInternalError as error:
            raise Mismatch(f"{name} internal", error.message) from error
