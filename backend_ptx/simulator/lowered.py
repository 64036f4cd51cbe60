"""Lower Tile IR with the real backend and simulate what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.launch import AddressTable, Grid, simulate, three
from tilewright.backend_ptx.simulator.memory.tensor_map import TensorMapArgument


def run_function(function: Any, grid: Grid, args: Sequence[Any], target: str = "sm_80", **how: Any) -> Any:
    """Lower a Tile IR function for `target` and simulate it; arrays among `args` are written in place.

    `args` has one entry per parameter: a NumPy array, a list of arrays, or a number. `how` goes to `simulate`.
    Returns what the backend made (text, ABI, block size).
    """
    lowered = _lower(function, target)
    run_lowered(lowered, grid, args, **how)
    return lowered


def _lower(function: Any, target: str) -> Any:
    from tilewright.backend_ptx import lower_function
    from tilewright.backend_ptx.targets import get_target

    return lower_function(function, get_target(target))


def run_lowered(lowered: Any, grid: Grid, args: Sequence[Any], **how: Any) -> None:
    """Simulate a lowered function on its arguments; where clusters run a block each, `grid` counts those."""
    _simulate(lowered, lowered.llvm_text, grid, args, **how)


def run_optimised(lowered: Any, grid: Grid, args: Sequence[Any], target: str = "sm_80", **how: Any) -> None:
    """Simulate what LLVM's passes make of a lowered function: what the text leaves undefined, they exploit."""
    from tilewright.backend_ptx.llvm.compile import optimised
    from tilewright.backend_ptx.targets import get_target

    _simulate(lowered, optimised(lowered.llvm_text, get_target(target)), grid, args, strict=False, **how)


def _simulate(lowered: Any, text: str, grid: Grid, args: Sequence[Any], **how: Any) -> None:
    x, y, z = three(grid)
    blocks = x * lowered.cluster, y, z
    values = [_parameter(param, args, blocks) for param in lowered.abi.params]
    hardware = blocks if not lowered.abi.linear_grid else (blocks[0] * y * z,)
    simulate(text, lowered.name, hardware, lowered.threads, values, lowered.shared_bytes, cluster=lowered.cluster,
             **how)


def _parameter(param: Any, args: Sequence[Any], blocks: Sequence[int]) -> Any:
    """The value of one parameter of the ABI."""
    if param.kind == "grid":
        return blocks[param.axis]
    given = args[param.argument]
    if param.kind == "extent":
        return given.shape[param.axis]
    if param.kind == "stride":
        return given.strides[param.axis] // given.itemsize
    if param.kind == "length":
        return len(given)
    if param.kind == "table":
        return AddressTable([np.asarray(a) for a in given])
    if param.kind == "tensor_map":
        spec = param.tensor_map
        if given.size == 0:  # as the launcher does: no map has an extent 0
            given = np.zeros((1,) * given.ndim, given.dtype)
        return TensorMapArgument(given, spec.axes, spec.box, spec.swizzle, spec.dtype.name == "tfloat32")
    return given
