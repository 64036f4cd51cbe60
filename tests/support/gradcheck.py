"""Gradients of kernels beside central differences, in float64 and in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tilewright as tw

STEP = 1e-5
TOLERANCE = 1e-7  # of the largest term: central differences err by about STEP ** 2
DIRECTIONS = 3


def gradients(
    kernel: tw.tile_kernel, grid: Any, arguments: dict[str, Any], wrt: Sequence[str], outputs: Sequence[str],
    cotangents: Sequence[Any], dtype: Any = np.float64,
) -> list[Any]:
    """The gradients that the derived kernel computes, from arrays of zeros."""
    made = [np.zeros(arguments[name].shape, dtype) for name in wrt]
    tw.grad(kernel, wrt=tuple(wrt), outputs=tuple(outputs))[grid](*arguments.values(), *cotangents, *made)
    return made


def gradcheck(
    kernel: tw.tile_kernel, grid: Any, arguments: dict[str, Any], wrt: Sequence[str], outputs: Sequence[str] = ("out",),
    seed: int = 0, tolerance: float = TOLERANCE,
) -> None:
    """Compare the gradients with central differences along random directions of all arrays of `wrt` together.

    `arguments` are those of the kernel, in order; arrays are float64 and are not changed.
    """
    random = np.random.default_rng(seed)
    cotangents = [random.standard_normal(arguments[name].shape) for name in outputs]

    def value(moved: dict[str, Any]) -> float:
        results = {name: np.zeros_like(arguments[name]) for name in outputs}
        kernel[grid](*{**arguments, **moved, **results}.values())
        return sum(float((results[name] * g).sum()) for name, g in zip(outputs, cotangents, strict=True))

    found = gradients(kernel, grid, arguments, wrt, outputs, cotangents)
    assert all(np.isfinite(array).all() for array in found), f"a gradient is not finite: {found}"
    for _ in range(DIRECTIONS):
        directions = [random.standard_normal(arguments[name].shape) for name in wrt]
        up, down = ({name: arguments[name] + sign * STEP * way for name, way in zip(wrt, directions, strict=True)}
                    for sign in (1, -1))
        difference = (value(up) - value(down)) / (2 * STEP)
        terms = [gradient * way for gradient, way in zip(found, directions, strict=True)]
        scale = 1.0 + sum(np.abs(term).sum() for term in terms)
        slope = sum(term.sum() for term in terms)
        assert abs(slope - difference) <= tolerance * scale, (slope, difference)
