"""What the page shows beside the texts: layouts, accesses, registers and occupancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.inspecting.explorer import layouts, resources, timeline
from tilewright.inspecting.explorer.places import Numbering
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileError

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages

MOST_BLOCKS = 1 << 20


def views(stages: Stages, number: Numbering, grid: tuple[int, int, int] | None = None) -> dict[str, Any]:
    """The data of each view, by its name; what does not exist for a kernel is left out."""
    function = stages.machine_ir()
    return {
        "layouts": layouts.tiles(function, number),
        "shared": layouts.buffers(function, stages.target, number),
        "program": resources.program(function, number),
        "memory": resources.memory_map(function),
        "occupancy": resources.occupancy(function, stages),
        "timelines": timeline.timelines(function, stages.target, number),
        "intervals": timeline.intervals(function, stages.target, number),
        **_accesses(stages, function, number, grid),
        **_estimate(stages, grid),
    }


def _estimate(stages: Stages, grid: tuple[int, int, int] | None) -> dict[str, Any]:
    """The roofline, or in "estimated" why there is none."""
    from tilewright.inspecting.explorer.roofline import roofline

    if grid is None:
        return {"estimated": "The roofline needs a grid: give --grid, the number of blocks along each axis."}
    try:
        return {"roofline": roofline(stages, grid)}
    except (TileError, TypeError) as error:
        return {"estimated": f"There is no roofline for these arguments: {error}"}


def _accesses(
    stages: Stages, function: Function, number: Numbering, grid: tuple[int, int, int] | None
) -> dict[str, Any]:
    """The map of arrays, if there is a grid, and the sectors of each access."""
    from tilewright.inspecting.explorer.accesses import access_map, record
    from tilewright.inspecting.explorer.sectors import sectors

    out: dict[str, Any] = {}
    seen = {}
    if grid is None:
        out["unmapped"] = "The map needs a grid: give --grid, the number of blocks along each axis."
    elif not 0 < grid[0] * grid[1] * grid[2] <= MOST_BLOCKS:
        out["unmapped"] = f"The map is made for grids of 1 to {MOST_BLOCKS} blocks."
    else:
        try:
            recorder, invented = record(stages, grid)
        except (TileError, TypeError) as error:
            out["unmapped"] = f"There is no map for these arguments: {error}"
        else:
            seen = {(op.span, tuple(getattr(op, "shape", ()))): found for op, found in recorder.first.items()}
            out["accesses"] = {**access_map(recorder, number), "invented": invented}
    return {**out, "sectors": sectors(function, stages.values, seen, number)}
