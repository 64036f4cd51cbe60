"""The first launch of a process that finds its kernel in the disk cache: what it loads, and what makes it a miss."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.backend_ptx.runtime import build, versions

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


def test_a_warm_launch_loads_neither_llvm_nor_the_backends_passes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    cold, warm = loaded(program, tmp_path / "cache"), loaded(program, tmp_path / "cache")
    parts = "passes", "lower", "llvm.compile", "compile"
    for name in ("llvmlite", *(f"tilewright.backend_ptx.{part}" for part in parts)):
        assert any(module == name or module.startswith(f"{name}.") for module in cold), name
        assert not [module for module in warm if module == name or module.startswith(f"{name}.")]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    yield fake_cuda.install(monkeypatch)
    fake_cuda.uninstall()


def doubled(tile: Any) -> Any:
    return tile * 2.0


def tripled(tile: Any) -> Any:
    return tile * 3.0


def make(helper: Any = doubled, offset: float = 1.0, **hints: Any) -> Any:
    def body(x: Any, n: tw.Constant[int]) -> None:
        i = tw.bid(0)
        tw.store(x, i, helper(tw.load(x, i, n)) + offset)

    return tw.tile_kernel(body, **hints)


def launch(kernel: Any, length: int = 1024, tile: int = 128, dtype: Any = np.float32) -> None:
    kernel[(8,)](tw.to_device(np.ones(length, dtype)), tile)


CHANGES: dict[str, Callable[[], None]] = {
    "the source of a helper": lambda: launch(make(helper=tripled)),
    "a captured value": lambda: launch(make(offset=2.0)),
    "the dtype of an array": lambda: launch(make(), dtype=np.float16),
    "the divisibility of an extent": lambda: launch(make(), length=1023),
    "a constant": lambda: launch(make(), tile=64),
    "a hint": lambda: launch(make(occupancy=2)),
}
VERSIONS = {"llvm_build": versions, "driver_version": versions, "source_digest": build}


@pytest.mark.parametrize("what", [*CHANGES, *VERSIONS])
def test_what_makes_a_launch_a_miss(cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    launch(make())
    launch(make())
    assert len(list(tmp_path.rglob("*.twk"))) == 1, "the same kernel is found"
    if what in VERSIONS:
        monkeypatch.setattr(VERSIONS[what], what, lambda: "another")
    CHANGES.get(what, lambda: launch(make()))()
    assert len(list(tmp_path.rglob("*.twk"))) == 2, what


def test_llvm_that_is_linked_from_elsewhere_says_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = versions.llvm_build.__wrapped__
    assert "-llvm-" not in whole()
    monkeypatch.setattr(versions, "WITH_LLVM", 1 << 40)
    assert whole().startswith("llvmlite-") and "-llvm-" in whole()
