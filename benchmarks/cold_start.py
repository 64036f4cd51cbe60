"""A process with a warm disk cache up to its first result, beside one that loads a stored cubin by cuda.bindings alone.

Both import NumPy and cuda.bindings, retain the context, launch once and wait; they alternate, each process from its
start to its end, with the byte code of all that they import (an installed package has it).
`python -m benchmarks cold_start`; children call this file with what they shall do.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROUNDS = 15
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry nothing() { ret; }
"""


def bare(cubin: Path) -> None:
    """What a process with cuda.bindings needs to run a kernel that lies there as machine code."""
    import numpy  # noqa: F401 what ours imports too
    from cuda.bindings import driver as cuda

    def check(result: tuple[object, ...]) -> object:
        assert int(result[0]) == 0, result
        return result[1] if len(result) > 1 else None

    check(cuda.cuInit(0))
    device = check(cuda.cuDeviceGet(0))
    check(cuda.cuCtxSetCurrent(check(cuda.cuDevicePrimaryCtxRetain(device))))
    module = check(cuda.cuModuleLoadData(cubin.read_bytes()))
    kernel = check(cuda.cuModuleGetFunction(module, b"nothing"))
    check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0))
    check(cuda.cuCtxSynchronize())


def ours() -> None:
    """A vector add on the GPU; its result is checked."""
    import numpy as np

    import tilewright as tw

    @tw.tile_kernel
    def add(x, y, out, tile: tw.Constant[int]):
        i = tw.bid(0)
        tw.store(out, (i,), tw.load(x, (i,), (tile,)) + tw.load(y, (i,), (tile,)))

    x = np.arange(4096, dtype=np.float32)
    out = tw.to_device(np.zeros_like(x))
    add[(4,)](tw.to_device(x), tw.to_device(x), out, 1024)
    assert np.array_equal(out.to_host(), 2 * x)


def seconds(*what: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "benchmarks.cold_start", *what], check=True, env=environment)
    return time.perf_counter() - start


def rows() -> Iterator[str]:
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.link import link_ptx

    get_device(0).make_current()
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "nothing.cubin"
        cubin.write_bytes(link_ptx(PTX, "nothing")[0])
        ways = {"a stored cubin": ("bare", str(cubin)), "ours, warm cache": ("ours",)}
        for what in ways.values():
            seconds(*what)
        took: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, what in ways.items():
                took[name].append(seconds(*what) * 1e3)
    base, warm = (statistics.median(times) for times in took.values())
    beyond = statistics.median(b - a for a, b in zip(*took.values(), strict=True))
    yield f"first result of a process: stored cubin {base:.0f} ms, ours, warm cache {warm:.0f}; {beyond:.0f} beyond it"


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        bare(Path(sys.argv[2]))
    else:
        ours()
