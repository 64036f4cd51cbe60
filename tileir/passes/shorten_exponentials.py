"""Exponentials whose errors no use shows take a form of fewer instructions.

    before: %p: tile<64x128xf32> = exp(src=%x)                      // within 2 ulp: 8 instructions
            %h: tile<64x128xbf16> = cast(src=%p, dtype=bf16)
    after:  %p: tile<64x128xf32> = exp(src=%x, form="flushed")      // within 64 ulp, zero below 2**-126: 2

"relative" keeps results below 2**-126, in 5 instructions. Interpreters compute all forms alike.
"""

from __future__ import annotations

from tilewright.tileir.analysis.tolerances import tolerated
from tilewright.tileir.analysis.unit import ALL, Preserved, Unit
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops.math import Exp, Exp2
from tilewright.tileir.plan import Decision

# Short forms by opcode, the shortest first. A power of 2 is no longer where nothing is flushed.
FORMS = {"exp": (Form.FLUSHED, Form.RELATIVE), "exp2": (Form.FLUSHED,)}
ERRORS = {Form.FLUSHED: "within 64 ulp, zero below 2**-126", Form.RELATIVE: "within 64 ulp"}


def shorten_exponentials(unit: Unit) -> Preserved:
    """Before tiles are cut: sums of parts have fewer summands than the bound of the whole sum counts."""
    if unit.has(Exp, Exp2):
        for op in unit.function.walk():
            if isinstance(op, (Exp, Exp2)) and op.src.type.dtype is float32 and not _is_said(op):
                _shorten(unit, op)
    return ALL


def _is_said(op: Exp | Exp2) -> bool:
    """Whether the user has chosen a form."""
    return op.form is not Form.USES or (op.ftz if isinstance(op, Exp2) else op.rounding is RoundingMode.APPROX)


def _shorten(unit: Unit, op: Exp | Exp2) -> None:
    for form in FORMS[op.opcode]:
        reasons = tolerated(op.result, form is Form.FLUSHED, unit)
        if reasons:
            op.form = form
            made = Decision(op.opcode, ERRORS[form], f"it is only {' and '.join(reasons)}", op.span)
            if made not in unit.function.decisions:
                unit.function.decisions.append(made)
            return
