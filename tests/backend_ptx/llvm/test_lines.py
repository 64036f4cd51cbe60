"""Debug locations change nothing but `.loc` and `.file`. LLVM ends the process where metadata is malformed, so kernels
are compiled in a child process."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from catalogue.all import one_per_kernel

from tilewright.backend_ptx.llvm.builder import Builder
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.llvm.module import DebugLines, KernelText
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.diagnostics import Span

STEP = 1 if os.environ.get("TILEWRIGHT_THOROUGH") else 80
DIRECTIVES = re.compile(r"\s*(\.loc\b|\.file\b|\$L__(tmp|func_begin|func_end)\d+:|//|\.section\s+\.debug)|\s*$")


def instructions(ptx: str) -> list[str]:
    return [line for line in ptx.splitlines() if not DIRECTIVES.match(line)]


def compile_all(start: int) -> None:
    """Each kernel for its first target, with lines and without."""
    for case in one_per_kernel()[start::STEP]:
        target = "sm_90a" if "sm_90a" in case.targets else case.targets[0]
        plain, lined = (case.kernel.ptx(*case.args(), target=target, lineinfo=lines) for lines in (False, True))
        assert instructions(plain) == instructions(lined), f"{case.name} differs"
        assert ".loc" not in plain and ".loc" in lined, case.name
        print("compiled", case.name, flush=True)


def test_lines_change_no_instruction() -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, f"exit status {done.returncode} after {done.stdout[-80:]!r}: {done.stderr[-2000:]}"
    assert done.stdout.count("compiled") == len(one_per_kernel()[5 % STEP::STEP])


@pytest.mark.parametrize("file", ['/tmp/a "b"\\c/käfer %s.py', "<ipython-input-1>", "x.py", "/a\nb.py"])
def test_names_of_files(file: str) -> None:
    """What a path may hold breaks neither LLVM's text nor PTX; a helper in another file has its own."""
    b = Builder()
    debug = DebugLines("k", Span(file, 7, 0, 7, 3, "k"))
    call = Span(file, 8, 4, 8, 9, "k")
    b.dbg = debug.tail(Span("other.py", 3, 2, 3, 5, 'f"', call), loop=call)
    b.ret()
    ptx, _ = llvm_to_ptx(KernelText("k", [], 32).text(b, debug), get_target("sm_80"))
    assert ".loc\t1 3 3" in ptx or ".loc\t2 3 3" in ptx
    assert ".file" in ptx and "other.py" in ptx


if __name__ == "__main__":
    compile_all(5 % STEP)
