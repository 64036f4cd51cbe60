"""What else than a kernel decides its machine code: the target, the versions of driver, assembler and LLVM."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

from tilewright.backend_ptx.runtime.driver import Device, driver_version
from tilewright.backend_ptx.runtime.link import JIT_OPTIONS

# A library of llvmlite from this size on has LLVM linked in (those of PyPI: 120 to 180 MB; without it: 0.2 MB).
WITH_LLVM = 1 << 24


def versions(device: Device) -> tuple[Any, ...]:
    """For keys of caches."""
    target = device.target
    return target.name, target.ptx, device.capability, llvm_build(), driver_version(), JIT_OPTIONS


@functools.cache
def llvm_build() -> str:
    """Which LLVM compiles, without loading it where llvmlite's own library holds it."""
    folder = Path(getattr(importlib.util.find_spec("llvmlite"), "origin", None) or "").parent
    sizes = [path.stat().st_size for path in sorted(folder.glob("binding/*llvmlite.*"))]
    if sum(sizes) < WITH_LLVM:  # it finds LLVM elsewhere, where that may change by itself; or it is missing
        from tilewright.backend_ptx.llvm.compile import llvm_version

        return llvm_version()
    return f"{(folder / '_version.py').read_text()} {sizes}"
