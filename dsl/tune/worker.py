"""The process that runs jobs for a search: a kernel that never ends, or breaks the GPU's context, ends with it.

It reads pickled messages from its standard input, ("job", Job) or ("run",), and answers each on what was its standard
output: ("ready",), ("time", microseconds) or ("error", type name, message). What kernels print goes to the standard
error, so that it cannot mix with the answers.

Others compile: ("compile", what, how) is answered by ("compiled", Compiled, the assembler's log, the mark by which the
driver's cache knows the code) or ("refused", error).
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import time
from collections.abc import Callable
from typing import Any

from tilewright.arguments.bind import leaves
from tilewright.launching.device_plans import DevicePlan
from tilewright.launching.host import interpreter_value
from tilewright.tileir.diagnostics import TileError
from tilewright.tune.job import ALIGNMENT, Block, Job, relocate


def main() -> None:
    """Answer messages until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    run: Callable[[], float] | None = None
    while True:
        try:
            message = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if message[0] == "job":
                run = None  # frees the memory of the job before
                run = prepared(message[1])
                answer: tuple[Any, ...] = ("ready",)
            elif message[0] == "compile":
                answer = _compiled(message[1], message[2])
            else:
                assert run is not None, "a run without a job"
                answer = ("time", run())
        except Exception as error:
            answer = ("error", type(error).__name__, str(error))
        pickle.dump(answer, answers)
        answers.flush()


def _compiled(what: tuple[Any, Any, int], how: dict[str, Any]) -> tuple[Any, ...]:
    """`what`: a function, a target, and the GPU that it is of."""
    from tilewright.backend_ptx.compile import compile_kernel
    from tilewright.backend_ptx.runtime.build import DriverJudge
    from tilewright.backend_ptx.runtime.driver import check, driver, get_device

    function, target, ordinal = what
    get_device(ordinal).ensure_current()
    assembler = DriverJudge(how["hints"].opt_level)
    try:
        compiled = compile_kernel(function, target, judge=assembler, **how)
    except TileError as error:
        return "refused", error
    module, log, mark = assembler.take(compiled.ptx)
    check(driver().cuModuleUnload(module), "cuModuleUnload")
    return "compiled", compiled, log, mark


def prepared(job: Job) -> Callable[[], float]:
    """Put the job's memory in place; a function that runs it once on that memory, returning microseconds."""
    return _on_host(job) if job.gpu is None else _on_gpu(job, job.gpu)


def _on_host(job: Job) -> Callable[[], float]:
    from tilewright.interp import compile_function
    from tilewright.tileir.parser import parse

    memory = [_HostBlock(block) for block in job.blocks]
    relocate(job.arguments, job.blocks, [m.address for m in memory])
    program = compile_function(parse(job.tile_ir, f"{job.name}.tile"))
    values = [interpreter_value(leaf) for leaf in leaves(job.arguments)]

    def run() -> float:
        for block in memory:
            block.restore()
        start = time.perf_counter()
        program.run(job.grid.size, values)
        return (time.perf_counter() - start) * 1e6

    return run


class _HostBlock:
    """A block in host memory."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._memory = ctypes.create_string_buffer(len(block.data) + 2 * ALIGNMENT)
        start = ctypes.addressof(self._memory)
        self.address = start + (block.low - start) % ALIGNMENT
        self._fill()

    def _fill(self) -> None:
        ctypes.memmove(self.address, self._block.data, len(self._block.data))

    def restore(self) -> None:
        """Undo what a run has written."""
        if self._block.written:
            self._fill()


def _on_gpu(job: Job, ordinal: int) -> Callable[[], float]:
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.kernel import load_entry
    from tilewright.tileir.cache import Entry
    from tilewright.tune.local import stopwatch

    device = get_device(ordinal)
    device.make_current()
    memory = [_DeviceBlock(block, device) for block in job.blocks]
    relocate(job.arguments, job.blocks, [m.address for m in memory])
    kernel = load_entry(Entry(job.meta, job.ptx), device)
    if kernel is None:
        raise RuntimeError(f"kernel {job.name} cannot be loaded on {device.name}")
    plan = DevicePlan(kernel, job.arguments, job.written)
    watch = stopwatch(ordinal)

    def run() -> float:
        for block in memory:
            block.restore()
        watch.start(0)
        plan.launch_bound(job.grid, job.arguments, 0)
        return watch.stop(0)

    return run


class _DeviceBlock:
    """A block in GPU memory, with a second copy of what the kernel writes."""

    def __init__(self, block: Block, device: Any) -> None:
        from tilewright.backend_ptx.runtime.memory import Buffer, upload

        offset = block.low % ALIGNMENT
        source = ctypes.create_string_buffer(block.data, len(block.data))
        self._size = len(block.data)
        self._buffer = Buffer(device, offset + self._size)
        self.address = self._buffer.pointer + offset
        upload(device, self.address, ctypes.addressof(source), self._size)
        self._pristine: Buffer | None = None
        if block.written:
            self._pristine = Buffer(device, self._size)
            upload(device, self._pristine.pointer, ctypes.addressof(source), self._size)

    def restore(self) -> None:
        """Undo what a run has written."""
        from tilewright.backend_ptx.runtime.driver import check, driver

        if self._pristine is not None:
            source = self._pristine.pointer
            check(driver().cuMemcpyDtoDAsync(self.address, source, self._size, 0), "restoring an output")
