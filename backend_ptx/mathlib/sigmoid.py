"""The logistic function of float32 and float64."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib import exp32, exp64
from tilewright.backend_ptx.mathlib.vec import Vec, fma, where


def sigmoid_32(x: Vec) -> Vec:
    """1 / (1 + exp(-x)); for x < 0 as exp(x) / (1 + exp(x)), which neither overflows nor loses small results."""
    power = exp32.exp(-abs(x))
    denominator = power + 1.0
    inverse = exp32.rcp(denominator)
    inverse = fma(fma(-inverse, denominator, 1.0), inverse, inverse)
    return where(x.lt(0.0), power, 1.0) * inverse


def sigmoid_64(x: Vec) -> Vec:
    """The same in float64."""
    power = exp64.exp(-abs(x))
    return where(x.lt(0.0), power, 1.0) / (power + 1.0)
