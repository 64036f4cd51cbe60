"""`import tilewright` is quick and loads none of the heavy packages."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, time
start = time.perf_counter()
import tilewright
took = time.perf_counter() - start
heavy = [m for m in ("numpy", "llvmlite", "cuda", "lark", "torch", "cupy", "rich", "ml_dtypes") if m in sys.modules]
print(took, *heavy)
"""


def test_import_is_cheap() -> None:
    runs = [subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(3)]
    assert all(len(run) == 1 for run in runs), f"heavy modules were loaded: {runs[0][1:]}"
    assert min(float(run[0]) for run in runs) < 0.2


def test_every_public_name_exists() -> None:
    import tilewright

    assert len(set(tilewright.__all__)) == len(tilewright.__all__)
    for name in tilewright.__all__:
        assert hasattr(tilewright, name), name
    assert tilewright.kernel is tilewright.tile_kernel
