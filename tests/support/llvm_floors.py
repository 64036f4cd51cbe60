"""LLVM ends the process where a target's PTX version is below the least that it takes. Tests ask in another one first.

So a wrong version in a target's record fails the tests that compile for this target, and the others still run.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import Any

from tilewright.backend_ptx.llvm import compile as llvm
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.diagnostics import TileInternalError

_ASK = """
import sys
import llvmlite.binding as llvm

llvm.initialize_all_targets()
cpu, ptx, triple = sys.argv[1:]
llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features="+ptx" + ptx)
"""


@functools.cache
def refusal(cpu: str, ptx: int) -> str:
    """Why LLVM takes no PTX of this version for a processor; "" if it does."""
    asked = subprocess.run([sys.executable, "-c", _ASK, cpu, str(ptx), llvm.TRIPLE], capture_output=True, text=True)
    return "" if asked.returncode == 0 else asked.stderr.strip() or f"it ended with code {asked.returncode}"


def guard() -> None:
    """From here on the compiler of this process asks before it makes LLVM's record of a target."""
    make = llvm.machine_of

    def checked(binding: Any, target: Target) -> Any:
        why = refusal(target.name, target.ptx)
        if why:
            raise TileInternalError(f"target {target.name}: LLVM refuses its PTX version {target.ptx / 10}: {why}")
        return make(binding, target)

    llvm.machine_of = checked
