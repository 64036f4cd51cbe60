"""A simulator of the GPU code that the backend prints: LLVM IR text, executed on NumPy arrays.

`simulate` runs a kernel's text; `run_function` lowers a Tile IR function for a target and runs it. See docs/simulator
in the module docstrings: parser (text to `ir`), compile and op_* (closures over register slots), intrinsics and
meanings (llvm.* functions, instruction table), machine (threads, divergence, scheduling), memory and races.
"""

from sim.errors import (
    Deadlock,
    Divergence,
    Misaligned,
    OutOfRange,
    PendingCopy,
    Race,
    SimError,
    Unsupported,
    UnwrittenRead,
)
from sim.run import simulate

__all__ = [
    "Deadlock", "Divergence", "Misaligned", "OutOfRange", "PendingCopy", "Race", "SimError", "Unsupported",
    "UnwrittenRead", "simulate",
]
