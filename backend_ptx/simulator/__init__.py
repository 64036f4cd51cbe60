"""A simulator of the GPU code that the backend prints: LLVM IR text, executed on NumPy arrays.

`simulate` runs a kernel's text; `run_function` lowers a Tile IR function for a target and runs it,
`run_optimised` takes the text through LLVM's passes first.

The rooms, each of which imports only those before it: `numbers` (arithmetic as the hardware rounds), `text` (the parser
and what it makes), `memory` (segments, histories of accesses), `machine` (threads, the scheduler, the compiler to
closures), `ops` (LLVM's instructions and intrinsics), `engines` (copies, mbarriers, clusters, warpgroup MMAs). Then
`assembly` finds what inline assembly means by the instruction table, `launch` runs a grid, `lowered` binds arguments.
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
from tilewright.backend_ptx.simulator.launch import AddressTable, Grid, simulate
from tilewright.backend_ptx.simulator.lowered import run_function, run_lowered, run_optimised
from tilewright.backend_ptx.simulator.memory.tensor_map import TensorMapArgument

__all__ = [
    "AddressTable", "Deadlock", "Divergence", "Grid", "InFlight", "LeftBlock", "Misaligned", "NotStarted", "OutOfRange",
    "PendingCopy", "Race", "SimError", "TensorMapArgument", "Undefined", "Unfenced", "Unsupported", "UnwrittenRead",
    "run_function", "run_lowered", "run_optimised", "simulate",
]
