"""The roofline: what a launch moves and computes (`tilewright.estimating`) against the limits of GPUs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.estimating.devices import DEVICES
from tilewright.estimating.entry import estimated
from tilewright.estimating.flops import INTEGER
from tilewright.estimating.result import Estimate

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages

DEFAULT = "h200"


def roofline(stages: Stages, grid: tuple[int, int, int]) -> dict[str, Any]:
    """Bytes of each array, operations by kind, and for each GPU what bounds the launch. The GPU that stands first has
    the target of the stages, if one has it."""
    found = estimated(stages, grid, DEVICES[DEFAULT])
    least, most = found.dram_bytes
    ranked = sorted(DEVICES.values(), key=lambda d: (d.target != stages.target.name, d.name != DEFAULT))
    return {
        "least": least, "most": most, "operations": found.operations, "intensity": found.intensity,
        "notes": list(found.notes), "integer": INTEGER,
        "arrays": [{"name": a.name, "read": [a.read.unique, a.read.requested],
                    "written": [a.written.unique, a.written.requested]} for a in found.arrays],
        "devices": [_of_device(replace(found, device=device)) for device in ranked]}


def _of_device(found: Estimate) -> dict[str, Any]:
    device = found.device
    return {
        "name": device.name, "title": device.title, "bandwidth": device.memory_limit,
        "rates": {kind: device.rate_limit(kind) for kind in found.operations},
        "measured": sorted(device.measured), "seconds": found.seconds, "limit": found.limit,
        "memory": found.seconds_memory, "kinds": found.seconds_by_kind}
