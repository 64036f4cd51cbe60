"""Runs of element-wise ops as loops of machine code, made by LLVM for this CPU.

Each step of the interpreter is a NumPy function over the tiles of a chunk; a run of element-wise ops writes and reads
an array per op. Here such a run becomes one loop: no array but its operands and its results. What it computes is bit
for bit what the closures compute (`tests/interp/test_jit.py` compares them); these stay as the reference, as the way
for small tiles, and as the way for elements where the loop cannot be certain of the last bit (`Emitter.doubt`).

`groups.py` finds the runs, `lowering.py` executes them, `pieces.py` settles doubts, `emit.py` has the table of
emitters, `arith.py`, `math.py` and `convert.py` fill it, `functions.py` has formulas for exp and its like, `loops.py`
makes the loop around the elements, `engine.py` asks LLVM, `products.py` sets sums of products apart. Nothing imports
llvmlite before the first loop is compiled, which is when a run has cost more than compiling it will (`Policy`).
`TILEWRIGHT_JIT=0` turns it off, `TILEWRIGHT_JIT=always` makes loops of all runs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass
class Policy:
    """When a run of ops becomes a loop. Compiling takes 10 to 40 ms, finding the runs of a kernel some milliseconds.

    `seconds`: how long a program executes as closures before runs are looked for. `work`: elements times ops after
    which a run has cost about as much as a loop will; the `call` of a closure costs as much as so many elements.
    `elements`: fewer in one step are not worth the call of a loop.
    """

    enabled: bool = True
    seconds: float = 0.005
    work: int = 1 << 23
    call: int = 4000
    elements: int = 1 << 8

    def always(self) -> None:
        """Make loops at once, whatever they cost."""
        self.seconds, self.work, self.elements = 0.0, 0, 0


POLICY = Policy()
_wanted = os.environ.get("TILEWRIGHT_JIT", "1").lower()
if _wanted in ("0", "off", "false"):
    POLICY.enabled = False
elif _wanted == "always":
    POLICY.always()
