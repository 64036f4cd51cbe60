"""Programmatic dependent launch: a grid may start before the ones that it depends on have ended (PTX ISA,
"griddepcontrol"; CUDA programming guide, "Programmatic Dependent Launch")."""

from __future__ import annotations

from tilewright.backend_ptx.ops.shared import Signal
from tilewright.tileir.engines import ALL


class GridWait(Signal, opcode="grid_wait", role=ALL):
    """Each thread waits until the grids that this one depends on have completed, and sees all that they wrote."""


class LaunchDependents(Signal, opcode="launch_dependents", role=ALL):
    """Grids that depend on this one may start, once all of its CTAs have executed this or have ended. It says nothing
    about memory: their own waits do."""
