"""All operations that the simulator knows, by LLVM opcode."""

from __future__ import annotations

from tilewright.backend_ptx.simulator import assembly
from tilewright.backend_ptx.simulator.machine.compile import OperationTable
from tilewright.backend_ptx.simulator.ops import arith, intrinsics, memory, vector

OPERATIONS = OperationTable()
for _family in (arith, memory, vector, intrinsics, assembly):
    OPERATIONS.update(_family.OPERATIONS)
