"""Programs of CUDA, where they are installed: ptxas makes machine code.

Tests assemble with ptxas; users compile through the driver.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tilewright.backend_ptx.runtime.link import assembler_error, has_lines
from tilewright.backend_ptx.targets import Target, get_target


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin and what ptxas says of it: registers per thread, spilled bytes, bytes of static shared memory."""

    cubin: bytes
    registers: int
    spills: int
    shared_bytes: int
    log: str


@functools.cache
def find_ptxas() -> str:
    """Path of ptxas: $TILEWRIGHT_PTXAS, the nvidia-cuda-nvcc package, or PATH. FileNotFoundError if none is there."""
    chosen = os.environ.get("TILEWRIGHT_PTXAS")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise FileNotFoundError(f"TILEWRIGHT_PTXAS={chosen} is not an executable file")
        return chosen
    found = find_tool("ptxas")
    if found is None:
        raise FileNotFoundError("ptxas was not found: pip install 'nvidia-cuda-nvcc==13.0.*', or put it on PATH")
    return found


def find_tool(name: str) -> str | None:
    """The path of a program of CUDA: in one of NVIDIA's pip packages, else on PATH."""
    packaged = (found for folder in sys.path for found in sorted(Path(folder or ".").glob(f"nvidia/*/bin/{name}")))
    return next((str(found) for found in packaged if os.access(found, os.X_OK)), None) or shutil.which(name)


def has_ptxas() -> bool:
    try:
        return bool(find_ptxas())
    except FileNotFoundError:
        return False


@functools.cache
def ptxas_version() -> str:
    out = subprocess.run([find_ptxas(), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"release ([\d.]+)", out)
    return found[1] if found else "unknown"


def assemble(ptx: str, target: str | Target, *, kernel: str = "kernel", level: int = 3) -> Assembled:
    """Assemble PTX for one target; TileCompilerExecutionError with ptxas' message where it is refused."""
    code, cubin, log = _run(ptx, get_target(target).name, level)
    if code:
        raise assembler_error(kernel, ptx, log)
    return Assembled(
        cubin, _number(r"Used (\d+) registers", log),
        _number(r"(\d+) bytes spill stores", log) + _number(r"(\d+) bytes spill loads", log),
        _number(r"(\d+) bytes smem", log), log)


# The ladder of plans asks about a text, and its caller assembles the one that was accepted.
@functools.lru_cache(maxsize=8)
def _run(ptx: str, arch: str, level: int) -> tuple[int, bytes, str]:
    """The exit status, the cubin (empty where the text is refused) and what was said."""
    with tempfile.TemporaryDirectory(prefix="tilewright-", dir=os.environ.get("TILEWRIGHT_TEMP_DIR")) as folder:
        source, output = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        lines = ["-lineinfo"] if has_lines(ptx) else []
        command = [find_ptxas(), f"-arch={arch}", f"-O{level}", *lines, "-v", str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True)
        log = (done.stdout + done.stderr).replace(str(source), "kernel.ptx")
        return done.returncode, b"" if done.returncode else output.read_bytes(), log


def _number(pattern: str, log: str) -> int:
    return sum(int(n) for n in re.findall(pattern, log))
