"""Decorated kernels in the simulator: the code for them, and their run-time arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.arguments.bind import Const, Tuple, bind
from tilewright.backend_ptx import lower_function
from tilewright.backend_ptx.simulator import Grid, run_lowered
from tilewright.backend_ptx.targets import get_target


def run_kernel(kernel: Any, grid: Grid, args: Sequence[Any], target: str = "sm_80", **how: Any) -> Any:
    """Specialise a decorated kernel on its arguments, as a GPU launch does, and simulate it."""
    lowered = lower_kernel(kernel, args, target)
    run_lowered(lowered, grid, runtime_arguments(kernel, args), **how)
    return lowered


def lower_kernel(kernel: Any, args: Sequence[Any], target: str = "sm_80") -> Any:
    """The code for a decorated kernel and these arguments."""
    function = kernel._launcher.specialiser.make_tile_ir(bound(kernel, args), facts=True)
    function.options.update(kernel._options.resolve(target))
    return lower_function(function, get_target(target))


def runtime_arguments(kernel: Any, args: Sequence[Any]) -> list[Any]:
    """The arguments that exist at run time, one per parameter of the Tile IR function."""
    return list(_leaves(bound(kernel, args), args))


def bound(kernel: Any, args: Sequence[Any]) -> Any:
    """The kernel's parameters with these arguments."""
    return bind(kernel._params, tuple(args), kernel.__name__)


def _leaves(arguments: Sequence[Any], args: Sequence[Any]) -> Iterator[Any]:
    """The arguments that exist at run time: no constants, tuples opened."""
    for argument, value in zip(arguments, args, strict=True):
        if isinstance(argument, Tuple):
            yield from _leaves(argument.items, value)
        elif not isinstance(argument, Const):
            yield value
