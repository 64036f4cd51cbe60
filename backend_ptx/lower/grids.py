"""Programmatic dependent launch."""

from tilewright.backend_ptx.lower.registry import emits
from tilewright.backend_ptx.ops import grids as ops

emits(ops.GridWait, "grid.wait")
emits(ops.LaunchDependents, "grid.launch_dependents")
