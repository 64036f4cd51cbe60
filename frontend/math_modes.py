"""What a kernel's math mode makes of the options of its operations.

A mode only sets options that users may set themselves, so that nothing behind the frontend knows of modes.
"""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops.arith import Div
from tilewright.tileir.ops.math import Exp, Sqrt, Tanh
from tilewright.tileir.plan import Decision

EXACT, DEFAULT, FAST = "exact", "default", "fast"
MODES = (EXACT, DEFAULT, FAST)

_IEEE_FOR = {Div: RoundingMode.RN, Sqrt: RoundingMode.RN, Exp: RoundingMode.FULL, Tanh: RoundingMode.FULL}
"""The operations that have an approximation, each with what stands for it where there shall be none."""

_REASONS = {
    EXACT: "no product is fused with a sum, nothing is approximated by option, and subnormal numbers stay",
    FAST: "in float32 div, sqrt, exp and tanh are the hardware's approximations, and subnormal numbers are zero",
}


def options(mode: str, kind: type[Op], fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an op that is made in a mode."""
    return _exact(kind, fields) if mode == EXACT else _fast(kind, fields)


def _exact(kind: type[Op], fields: dict[str, Any]) -> dict[str, Any]:
    out = {name: value for name, value in fields.items() if name != "ftz"}
    if "form" in kind.fields:
        out["form"] = Form.ACCURATE
    if out.get("rounding") in (RoundingMode.APPROX, RoundingMode.FULL):
        out["rounding"] = _IEEE_FOR[kind]
    return out


def _fast(kind: type[Op], fields: dict[str, Any]) -> dict[str, Any]:
    """What the user has not said; for float32 alone, as no other type has these options."""
    added: dict[str, Any] = {}
    if kind in _IEEE_FOR and "rounding" not in fields:
        added["rounding"] = RoundingMode.APPROX
    if "ftz" in kind.fields and "ftz" not in fields:
        added["ftz"] = True
    operands = (value for value in fields.values() if isinstance(value, Value))
    return {**fields, **added} if added and next(operands).type.dtype is float32 else fields


def decision(mode: str) -> list[Decision]:
    """What a compiled kernel says of its mode; nothing of the usual one."""
    return [] if mode == DEFAULT else [Decision("math", mode, _REASONS[mode])]
