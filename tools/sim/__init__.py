"""A simulator of the GPU code that the backend prints: LLVM IR text, executed on NumPy arrays.

`simulate` runs a kernel's text; `run_function` lowers a Tile IR function for a target and runs it, `run_kernel` does
so for a decorated kernel, `run_optimised` takes the text through LLVM's passes first.

The parts: parser (text to `ir`), compile and op_* (closures over register slots), intrinsics and meanings (llvm.*
functions, the instruction table), machine and code (threads, divergence, scheduling), memory, segment and races; for
Hopper mbarrier, bulk and tensormap, warpgroup, descriptor, inflight and registers; for clusters shared, cluster and
cluster_barrier.
"""

from sim.errors import (
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
from sim.lowered import run_function, run_kernel, run_lowered, run_optimised
from sim.run import AddressTable, simulate
from sim.tensormap import TensorMap

__all__ = [
    "AddressTable", "Deadlock", "Divergence", "InFlight", "LeftBlock", "Misaligned", "NotStarted", "OutOfRange",
    "PendingCopy", "Race", "SimError", "TensorMap", "Undefined", "Unfenced", "Unsupported", "UnwrittenRead",
    "run_function", "run_kernel", "run_lowered", "run_optimised", "simulate",
]
