"""What the page shows beside the texts: layouts, shared memory, registers and occupancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.inspecting.explorer import layouts, resources
from tilewright.inspecting.explorer.places import Numbering

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages


def views(stages: Stages, number: Numbering) -> dict[str, Any]:
    """The data of each view, by its name; what does not exist for a kernel is left out."""
    function = stages.machine_ir()
    return {
        "layouts": layouts.tiles(function, number),
        "shared": layouts.buffers(function, stages.target, number),
        "program": resources.program(function, number),
        "memory": resources.memory_map(function),
        "occupancy": resources.occupancy(function, stages),
    }
