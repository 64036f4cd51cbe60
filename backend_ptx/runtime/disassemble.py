"""Cubin to SASS, where a disassembler is installed: nvdisasm or cuobjdump of a CUDA toolkit or a pip package."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from tilewright.backend_ptx.runtime.ptxas import find_tool
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError

_TOOLS = {"nvdisasm": ("--print-code",), "cuobjdump": ("--dump-sass",)}


@functools.cache
def find_disassembler() -> tuple[str, tuple[str, ...]]:
    """(path, options before the cubin's name). TileUnsupportedFeatureError where there is none."""
    for name, options in _TOOLS.items():
        found = find_tool(name) or shutil.which(name, path="/usr/local/cuda/bin")
        if found is not None:
            return found, options
    raise TileUnsupportedFeatureError(
        "SASS needs a disassembler, and neither nvdisasm nor cuobjdump was found",
        hints=["pip install nvidia-cuda-nvdisasm, or put a CUDA toolkit's bin folder on PATH"])


def sass(cubin: bytes) -> str:
    """The machine code of a cubin as text."""
    tool, options = find_disassembler()
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        done = subprocess.run([tool, *options, str(file)], capture_output=True, text=True)
    if done.returncode:
        raise TileUnsupportedFeatureError(f"{Path(tool).name} failed: {done.stderr.strip()}")
    return done.stdout
