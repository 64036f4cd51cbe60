"""A simulator of the GPU code that the backend prints: LLVM IR text, executed on NumPy arrays.

`simulate` runs a kernel's text; `run_function` lowers a Tile IR function for a target and runs it,
`run_optimised` takes the text through LLVM's passes first.

The parts: parser (text to `ir`), compile and op_* (closures over register slots), intrinsics and meanings (llvm.*
functions, the instruction table), machine and code (threads, divergence, scheduling), memory, segment and races; for
Hopper mbarrier, bulk and tensormap, warpgroup, descriptor, inflight and registers; for clusters shared, cluster and
cluster_barrier.
"""

from tilewright.backend_ptx.simulator.errors import (
    Deadlock,
    Divergence,
    InFlight,
    LeftBlock,
    Misaligned,
    NotStarted,
    OutOfRange,
    PendingCopy,
    Race,
    SimError,
    Undefined,
    Unfenced,
    Unsupported,
    UnwrittenRead,
)
from tilewright.backend_ptx.simulator.lowered import run_function, run_lowered, run_optimised
from tilewright.backend_ptx.simulator.run import AddressTable, Grid, simulate
from tilewright.backend_ptx.simulator.tensormap import TensorMap

__all__ = [
    "AddressTable", "Deadlock", "Divergence", "Grid", "InFlight", "LeftBlock", "Misaligned", "NotStarted", "OutOfRange",
    "PendingCopy", "Race", "SimError", "TensorMap", "Undefined", "Unfenced", "Unsupported", "UnwrittenRead",
    "run_function", "run_lowered", "run_optimised", "simulate",
]
