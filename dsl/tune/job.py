"""A configuration as data that another process can run: a compiled kernel, its arguments, and the memory behind them.

Memory travels as blocks of bytes: the union of all ranges that the arrays cover, so that arrays that interleave still
do. A block keeps its place modulo 256 bytes, and with it every alignment that the kernel was compiled for.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.arguments.arrays import HOST
from tilewright.arguments.bind import Argument, ArrayList, arrays, leaves
from tilewright.arguments.checks import check_outputs, real
from tilewright.kernel import tile_kernel
from tilewright.launching.grid import Grid, check_hardware
from tilewright.launching.host import merge_spans
from tilewright.tileir.plan import launching
from tilewright.tune.place import gpu_of

ALIGNMENT = 256  # of a block's base in the other process, in bytes


@dataclass(slots=True)
class Block:
    """The bytes of one range of addresses, `low` in the process that it comes from; `written`: the kernel may."""

    low: int
    data: bytes
    written: bool


@dataclass(slots=True)
class Job:
    """One configuration. `gpu`: the ordinal, None for the interpreter, which runs `tile_ir`.

    A GPU runs `ptx`; `meta` says the rest as a cache entry does. `written`: parameters
    that the kernel may write.
    """

    name: str
    grid: Grid
    arguments: list[Argument]
    blocks: list[Block]
    written: frozenset[int]
    gpu: int | None
    tile_ir: str = ""
    ptx: str = ""
    meta: dict[str, object] = field(default_factory=dict)


def make_job(kernel: tile_kernel, grid: Grid, args: tuple[Any, ...], stream: Any) -> Job:
    """Bind, check and compile here, so that only runs are left for the other process. Raises what a launch raises."""
    arguments = kernel.specialiser.bind(args)
    gpu = gpu_of(arguments, stream)
    job = Job(kernel.__name__, grid, [], [], frozenset(), gpu)
    if gpu is None:
        job.tile_ir, job.written = kernel.launcher.host.text(arguments)
        check_outputs(arguments, job.written)
    else:
        check_hardware(grid)
        plan = kernel.launcher.gpu.prepare(arguments, grid.linear, gpu).over(grid, arguments)
        made = plan.kernel
        job.written, job.ptx = plan.written, made.ptx
        job.meta = {"abi": made.abi.to_json(), "threads": made.threads, "shared_bytes": made.shared_bytes,
                    **launching(made), "opt_level": kernel.hints.resolve(made.device.target.name).opt_level}
    job.blocks = _blocks(arguments, job.written)
    job.arguments = _without_owners(arguments)
    return job


def _blocks(arguments: Sequence[Argument], written: frozenset[int]) -> list[Block]:
    """A copy of all memory that the arrays cover."""
    outputs = [real(item).span for i, leaf in enumerate(leaves(arguments)) if i in written
               for item in (leaf.items if isinstance(leaf, ArrayList) else arrays([leaf]))]
    out: list[Block] = []
    for low, high in merge_spans([real(array).span for array in arrays(arguments)]):
        device = next(real(a).device for a in arrays(arguments) if low <= real(a).span[0] < high)
        touched = any(start < high and low < stop for start, stop in outputs)
        out.append(Block(low, _read(device, low, high - low), touched))
    return out


def _read(device: int, address: int, size: int) -> bytes:
    if device == HOST:
        return ctypes.string_at(address, size)
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.memory import download

    memory = ctypes.create_string_buffer(size)
    download(get_device(device), ctypes.addressof(memory), address, size)
    return memory.raw


def _without_owners(arguments: Sequence[Argument]) -> list[Argument]:
    """Copies of the arguments that exist at run time, which can be pickled: their numbers without the objects that they
    came from. Constants, which may be anything, are in the code."""
    infos = [real(array) for array in arrays(arguments)]
    kept = [(info.owner, info.array) for info in infos]
    for info in infos:
        info.owner = info.array = None
    try:
        return copy.deepcopy(list(leaves(arguments)))
    finally:
        for info, (owner, array) in zip(infos, kept, strict=True):
            info.owner, info.array = owner, array


def relocate(arguments: Sequence[Argument], blocks: Sequence[Block], bases: Sequence[int]) -> None:
    """Point the arrays into the blocks, whose first bytes are at `bases` in this process."""
    for array in arrays(arguments):
        info = real(array)
        start, stop = info.span
        for block, base in zip(blocks, bases, strict=True):
            if block.low <= start < stop <= block.low + len(block.data):
                info.pointer += base - block.low
                break
        else:
            info.pointer = 0  # an empty array covers no memory
