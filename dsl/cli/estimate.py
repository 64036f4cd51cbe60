"""`tilewright estimate`: what a launch moves and computes, and what bounds it, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.cli.answers import Answer, UsageError
from tilewright.cli.inputs import specified_values
from tilewright.cli.reading import load_kernel, parse_grid
from tilewright.estimating.devices import limits_of
from tilewright.estimating.entry import estimated
from tilewright.estimating.result import Estimate
from tilewright.estimating.table import as_data, told
from tilewright.kernel import tile_kernel
from tilewright.launching.grid import make_grid

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages


def answer(where: str, args: str, grid: str | None, gpu: str) -> Answer:
    """What the command says."""
    found = one(load_kernel(where), args, grid, gpu)
    return Answer(as_data(found), lambda: print(told(found)))


def one(kernel: tile_kernel, args: str, grid: str | None, gpu: str) -> Estimate:
    """The estimate for a command line's arguments."""
    values = specified_values(args)
    device = limits_of(gpu)
    stages = kernel.lower(*values, target=device.target)
    size = grid_of(kernel, stages, values, grid)
    if size is None:
        raise UsageError("--grid is needed: the decorator of the kernel gives none")
    return estimated(stages, size, device, machine=True)


def grid_of(
    kernel: tile_kernel, stages: Stages, values: Sequence[Any], grid: str | None
) -> tuple[int, int, int] | None:
    """The blocks that --grid names, or else the kernel's decorator; None where neither does."""
    if grid is not None:
        return make_grid(parse_grid(grid)).size
    if not kernel.launcher.has_grid:
        return None
    return make_grid(kernel.specialiser.dimensions.grid(values, lambda: stages.arguments)).size
