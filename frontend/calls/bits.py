"""Counts of bits: popcount, clz, ffs."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.frontend.calls.arith import binary, number, where
from tilewright.frontend.calls.registry import add_rule, call_rule
from tilewright.frontend.promotion import of_operand
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.ops import math as ops


def _integers(what: str, x: Val) -> Value:
    """An operand whose dtype says how many bits there are."""
    value = number(what, x)
    if is_loose(value):
        raise of_operand("x", TileTypeError(f"{what}: {named(value)} has no width",
                                            hints=[f"give it a dtype: ct.int32({value})"]))
    if not value.type.dtype.is_int:
        raise of_operand("x", TileTypeError(f"{what}: expected integers, got {named(value)}",
                                            hints=["cast with ct.astype(x, ct.int32), or read the bits: "
                                                   "ct.bitcast(x, ct.int32)"]))
    return value  # type: ignore[no-any-return]


def _count(what: str, op: type[ops.BitCount]) -> Callable[..., Val]:
    def rule(t: Translator, x: Val, /) -> Val:
        return t.emit(op, src=_integers(what, x))

    return rule


add_rule("popcount", _count("popcount", ops.Popcount))
add_rule("clz", _count("clz", ops.Clz))


@call_rule("ffs")
def ffs(t: Translator, x: Val, /) -> Val:
    """x ^ (x - 1) has a 1 at the lowest 1 of x and below, and nowhere else; where x is 0 it has all bits."""
    x = _integers("ffs", x)
    lowest = t.emit(ops.Popcount, src=binary(t, "bitwise_xor", x, binary(t, "sub", x, 1)))
    return where(t, binary(t, "equal", x, 0), 0, lowest)
