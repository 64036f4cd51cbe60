"""Kernels of one op for the lowering tests, and their way to PTX in a child process (LLVM aborts on what it lacks)."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arrays import BlockId
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.types import ArrayType

Make = Callable[..., Op]


def contiguous(dtype: DType, rank: int = 1, *, divisor: int = 16, align: int = 16, small: bool = True,
               extents: tuple[int | None, ...] | None = None) -> ArrayType:
    """A C-contiguous array whose extents and strides are multiples of `divisor` elements."""
    return ArrayType(
        dtype, extents or (None,) * rank, (*(None,) * (rank - 1), 1)[-rank:] if rank else (), (divisor,) * rank,
        (*(divisor,) * (rank - 1), 1)[-rank:] if rank else (), align, True, small)


def elementwise(name: str, inputs: Sequence[DType], ops: Sequence[Make], shape: tuple[int, ...] = (256,),
                divisor: int = 16) -> Function:
    """Load one tile of each input, apply every op to them, store each result into an array of its own."""
    body = Block()
    b = Builder(body)
    arrays = [body.add_param(contiguous(d, len(shape), divisor=divisor), f"in{i}") for i, d in enumerate(inputs)]
    index = [b.value(BlockId(axis=k)) for k in range(len(shape))]
    order = tuple(range(len(shape)))
    tiles = [b.value(Load(array=a, index=tuple(index), shape=shape, steps=shape, order=order)) for a in arrays]
    for i, make in enumerate(ops):
        result = b.value(make(*tiles))
        out = body.add_param(contiguous(result.type.dtype, len(shape), divisor=divisor), f"out{i}")
        b.emit(Store(array=out, index=tuple(index), value=result, steps=shape, order=order))
    b.emit(Return())
    return Function(name, body)


def ptx_of(function: Function, target_name: str) -> str:
    """PTX made in a forked child; AssertionError with what it printed when LLVM ends the process."""
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder, "ptx"), Path(folder, "log")
        child = os.fork()
        if child == 0:
            _compile_and_exit(function, target_name, out, log)
        _, status = os.waitpid(child, 0)
        said = log.read_text(errors="replace") if log.exists() else ""
        assert status == 0 and out.exists(), f"{function.name} on {target_name}: {said[-3000:]}"
        return out.read_text()


def _compile_and_exit(function: Function, target_name: str, out: Path, log: Path) -> None:
    import traceback

    from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
    from tilewright.backend_ptx.simulator.entry import lower_function
    from tilewright.backend_ptx.targets import get_target

    handle = os.open(log, os.O_CREAT | os.O_WRONLY)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    code = 1
    try:
        target = get_target(target_name)
        ptx, _ = llvm_to_ptx(lower_function(function, target).llvm_text, target)
        out.write_text(ptx)
        code = 0
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def assemble(ptx: str, target_name: str) -> str:
    """ptxas' report of a kernel; AssertionError when it refuses."""
    from tilewright.backend_ptx.runtime.ptxas import find_ptxas

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        done = subprocess.run(
            [find_ptxas(), f"-arch={target_name}", "-v", "-o", os.devnull, source], capture_output=True, text=True)
    assert done.returncode == 0, f"ptxas: {done.stderr[-2000:]}\n{ptx[-3000:]}"
    return done.stderr
