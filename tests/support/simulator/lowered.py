"""Decorated kernels in the simulator: the code for them, and their run-time arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.backend_ptx.simulator import Grid, run_lowered


def run_kernel(kernel: Any, grid: Grid, args: Sequence[Any], target: str = "sm_80", **how: Any) -> Any:
    """Specialise a decorated kernel on its arguments, as a GPU launch does, and simulate it."""
    stages = kernel.lower(*args, target=target)
    run_lowered(stages.lowered, grid, stages.values, **how)
    return stages.lowered


def lower_kernel(kernel: Any, args: Sequence[Any], target: str = "sm_80") -> Any:
    """The code for a decorated kernel and these arguments."""
    return kernel.lower(*args, target=target).lowered


def runtime_arguments(kernel: Any, args: Sequence[Any]) -> list[Any]:
    """The arguments that exist at run time, one per parameter of the Tile IR function."""
    values: list[Any] = kernel.lower(*args).values
    return values
