"""Forms of functions and quotients of fewer instructions, which ops take where no use shows their errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tilewright.tileir.analysis.tolerances import tolerated
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import Form
from tilewright.tileir.plan import Decision

WITHIN_64 = {Form.FLUSHED: "within 64 ulp, zero below 2**-126", Form.RELATIVE: "within 64 ulp"}
"""The forms of exponentials, the shortest first, and what they promise."""


def is_open(op: Op) -> bool:
    """Whether an op of float32 has no form yet, as the user has chosen neither that nor a rounding or flushing."""
    chosen = any(option != type(op).fields[name].default for name, option in op.attributes.items())
    return op.results[0].type.dtype is float32 and not chosen


def shorten(unit: Unit, op: Op, forms: Mapping[Form, str]) -> None:
    """Give an op the first of some forms whose errors, told in words, all uses tolerate."""
    for form, error in forms.items():
        if reasons := tolerated(op.results[0], form is Form.FLUSHED, unit):
            take(unit, op, form, error, reasons)
            return


def take(unit: Unit, op: Any, form: Form, error: str, reasons: Iterable[str]) -> None:
    """Give an op a form; one decision for all that tell the same of a line."""
    op.form = form
    made = Decision(op.opcode, error, f"it is only {' and '.join(reasons)}", op.span)
    if made not in unit.function.decisions:
        unit.function.decisions.append(made)
