"""Exponentials whose errors no use shows take a form of fewer instructions.

    before: %p: tile<64x128xf32> = exp(src=%x)                      // within 2 ulp: 8 instructions
            %h: tile<64x128xbf16> = cast(src=%p, dtype=bf16)
    after:  %p: tile<64x128xf32> = exp(src=%x, form="flushed")      // within 64 ulp, zero below 2**-126: 2

"relative" keeps results below 2**-126, in 5 instructions. Interpreters compute all forms alike.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import ALL, Preserved, Unit
from tilewright.tileir.enums import Form
from tilewright.tileir.ops.math import Exp, Exp2
from tilewright.tileir.short_forms import WITHIN_64, is_open, shorten

# Short forms by class, the shortest first. A power of 2 is no longer where nothing is flushed.
FORMS = {Exp: WITHIN_64, Exp2: {Form.FLUSHED: WITHIN_64[Form.FLUSHED]}}


def shorten_exponentials(unit: Unit) -> Preserved:
    """Before tiles are cut: sums of parts have fewer summands than the bound of the whole sum counts."""
    if unit.has(*FORMS):
        for op in unit.function.walk():
            if isinstance(op, (Exp, Exp2)) and is_open(op):
                shorten(unit, op, FORMS[type(op)])
    return ALL
