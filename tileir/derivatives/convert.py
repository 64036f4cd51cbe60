"""Adjoints of changes of dtype: rounding counts as the identity."""

from __future__ import annotations

from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import adjoint
from tilewright.tileir.ops.convert import Cast


@adjoint(Cast)
def cast(op: Cast, g: Value, r: Reverse) -> None:
    r.give(op.src, g)  # which casts it to the operand's dtype
