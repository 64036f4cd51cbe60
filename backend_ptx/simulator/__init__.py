"""A simulator of the GPU code that the backend prints: LLVM IR, executed on NumPy arrays, with checks.

    from tilewright.backend_ptx.simulator import simulate
    simulate(kernel, grid, (x, y, 128), "sm_90a")

`simulate` takes a decorated kernel; `simulate_function` a Tile IR function, `simulate_lowered` and
`simulate_optimised` what `kernel.lower` gives, `simulate_text` any LLVM IR of the kind that the backend prints. No GPU
is needed. Threads of all warps run, asynchronous copies and MMAs end as late as the hardware may end them, and what two
threads do is ordered only by what orders it on a GPU. Each error says what is wrong, where, and for which threads.

The rooms, each of which imports only those before it: `numbers` (arithmetic as the hardware rounds), `text` (the parser
and what it makes), `memory` (segments, histories of accesses), `machine` (threads, the scheduler, the compiler to
closures), `ops` (LLVM's instructions and intrinsics), `engines` (copies, mbarriers, clusters, warpgroup MMAs). Then
`assembly` finds what inline assembly means by the instruction table, `launch` runs a grid, `entry` binds arguments.
`protocols` stands on its own: from machine IR it explores every interleaving of a kernel's roles.
"""

from tilewright.backend_ptx.simulator.entry import simulate, simulate_function, simulate_lowered, simulate_optimised
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
    Trap,
    Undefined,
    Unfenced,
    Unsupported,
    UnwrittenRead,
)
from tilewright.backend_ptx.simulator.launch import AddressTable, Grid, Options, simulate_text
from tilewright.backend_ptx.simulator.memory.tensor_map import TensorMapArgument

__all__ = [
    "AddressTable", "Deadlock", "Divergence", "Grid", "InFlight", "LeftBlock", "Misaligned", "NotStarted", "Options",
    "OutOfRange", "PendingCopy", "Race", "SimError", "TensorMapArgument", "Trap", "Undefined", "Unfenced",
    "Unsupported", "UnwrittenRead", "simulate", "simulate_function", "simulate_lowered", "simulate_optimised",
    "simulate_text",
]
