"""Functions as text that exercise the backend's passes, with arguments to run them on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse

FOLDER = Path(__file__).parents[1] / "backend_ptx" / "passes" / "kernels"


class Kernel(NamedTuple):
    """`arguments(rng)` makes arrays and scalars; float results may differ by `tolerance` (relative)."""

    grid: tuple[int, ...]
    arguments: Callable[[np.random.Generator], list[Any]]
    tolerance: float = 0.0


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def _rows_with_ties(rng: np.random.Generator) -> np.ndarray:
    """Rows with equal extremes far apart, with NaNs, and with nothing but NaNs."""
    x = rng.integers(-3, 4, (8, 1024)).astype(np.float32)
    x[2, ::3] = np.nan
    x[3] = np.nan
    x[4, 700] = np.nan
    return x


KERNELS: dict[str, Kernel] = {
    "transpose": Kernel((3, 2), lambda r: [_floats(r, 70, 100), np.zeros((100, 72), np.float32)]),
    "normalise_rows": Kernel((3,), lambda r: [_floats(r, 3, 1000), np.zeros((3, 1024), np.float32)], 2e-6),
    "reduce_axes": Kernel((1,), lambda r: [
        r.integers(-99, 99, (16, 4, 32)).astype(np.int16), np.zeros(4, np.int16), np.zeros((16, 32), np.int16),
        np.zeros(1, np.int16)]),
    "argmax": Kernel((4,), lambda r: [_rows_with_ties(r), np.zeros((8, 2), np.int32), np.zeros(4096, np.int32)]),
    "accumulate": Kernel((1,), lambda r: [_floats(r, 100, 32), np.zeros((32, 32), np.float32), 4]),
    "in_place": Kernel((1,), lambda r: [r.integers(-9, 9, (32, 32)).astype(np.int32)]),
    "pieces": Kernel((1,), lambda r: [
        r.normal(size=(32, 64)).astype(ml_dtypes.bfloat16), np.zeros((64, 32), ml_dtypes.bfloat16), 2]),
    "widened_transpose": Kernel((1,), lambda r: [
        r.normal(size=(100, 72)).astype(np.float16), np.zeros((64, 104), np.float32), 3]),
    "locked_sum": Kernel((3,), lambda r: [
        np.zeros(1, np.int32), r.integers(-9, 9, (3, 256)).astype(np.int32), np.zeros((1, 256), np.int32)]),
    "counted_bytes": Kernel((3,), lambda r: [
        r.integers(0, 256, 1500).astype(np.uint8), np.zeros((2, 100), np.int64), 1]),
    "prefix_sum": Kernel((3,), lambda r: [
        r.integers(-9, 9, 3000).astype(np.int32), np.zeros(3072, np.int32), np.zeros(3, np.int32)]),
    "scaled_rows": Kernel((2,), lambda r: [
        r.normal(size=(2, 16000)).astype(ml_dtypes.bfloat16), r.normal(size=15001).astype(ml_dtypes.bfloat16),
        r.normal(size=16384).astype(ml_dtypes.bfloat16), np.zeros((2, 16384), ml_dtypes.bfloat16)]),
    "triangle": Kernel((4,), lambda r: [
        r.integers(-9, 9, (256, 256)).astype(np.float32), np.zeros(256, np.float32)]),
    "masked_blocks": Kernel((1,), lambda r: [_floats(r, 16, 300), np.zeros(16, np.float32), 300]),
    "taps": Kernel((2,), lambda r: [
        r.integers(-9, 9, (100, 130)).astype(np.float32), np.zeros((128, 64), np.float32), 3]),
    "silu": Kernel((2,), lambda r: [_floats(r, 2, 256), np.zeros((2, 256), ml_dtypes.bfloat16)], tolerance=2.0**-7),
    "gelu": Kernel((2,), lambda r: [_floats(r, 2, 256), np.zeros((2, 256), ml_dtypes.bfloat16)], tolerance=2.0**-7),
    "short_filter": Kernel((2,), lambda r: [
        r.integers(-9, 9, 500).astype(np.float32), np.zeros(500, np.float32)]),
    "two_limits": Kernel((4,), lambda r: [
        r.integers(-9, 9, (256, 252)).astype(np.float32), np.zeros(256, np.float32)]),
    "powers": Kernel((2,), lambda r: [
        r.integers(-1, 2, (128, 64)).astype(np.float16), r.integers(-1, 2, (64, 64)).astype(np.float16),
        np.zeros((128, 64), np.float16)], 2e-3),
    "outer": Kernel((2,), lambda r: [
        _floats(r, 128), _floats(r, 32), np.zeros((128, 32), np.float32), np.zeros(128, np.float32)]),
}


def function(name: str) -> Function:
    """The function of a kernel, freshly parsed."""
    return parse((FOLDER / f"{name}.tile").read_text())
