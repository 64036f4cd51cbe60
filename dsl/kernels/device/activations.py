"""Activations and their derivatives as functions of tiles, by name."""

import math

import tilewright as tw

NAMES = ("none", "relu", "gelu", "gelu_tanh", "silu")
FAST = tw.RoundingMode.APPROX
ROOT_2_PI = math.sqrt(2.0 / math.pi)


def sigmoid(t):
    if t.dtype == tw.float32:  # the hardware's functions: few instructions and registers beside an accumulator
        return tw.truediv(1.0, 1.0 + tw.exp(-t, rounding_mode=FAST), rounding_mode=FAST)
    return 1.0 / (1.0 + tw.exp(-t))


def activate(t, name):
    """The activation of a tile. `name` is a constant, one of NAMES."""
    if name == "relu":
        return tw.maximum(t, 0.0)
    if name == "gelu":
        return 0.5 * t * (1.0 + tw.erf(t * math.sqrt(0.5)))
    if name == "gelu_tanh":
        # (1 + tanh(u)) / 2 is sigmoid(2 u), which is one exponential.
        return t * sigmoid(2.0 * ROOT_2_PI * (t + 0.044715 * t * t * t))
    if name == "silu":
        return t * sigmoid(t)
    return t


def slope(t, name):
    """The derivative of `activate` at t."""
    if name == "relu":
        return tw.where(t > 0.0, 1.0, 0.0).astype(t.dtype)
    if name == "gelu":
        density = tw.exp(-0.5 * t * t) * (1.0 / math.sqrt(2.0 * math.pi))
        return 0.5 * (1.0 + tw.erf(t * math.sqrt(0.5))) + t * density
    if name == "gelu_tanh":
        s = sigmoid(2.0 * ROOT_2_PI * (t + 0.044715 * t * t * t))
        return s + 2.0 * t * s * (1.0 - s) * ROOT_2_PI * (1.0 + 0.134145 * t * t)
    if name == "silu":
        s = sigmoid(t)
        return s * (1.0 + t * (1.0 - s))
    return tw.ones(t.shape, t.dtype)
