"""`import tilewright` loads none of the heavy packages."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "llvmlite", "cuda", "lark", "torch", "cupy", "rich", "ml_dtypes")
PROGRAM = f"""
import sys
import tilewright
print(*(m for m in {HEAVY} if m in sys.modules))
"""


def test_import_loads_no_heavy_package() -> None:
    """The time of an import depends on the machine; what it loads does not."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert not run.stdout.split(), f"heavy modules were loaded: {run.stdout}"


def test_every_public_name_exists() -> None:
    import tilewright

    assert len(set(tilewright.__all__)) == len(tilewright.__all__)
    for name in tilewright.__all__:
        assert hasattr(tilewright, name), name
    assert tilewright.kernel is tilewright.tile_kernel
