"""Gradients of kernels beside central differences, in float64 and in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import tilewright as tw

STEP = 1e-5
TOLERANCE = 1e-7  # of the largest term: central differences err by about STEP ** 2
DIRECTIONS = 3
ROUNDING = {np.float32: 2.0**-24, np.float16: 2.0**-11, ml_dtypes.bfloat16: 2.0**-8}


def gradients(
    kernel: tw.tile_kernel, grid: Any, arguments: dict[str, Any], wrt: Sequence[str], outputs: Sequence[str],
    cotangents: Sequence[Any], dtype: Any = np.float64, stored_once: Sequence[str] = (),
) -> list[Any]:
    """The gradients that the derived kernel computes, from arrays of zeros."""
    made = [np.zeros(arguments[name].shape, dtype) for name in wrt]
    backward = tw.grad(kernel, wrt=tuple(wrt), outputs=tuple(outputs), stored_once=tuple(stored_once))
    backward[grid](*arguments.values(), *cotangents, *made)
    return made


def gradcheck(
    kernel: tw.tile_kernel, grid: Any, arguments: dict[str, Any], wrt: Sequence[str], outputs: Sequence[str] = ("out",),
    seed: int = 0, tolerance: float = TOLERANCE, step: float = STEP, stored_once: Sequence[str] = (),
) -> None:
    """Compare the gradients with central differences along random directions of all arrays of `wrt` together.

    `arguments` are those of the kernel, in order; arrays are float64, or of what `step` and `tolerance` are given for,
    and are not changed.
    """
    random = np.random.default_rng(seed)
    dtypes = {name: arguments[name].dtype for name in (*wrt, *outputs)}
    cotangents = [random.standard_normal(arguments[name].shape).astype(dtypes[name]) for name in outputs]

    def value(moved: dict[str, Any]) -> float:
        results = {name: np.zeros_like(arguments[name]) for name in outputs}
        kernel[grid](*{**arguments, **moved, **results}.values())
        pairs = zip((results[name] for name in outputs), cotangents, strict=True)
        return sum(float((result.astype(np.float64) * g).sum()) for result, g in pairs)

    found = gradients(kernel, grid, arguments, wrt, outputs, cotangents, stored_once=stored_once)
    assert all(np.isfinite(array).all() for array in found), f"a gradient is not finite: {found}"
    for _ in range(DIRECTIONS):
        directions = [random.standard_normal(arguments[name].shape) for name in wrt]
        up, down = ({name: (arguments[name] + sign * step * way).astype(dtypes[name])
                     for name, way in zip(wrt, directions, strict=True)} for sign in (1, -1))
        difference = (value(up) - value(down)) / (2 * step)
        terms = [gradient * way for gradient, way in zip(found, directions, strict=True)]
        scale = 1.0 + sum(np.abs(term).sum() for term in terms)
        slope = sum(term.sum() for term in terms)
        assert abs(slope - difference) <= tolerance * scale, (slope, difference)
