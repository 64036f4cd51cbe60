"""Ops that no gradient goes through: why, and what to do."""

from __future__ import annotations

from tilewright.tileir.derivatives.rules import REFUSED

REFUSED.update({
    "while": ("it counts how often another loop runs, which no gradient goes through", ""),
    "bitcast": ("the bits of a float are no number that changes with it",
                "of sorted elements the gradient goes through take(x, argsort(x, axis), axis)"),
    "mma_scaled": ("block-scaled products have no derivative yet", "multiply by the scales, and use mma"),
    "foreign": ("a function of another compiler has no derivative", "give the kernel a backward of your own with "
                "@kernel.defvjp"),
    "atomic_cas": ("a compare-and-swap hands on no derivative", ""),
})
