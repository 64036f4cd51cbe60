"""The first launch of a process that finds its kernel in the disk cache: what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.runtime import driver, versions
from tilewright.launching import ahead

PROGRAM = """
import sys
import numpy as np
import pytest
from support import fake_cuda
cuda = fake_cuda.install(pytest.MonkeyPatch())
import tilewright as tw

@tw.tile_kernel
def double(x, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, n) * 2.0)

double[(8,)](tw.to_device(np.ones(1000, np.float32)), 128)
assert len(cuda.launches) == 1
print(*sorted(sys.modules))
"""


def loaded(program: Path, cache: Path) -> set[str]:
    """The modules that a process has loaded after its first launch."""
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_warm_launch_loads_neither_frontend_nor_passes_nor_llvm(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    cold, warm = loaded(program, tmp_path / "cache"), loaded(program, tmp_path / "cache")
    parts = ("frontend", "tileir.core", "tileir.ops", "tileir.passes", "backend_ptx.passes", "backend_ptx.lower",
             "backend_ptx.layouts", "backend_ptx.llvm.compile", "backend_ptx.compile", "backend_ptx.runtime.build")
    for name in ("llvmlite", *(f"tilewright.{part}" for part in parts)):
        assert any(module == name or module.startswith(f"{name}.") for module in cold), name
        assert not [module for module in warm if module == name or module.startswith(f"{name}.")]
    for name in ("tilewright.deriving", "tilewright.combining", "tilewright.tileir.derivatives",
                 "tilewright.tileir.combining"):
        assert not [module for module in cold if f"{module}.".startswith(f"{name}.")], "nobody has asked for gradients"


def test_the_host_works_while_the_driver_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, in a thread of its own, from before the driver is asked; what fails there, its user meets."""
    ran: list[str] = []
    started = threading.Event()

    def start() -> bool:
        assert started.wait(60)
        return False

    def note() -> None:
        ran.append(threading.current_thread().name)
        started.set()

    monkeypatch.setattr(ahead, "_thread", None)
    monkeypatch.setattr(ahead, "work", [lambda: 1 // 0, note])
    monkeypatch.setattr(driver, "available", start)
    for _ in range(2):
        ct.to_device(np.ones(2, np.float32))
    ahead.finish()
    assert ran == ["tilewright-ahead"]


def test_llvm_that_is_linked_from_elsewhere_says_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = versions.llvm_build.__wrapped__
    assert "-llvm-" not in whole()
    monkeypatch.setattr(versions, "WITH_LLVM", 1 << 40)
    assert whole().startswith("llvmlite-") and "-llvm-" in whole()
