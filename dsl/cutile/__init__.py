"""Programs written for cuTile, run as they are: `python -m tilewright.cutile program.py`, or `install()` before them.

`import cuda.tile` is answered by Tilewright. Where there is no GPU, what such programs ask of torch and CuPy for
device "cuda" is answered on the CPU, and each substitution is named once on the standard error.
"""

from __future__ import annotations

import sys

import tilewright
from tilewright.arguments.device_array import gpu_available
from tilewright.cutile.finder import CudaPackageFinder, CutileFinder
from tilewright.cutile.hosts import install_hosts

__all__ = ["install"]


def install(cpu: bool | None = None) -> None:
    """Answer `import cuda.tile` from here on; a second call changes nothing.

    `cpu`: whether torch's device "cuda" and CuPy are answered on the CPU, too; None: where there is no GPU.

    RuntimeError where the program has imported another `cuda.tile` already.
    """
    loaded = sys.modules.get("cuda.tile")
    if loaded is not None and loaded is not tilewright:
        raise RuntimeError("cuda.tile is imported already; call tilewright.cutile.install() before that")
    if not any(isinstance(finder, CutileFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, CutileFinder())
        sys.meta_path.append(CudaPackageFinder())
    if not gpu_available() if cpu is None else cpu:
        install_hosts()
