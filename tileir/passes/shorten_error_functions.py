"""Error functions beside one whose errors no use shows take a form of fewer instructions, and products with such sums.

    before: %e: tile<64x128xf32> = erf(src=%x)                      // within 2 ulp: 15 instructions
            %s: tile<64x128xf32> = add(lhs=%e, rhs=%one)
            %h: tile<64x128xbf16> = cast(src=%s, dtype=bf16)
    after:  %e: tile<64x128xf32> = erf(src=%x, form="beside_one")   // 8

Such a sum times a number u of the sign of x, as in a GELU, is u + abs(u) * erf(abs(x)), 2 instructions less:

            %m: tile<64x128xf32> = mul(lhs=%u, rhs=%s)
    after:  %m: tile<64x128xf32> = fma(a=%abs_u, b=%erf_of_abs_x, c=%u)

Interpreters compute all forms alike.
"""

from __future__ import annotations

from tilewright.tileir.analysis.float_ranges import float_range
from tilewright.tileir.analysis.tolerances import tolerated
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import Form
from tilewright.tileir.ops.arith import Add, Div, Fma, Mul, Sub
from tilewright.tileir.ops.math import Abs, Erf
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, only, rewrite
from tilewright.tileir.short_forms import is_open, take

ERROR = "its sum with one is within 128 ulp, or 2**-22"
SPAN = 2.0**32
"""Products with constants of so much at most have overflowed only where an error function of others is not zero, which
times infinity is none."""


def shorten_error_functions(unit: Unit) -> Preserved:
    """Before tiles are cut: sums of parts have fewer summands than the bound of the whole sum counts."""
    choose_forms(unit)
    multiplied = (op for op in unit.function.walk() if isinstance(op, Mul)) if unit.has(Erf) else ()
    products = {op: found for op in multiplied if (found := _product(op, Form.WEIGHT))}
    if not products:
        return ALL

    def multiply(rewriter: Rewriter, op: Mul) -> None:
        number, factor, erf = products[op]
        number = rewriter.renamed.get(number, number)
        if factor is not None:
            number = rewriter.value(Mul(lhs=number, rhs=factor))
        wide = rewriter.value(Erf(src=rewriter.value(Abs(src=erf.src)), form=erf.form))
        rewriter.replace(op.result, rewriter.value(
            Fma(a=rewriter.value(Abs(src=number)), b=wide, c=number), op.result.hint))

    rewrite(unit.function, {Mul: only(products, multiply)})
    dce(unit)
    return NONE


def choose_forms(unit: Unit) -> None:
    """What each error function is computed as."""
    for op in unit.function.walk() if unit.has(Erf) else ():
        if isinstance(op, Erf) and is_open(op) and (reasons := _beside_one(unit, op)):
            take(unit, op, Form.BESIDE_ONE, ERROR, reasons)
            if _is_weight(unit, op):
                op.form = Form.WEIGHT


def _beside_one(unit: Unit, op: Erf) -> list[str] | None:
    """Why no use shows an error of 128 ulp of 1 - abs(erf), or 2**-22, which near 1 the sum has anyway."""
    reasons: dict[str, None] = {}
    for use in unit.uses.get(op.result, ()):
        found = tolerated(use.results[0], False, unit, power=2) if _has_one(use, op.result) else None
        if not found:
            return None
        reasons |= dict.fromkeys(found)
    return list(reasons)


def _has_one(use: Op, erf: Value) -> bool:
    """Whether the result is erf * f + c, or a difference of such, with constants, c at least the magnitude of f."""
    if isinstance(use, Fma):
        factor = use.b if use.a is erf else use.a
        return erf not in (use.c, factor) and float_range(use.c).low >= float_range(factor).magnitude
    return isinstance(use, (Add, Sub)) and max(float_range(v).low for v in (use.lhs, use.rhs)) >= 1


def _is_weight(unit: Unit, op: Erf) -> bool:
    """Decided with the form: fused launches share values, and their products may look like others."""
    sums = [use.results[0] for use in unit.uses.get(op.result, ())]
    return all(isinstance(use, Mul) and _product(use, op.form) for total in sums for use in unit.uses.get(total, ()))


def _product(op: Mul, form: Form) -> tuple[Value, Value | None, Erf] | None:
    """u, f and the error function of u * (1 + erf(v)) or u * (f + f * erf(v)), f a constant, where u and v have the
    same sign."""
    for number, total in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        made, factor = total.op, None
        if isinstance(made, Fma):
            terms, factor = (made.a, made.b), made.c
        elif isinstance(made, Add):
            terms = made.lhs, made.rhs
        else:
            continue
        for erf, other in (terms, terms[::-1]):
            if isinstance(erf.op, Erf) and erf.op.form is form and _constant(other) == (
                    1 if factor is None else _constant(factor)) and _root(number) is _root(erf.op.src):
                return number, factor, erf.op
    return None


def _constant(value: Value) -> float | None:
    """A positive number that all elements are."""
    known = float_range(value)
    return known.low if 0 < known.low == known.high else None


def _root(value: Value) -> Value:
    """What a value is a product or quotient of by positive constants, which together keep it within `SPAN`."""
    span = 1.0
    while isinstance(value.op, (Mul, Div)):
        op = value.op
        turned = isinstance(op, Mul) and _constant(op.rhs) is None
        factor = _constant(op.lhs if turned else op.rhs)
        if factor is None:
            break
        span *= max(factor, 1 / factor)
        if span > SPAN:
            break
        value = op.rhs if turned else op.lhs
    return value
