"""Where an example's arrays live: on the host always, and on the GPU where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tilewright as tw


class Host:
    """NumPy arrays stay as they are: the interpreter runs the kernel."""

    name = "interpreter"

    def put(self, *arrays: np.ndarray) -> Any:
        return arrays[0] if len(arrays) == 1 else arrays

    def get(self, array: Any) -> np.ndarray:
        return np.asarray(array)


class Gpu(Host):
    """NumPy arrays are copied to the GPU with their strides, and the GPU runs the kernel."""

    name = "GPU"

    def put(self, *arrays: np.ndarray) -> Any:
        moved = tuple(tw.to_device(a, keep_strides=True) for a in arrays)
        return moved[0] if len(moved) == 1 else moved

    def get(self, array: Any) -> np.ndarray:
        return np.asarray(array.to_host())


def places() -> Iterator[Host]:
    """The host, and the GPU if a driver finds one."""
    yield Host()
    if tw.gpu_available():
        yield Gpu()


def check(what: str, place: Host, got: np.ndarray, want: np.ndarray, bound: float | np.ndarray = 0.0) -> None:
    """Compare with NumPy's result: bitwise by default, else within `bound` per element. Prints one line."""
    worst = np.abs(got.astype(np.float64) - want.astype(np.float64))
    if not np.all(worst <= bound) or got.shape != want.shape:
        raise SystemExit(f"{what} ({place.name}): differs from NumPy by up to {np.max(worst)}")
    print(f"{what:<44} {place.name:<12} ok, largest difference {np.max(worst, initial=0.0):.3g}")
