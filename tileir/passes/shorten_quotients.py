"""Quotients, roots and logistic functions whose errors no use shows take a form of fewer instructions.

    before: %q: tile<64x128xf32> = div(lhs=%x, rhs=%y)                      // rounded to nearest: 10 and a branch
            %h: tile<64x128xbf16> = cast(src=%q, dtype=bf16)
    after:  %q: tile<64x128xf32> = div(lhs=%x, rhs=%y, form="relative")     // within 4 ulp: 2 to 8

The branch keeps ptxas from computing several quotients at once. How many instructions are left depends on what lowering
knows of the divisor. A logistic function takes 4 where zero may stand below 2**-126, 9 where not, and 16 in full.
Interpreters compute all forms alike.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import ALL, Preserved, Unit
from tilewright.tileir.core import Op
from tilewright.tileir.enums import Form
from tilewright.tileir.ops.arith import Div
from tilewright.tileir.ops.math import Sigmoid, Sqrt
from tilewright.tileir.ops.shape import Broadcast, Reshape
from tilewright.tileir.short_forms import WITHIN_64, is_open, shorten

# Short forms by class, the shortest first, and what they promise.
FORMS = {
    Div: {Form.RELATIVE: "within 4 ulp"}, Sqrt: {Form.RELATIVE: "within 4 ulp"},
    Sigmoid: WITHIN_64}


def shorten_quotients(unit: Unit) -> Preserved:
    """Before tiles are cut: sums of parts have fewer summands than the bound of the whole sum counts."""
    if unit.has(*FORMS):
        for op in unit.function.walk():
            if type(op) in FORMS and is_open(op) and _is_worth(unit, op):
                shorten(unit, op, FORMS[type(op)])
    return ALL


def _is_worth(unit: Unit, op: Op) -> bool:
    """One reciprocal serves all elements that are divided by one number; one quotient or root, or what is computed of
    it, all elements that it is spread to."""
    if isinstance(op, Sigmoid):
        return True
    if isinstance(op, Div) and isinstance(op.rhs.op, Broadcast):
        return False
    work, seen = [op.result], set[Op]()
    while work:
        for user in unit.uses.get(work.pop(), ()):
            if isinstance(user, Broadcast):
                return False
            if (user.elementwise or isinstance(user, Reshape)) and user not in seen:
                seen.add(user)
                work.append(user.result)
    return True
