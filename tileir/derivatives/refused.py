"""Ops that no gradient goes through: why, and what to do."""

from __future__ import annotations

from tilewright.tileir.derivatives.rules import REFUSED

REFUSED.update({
    "while": ("the trips of a while loop are counted only when it has run",
              "write a for loop with a bound, and leave out what lies behind the end with where"),
    "bitcast": ("the bits of a float are no number that changes with it",
                "of sorted elements the gradient goes through take(x, argsort(x, axis), axis)"),
    "mma_scaled": ("block-scaled products have no derivative yet", "multiply by the scales, and use mma"),
    "atomic_cas": ("a compare-and-swap hands on no derivative", ""),
})
