"""Running a kernel in the interpreter: on host arrays in place, on device arrays through copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.arguments.arrays import HOST, ArrayInfo, host_view, numpy_dtype
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Leaf, arrays, leaves
from tilewright.arguments.checks import check_outputs, common_device, note_outputs, real
from tilewright.inspecting.dumps import Dump, observed
from tilewright.launching.checking import Checking
from tilewright.launching.grid import Grid
from tilewright.launching.numerics import program_of
from tilewright.launching.specialise import Once, Specialiser
from tilewright.launching.timeouts import limited
from tilewright.tileir.analysis.effects import written_arrays
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileError, TileInternalError
from tilewright.tileir.events import timed
from tilewright.tileir.ops.debug import Breakpoint
from tilewright.tileir.plan import NO_ALIASES, Aliases

if TYPE_CHECKING:
    from tilewright.backend_ptx.targets import Target
    from tilewright.interp.checking.report import Report
    from tilewright.interp.options import ExecutionOptions


class HostRunner:
    """Interpreter programs of one kernel by specialisation."""

    def __init__(self, specialiser: Specialiser) -> None:
        self._specialiser = specialiser
        self._programs = Once()

    def run(
        self, grid: Grid, arguments: Sequence[Argument], options: ExecutionOptions | None = None,
        check: Checking | None = None, target: Target | None = None,
    ) -> list[Report] | None:
        """Check the outputs, then execute every block. Device arrays are copied to the host and back.

        A checked run gives its reports. It executes the IR before any pass: every access and promise is still there.
        With a target, it is the IR that the backend makes for it, and products are those of its tensor cores.
        """
        from tilewright.interp.options import DEFAULT

        aliases = self._specialiser.aliases(arguments, facts=target is not None)
        program, written = self._program(arguments, aliases, check is not None, target)
        check_outputs(arguments, written)
        if grid.empty:
            return None if check is None else []
        note_outputs(arguments, written)
        values, copy_back = on_host(arguments)
        if check is None:
            program.run(grid.size, values, options or DEFAULT)
            copy_back()
            return None
        memory, stopped = check.memory(), None
        try:
            program.run(grid.size, values, replace(options or DEFAULT, memory=memory))
        except TileError as error:
            # What was found before may be why it failed.
            if isinstance(error, TileInternalError) or not memory.reports:
                raise
            stopped = error
        copy_back()
        return check.finish(self._specialiser.name, memory.reports, stopped)

    def run_devices(
        self, grid: Grid, devices: Sequence[Sequence[Argument]], options: ExecutionOptions,
        check: Checking | None = None,
    ) -> list[Report] | None:
        """The same on several devices at once, each with arguments of its own on the host."""
        from tilewright.interp.devices import run_devices

        made = []
        for arguments in devices:
            if common_device(arguments) not in (None, HOST):
                raise ValueError("devices in the interpreter share the memory of the host: pass NumPy arrays")
            aliases = self._specialiser.aliases(arguments, facts=False)
            program, written = self._program(arguments, aliases, check is not None)
            check_outputs(arguments, written)
            note_outputs(arguments, written)
            made.append((program, [interpreter_value(leaf) for leaf in leaves(arguments)]))
        if grid.empty:
            return None if check is None else []
        programs, values = [program for program, _ in made], [each for _, each in made]
        if check is None:
            run_devices(programs, grid.size, values, options)
            return None
        memories, stopped = check.memories(programs, grid.size, values), None
        try:
            run_devices(programs, grid.size, values, options, memories)
        except TileError as error:
            if isinstance(error, TileInternalError) or not memories[0].reports:
                raise
            stopped = error
        return check.finish(self._specialiser.name, memories[0].reports, stopped)

    def _program(
        self, arguments: Sequence[Argument], aliases: Aliases, checked: bool, target: Target | None = None,
    ) -> tuple[Any, frozenset[int]]:
        """The program, and the parameters that it may write."""
        key = checked, target, aliases, tuple(argument.key(target is not None) for argument in arguments)
        made: tuple[Any, frozenset[int]] = self._programs.get(
            key, lambda: limited(self._specialiser.name, lambda: self._make(arguments, aliases, checked, target)))
        return made

    def program(self, arguments: Sequence[Argument]) -> Any:
        """What an unchecked launch runs for arguments that share no memory."""
        return self._program(arguments, NO_ALIASES, False)[0]

    def prepare(self, arguments: Sequence[Argument]) -> None:
        """What a launch does before it runs: compile, and check the outputs."""
        aliases = self._specialiser.aliases(arguments, facts=False)
        check_outputs(arguments, self._program(arguments, aliases, False)[1])

    def debug(self, grid: Grid, arguments: Sequence[Argument], block: tuple[int, int, int] | None) -> None:
        """The same under a debugger that stops at the first statement of a block (None: of each)."""
        aliases = self._specialiser.aliases(arguments, facts=False)
        program = self._debugged(arguments, aliases, first=True, block=block)
        self._execute(program, grid, arguments, aliases)

    def trace(self, grid: Grid, arguments: Sequence[Argument], blocks: set[tuple[int, int, int]] | None) -> Any:
        """The same, recording what the ops of some blocks (None: of all) compute, as rows."""
        from tilewright.interp.debugging.trace import TraceProgram
        aliases = self._specialiser.aliases(arguments, facts=False)
        program = TraceProgram(self._specialiser.translate(arguments, facts=False, aliases=aliases), blocks)
        self._execute(program, grid, arguments, aliases)
        return program.rows

    def _execute(self, program: Any, grid: Grid, arguments: Sequence[Argument], aliases: Aliases) -> None:
        from tilewright.interp.options import DEFAULT

        written = self._outputs(arguments, aliases, program.function)
        check_outputs(arguments, written)
        if not grid.empty:
            note_outputs(arguments, written)
            values, copy_back = on_host(arguments)
            program.run(grid.size, values, DEFAULT)
            copy_back()

    def _debugged(
        self, arguments: Sequence[Argument], aliases: Aliases, *, first: bool = False,
        block: tuple[int, int, int] | None = None,
    ) -> Any:
        """The program whose statements a debugger sees: the IR before any pass, so that lines and names are the user's.
        """
        from tilewright.interp.debugging.program import DebugProgram

        function = self._specialiser.translate(arguments, facts=False, aliases=aliases, debug=True)
        return DebugProgram(function, dict(self._specialiser.source.namespace), first=first, block=block)

    def text(self, arguments: Sequence[Argument]) -> tuple[str, frozenset[int]]:
        """The Tile IR that `run` executes for these arguments, as text, and the parameters that it may write."""
        name = self._specialiser.name
        aliases = self._specialiser.aliases(arguments, facts=False)
        function = limited(name, lambda: observed(name, lambda dump: self._function(arguments, aliases, dump)))
        return str(function), self._outputs(arguments, aliases, function)

    def _function(self, arguments: Sequence[Argument], aliases: Aliases, dump: Dump | None) -> Function:
        if dump is None:
            return self._specialiser.tile_ir(arguments, facts=False, aliases=aliases)
        return self._specialiser.make_tile_ir(arguments, facts=False, aliases=aliases, dump=dump)

    def _outputs(self, arguments: Sequence[Argument], aliases: Aliases, function: Function) -> frozenset[int]:
        """The parameters that are written by their own name."""
        if aliases is NO_ALIASES:
            return written_arrays(function)
        return self._specialiser.outputs(arguments, facts=False)

    def _make(
        self, arguments: Sequence[Argument], aliases: Aliases, checked: bool, target: Target | None,
    ) -> tuple[Any, frozenset[int]]:
        from tilewright.interp import compile_function

        if target is not None:
            outputs = self._specialiser.outputs(arguments, facts=True)
            return program_of(self._specialiser, arguments, aliases, target), outputs

        def make(dump: Dump | None) -> tuple[Any, frozenset[int]]:
            function = self._function(arguments, aliases, dump)
            outputs = self._outputs(arguments, aliases, function)
            if any(isinstance(op, Breakpoint) for op in function.walk()):
                return self._debugged(arguments, aliases), outputs
            if checked:
                function = self._specialiser.translate(arguments, facts=False, aliases=aliases)
            return compile_function(function), outputs

        with timed("compile", self._specialiser.name, executor="interpreter"):
            return observed(self._specialiser.name, make)


def on_host(arguments: Sequence[Argument]) -> tuple[list[Any], Callable[[], None]]:
    """The arguments as the interpreter takes them, and what copies the results back to where device arrays live."""
    copy_back = mirror([real(array) for array in arrays(arguments) if real(array).device != HOST])
    return [interpreter_value(leaf) for leaf in leaves(arguments)], copy_back


def interpreter_value(leaf: Leaf) -> Any:
    """The argument as the interpreter takes it: a NumPy array, a list of those, a NumPy scalar."""
    if isinstance(leaf, ArrayArgument):
        return host_view(real(leaf))
    if isinstance(leaf, ArrayList):
        return [host_view(real(item)) for item in leaf.items]
    if leaf.value is None:
        raise TypeError(f"argument {leaf.name!r} is a specification; a launch needs a value")
    import numpy

    with numpy.errstate(over="ignore"):  # a double above float32's range becomes inf, as on the GPU
        return numpy_dtype(leaf.dtype).type(leaf.value)


def mirror(infos: Sequence[ArrayInfo]) -> Callable[[], None]:
    """Give device arrays copies in host memory; the function returned copies them back.

    Arrays whose ranges overlap (columns of one matrix) share one mirror, so that each sees its own bytes only change.
    """
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.memory import download, upload

    if not infos:
        return lambda: None
    device = get_device(infos[0].device)
    mirrors: list[tuple[int, int, Any]] = []
    for low, high in merge_spans([info.span for info in infos]):
        memory = ctypes.create_string_buffer(high - low)
        download(device, ctypes.addressof(memory), low, high - low)
        mirrors.append((low, high, memory))
    for info in infos:
        info.array = _mirrored_view(info, mirrors)

    def finish() -> None:
        for low, high, memory in mirrors:
            upload(device, low, ctypes.addressof(memory), high - low)

    return finish


def merge_spans(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of byte ranges as disjoint ranges."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(s for s in spans if s[0] < s[1]):
        if out and low < out[-1][1]:
            out[-1] = out[-1][0], max(high, out[-1][1])
        else:
            out.append((low, high))
    return out


def _mirrored_view(info: ArrayInfo, mirrors: Sequence[tuple[int, int, Any]]) -> Any:
    import numpy

    dtype = numpy_dtype(info.dtype)
    strides = tuple(s * dtype.itemsize for s in info.strides)
    low, high = info.span
    for start, stop, memory in mirrors:
        if start <= low < high <= stop:
            return numpy.ndarray(info.shape, dtype, memory, info.pointer - start, strides)
    return numpy.zeros(info.shape, dtype)  # an empty array is in no mirror
