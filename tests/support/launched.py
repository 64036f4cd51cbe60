"""Kernels and arrays that tests of launches share, and kernels of a module's text."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw


def make_add() -> Any:
    """z = x + y by tiles of n elements: a new kernel, which nothing has launched."""
    @tw.tile_kernel
    def add(x, y, z, n: tw.Constant[int]):
        i = tw.bid(0)
        tw.store(z, (i,), tw.load(x, (i,), (n,)) + tw.load(y, (i,), (n,)))

    return add


def three(n: int = 100) -> list[tw.DeviceArray]:
    """Arrays of n float32 elements on the device."""
    return [tw.to_device(np.arange(n, dtype=np.float32)) for _ in range(3)]


def kernel_of(text: str, path: Path) -> Any:
    """The kernel `run` of a module with this text, which is written to `path`: reports name its lines."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run
