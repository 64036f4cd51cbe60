"""Cubin to SASS, where a disassembler is installed: nvdisasm or cuobjdump of a CUDA toolkit or a pip package."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tilewright.tileir.diagnostics import TileUnsupportedFeatureError

_TOOLS = {"nvdisasm": ("--print-code",), "cuobjdump": ("--dump-sass",)}


@functools.cache
def find_disassembler() -> tuple[str, tuple[str, ...]]:
    """(path, options before the cubin's name). TileUnsupportedFeatureError where there is none."""
    for name, options in _TOOLS.items():
        for folder in sys.path:
            for found in sorted(Path(folder or ".").glob(f"nvidia/*/bin/{name}")):
                if os.access(found, os.X_OK):
                    return str(found), options
        on_path = shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin")
        if on_path is not None:
            return on_path, options
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
