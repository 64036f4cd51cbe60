"""Kernels written from docs/language.md alone: each checks itself in the interpreter, in the simulator, on a GPU."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate
from tilewright.launching.bound import BoundKernel

SCRIPTS = sorted((Path(__file__).parent / "kernels").glob("*.py"))
each = pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)


def launches_by(monkeypatch: pytest.MonkeyPatch, launch: Callable[..., object]) -> None:
    """Let `kernel[grid](...)` of the scripts call launch(kernel, grid, args)."""

    def call(self: BoundKernel, *args: Any) -> None:
        launch(self.kernel, self.grid.size, args)

    monkeypatch.setattr(BoundKernel, "__call__", call)


@each
def test_interpreter(script: Path) -> None:
    runpy.run_path(str(script))


@each
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_simulator(script: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launches_by(monkeypatch, lambda kernel, grid, args: simulate(kernel, grid, list(args), target))
    try:
        runpy.run_path(str(script))
    except tw.TileUnsupportedFeatureError as error:
        assert target in str(error)
        pytest.skip(f"refused on {target}")


@each
@pytest.mark.gpu
def test_gpu(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_device(kernel: tw.tile_kernel, grid: Any, args: tuple[Any, ...]) -> None:
        moved = [_moved(arg) for arg in args]
        kernel.bind(grid, *moved)()
        for arg, there in zip(args, moved, strict=True):
            if isinstance(arg, np.ndarray):
                arg[...] = there.to_host()

    launches_by(monkeypatch, on_device)
    runpy.run_path(str(script))


def _moved(arg: Any) -> Any:
    if isinstance(arg, list):
        return [_moved(item) for item in arg]
    return tw.to_device(arg) if isinstance(arg, np.ndarray) else arg
