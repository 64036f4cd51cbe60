"""`tilewright estimate`: what a launch moves and computes, and what bounds it, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.answers import Answer, UsageError
from tilewright.cli.inputs import specified_values
from tilewright.cli.reading import load_kernel, parse_grid
from tilewright.estimating import sweep as sweeping
from tilewright.estimating.devices import limits_of
from tilewright.estimating.entry import estimated
from tilewright.estimating.result import Estimate
from tilewright.estimating.roofline import draw_roofline
from tilewright.estimating.sweep import Sweep, parse_sweep, put
from tilewright.estimating.table import as_data, told
from tilewright.kernel import tile_kernel
from tilewright.launching.grid import make_grid

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages


def answer(
    where: str, args: str, grid: str | None, gpu: str, swept: str | None = None, plot: Path | None = None
) -> Answer:
    """What the command says; a picture of the roofline goes to `plot`."""
    kernel = load_kernel(where)
    if swept is not None:
        return _over(kernel, args, grid, gpu, parse_sweep(swept), plot)
    found = one(kernel, args, grid, gpu)
    _draw([found], [found.kernel], plot)
    return Answer(as_data(found) | _file(plot), lambda: print(told(found) + _wrote(plot)))


def _over(
    kernel: tile_kernel, args: str, grid: str | None, gpu: str, sweep: Sweep, plot: Path | None
) -> Answer:
    """An estimate for each number of a sweep."""
    if put(args, sweep, 1) == args and (grid is None or put(grid, sweep, 1) == grid):
        raise UsageError(f"--sweep {sweep.name}: neither --args nor --grid has {sweep.name}")
    found = [one(kernel, put(args, sweep, n), None if grid is None else put(grid, sweep, n), gpu)
             for n in sweep.numbers]
    _draw(found, [f"{sweep.name} = {n}" for n in sweep.numbers], plot)
    return Answer({"sweep": sweeping.as_data(sweep, found, as_data)} | _file(plot),
                  lambda: print(sweeping.told(sweep, found) + _wrote(plot)))


def _draw(found: Sequence[Estimate], names: Sequence[str], plot: Path | None) -> None:
    """Under the roofs of the units that the kernel uses."""
    if plot is None:
        return
    points = sweeping.points(found, names)
    if not points:
        raise UsageError("--plot: the kernel has no operations, or moves nothing: it is no point of a roofline")
    kinds = sorted({kind for one in found for kind in one.operations if one.device.rate_limit(kind)})
    draw_roofline(points, found[0].device, plot, f"{found[0].kernel}: at most, by the limits", kinds)


def _file(plot: Path | None) -> dict[str, str]:
    return {} if plot is None else {"plot": str(plot)}


def _wrote(plot: Path | None) -> str:
    return "" if plot is None else f"\nwrote {plot}"


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
