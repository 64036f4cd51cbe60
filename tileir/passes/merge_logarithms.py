"""Powers of e of differences with products of matrices become powers of 2, whose logarithm the difference is computed
with.

    before: %d: tile<64x128xf32> = sub(lhs=%s, rhs=broadcast(%m))       // %s = mul(lhs=mma(...), rhs=...)
            %p: tile<64x128xf32> = exp(src=%d, form="flushed")          // a product and ex2
    after:  %d: tile<64x128xf32> = fma(a=%s, b=log2(e), c=broadcast(-log2(e) * %m))
            %p: tile<64x128xf32> = exp2(src=%d, form="flushed")         // ex2

That is an error of |m| * 2**-24 in the exponent, as if %s were rounded once more: less than the bound of its sum of
products, K * eps * sum of magnitudes. Numbers that a select puts in the place of products, or that an MMA adds to them,
such as -1e9, have no such bound, and keep their differences: a row of nothing else has powers of 1. -inf is the same in
both, where log2(e) * %m is finite, as it is of maxima of products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.carried import carried, maker_of
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops.arith import Constant, Fma, Max, Mul, Select, Sub
from tilewright.tileir.ops.math import Exp, Exp2, Neg
from tilewright.tileir.ops.reduce import ReduceMax
from tilewright.tileir.ops.shape import Broadcast, Permute, Reshape
from tilewright.tileir.rewrite import Rewriter, constant_value, only, rewrite

LOG2E = 1.4426950216293335
"""Rounded to float32: 2**-25 away, which a difference below 126 takes to less than 64 ulp of the power."""
FEWER = 8
"""How many elements each number that is subtracted must stand for: it takes a product of its own."""
MODERATE = 2.0**100
"""Constants up to which log2(e) * m is finite."""

STEPS = 8
"""Most ops between an exponential's difference and an MMA: each may have two operands."""

PASSING = (Max, ReduceMax, Mul, Neg, Select, Broadcast, Reshape, Permute)
"""Of which an element is one of the operands, or a multiple."""

IsProduct = Callable[[Op], bool]


def merge_logarithms(unit: Unit, is_product: IsProduct) -> Preserved:
    """After `shorten_exponentials`, which says of which powers the uses tolerate errors."""
    if not unit.has(Exp):
        return ALL
    merged = {op for op in unit.function.walk() if isinstance(op, Exp) and _merges(unit, op, is_product)}
    if not merged:
        return ALL
    rewrite(unit.function, {Exp: only(merged, _merge)})
    return NONE


def _merges(unit: Unit, op: Exp, is_product: IsProduct) -> bool:
    """Whether the argument is a difference that nothing else needs, of products and of few numbers."""
    made = op.src.op
    if op.form is not Form.FLUSHED or not isinstance(made, (Sub, Fma)) or len(unit.uses[op.src]) != 1:
        return False
    if made.ftz or made.rounding is not RoundingMode.RN:
        return False
    products, *others = made.operands
    few = all(_few(v).type.size * FEWER <= op.src.type.size for v in others)
    return few and _is_of_products(products, is_product) and _is_moderate(unit, others[-1], is_product)


def _is_of_products(value: Value, is_product: IsProduct, steps: int = STEPS) -> bool:
    """Whether each element is a sum of products alone, a multiple of one, or -inf that a select puts in its place."""
    op = value.op
    if op is None or steps == 0:
        return False
    if isinstance(op, Select):
        given = [v for v in (op.lhs, op.rhs) if not isinstance(v.op, Constant) or v.op.value != -math.inf]
        return bool(given) and all(_is_of_products(v, is_product, steps - 1) for v in given)
    if isinstance(op, (Reshape, Permute, Broadcast)):
        return _is_of_products(op.src, is_product, steps - 1)
    if isinstance(op, Mul):
        return any(_is_of_products(v, is_product, steps - 1) for v in op.operands)
    return _is_products_alone(op, is_product)


def _is_products_alone(op: Any, is_product: IsProduct) -> bool:
    """Whether MMAs add to zeros: a bias may hold numbers such as -1e9."""
    while op is not None and is_product(op):
        if constant_value(op.acc) == 0:
            return True
        op = op.acc.op
    return False


def _is_moderate(unit: Unit, value: Value, is_product: IsProduct) -> bool:
    """Whether numbers are maxima of products, multiples of them, or constants that are infinite or not huge."""
    work, seen = [value], set[Value]()
    while work:
        v = work.pop()
        made = None if v in seen else maker_of(v, unit.parents)
        met = [other for group in carried(made) if v in group for other in group] if made is not None else []
        if met:
            work += met
        elif isinstance(made, PASSING):
            work += _sources(made)
        elif v not in seen and not (_is_harmless(made) or _is_of_products(v, is_product)):
            return False
        seen.add(v)
    return True


def _sources(op: Op) -> list[Value]:
    """The operands of which an element of the result is one, or a multiple."""
    if isinstance(op, Select):
        return [op.lhs, op.rhs]
    factors = [v for v in op.operands if not is_uniform(v)] if isinstance(op, Mul) else []
    return factors or list(op.operands)


def _is_harmless(op: Op | None) -> bool:
    return isinstance(op, Constant) and (math.isinf(op.value) or abs(op.value) <= MODERATE)


def _few(value: Value) -> Value:
    """The numbers that are repeated to a tile; the tile itself where it is made otherwise."""
    return value.op.src if isinstance(value.op, Broadcast) else value


def _times(b: Rewriter, repeated: Value, factor: float) -> Value:
    """What a few numbers are repeated to, each times a factor."""
    few = _few(repeated)
    scaled = b.value(Mul(lhs=few, rhs=b.constant(factor, few.type.erased())))
    return b.value(Broadcast(src=scaled, shape=repeated.type.shape))


def _merge(b: Rewriter, op: Exp) -> None:
    made = op.src.op
    if isinstance(made, Sub):
        factor, shift = b.constant(LOG2E, made.lhs.type.erased()), _times(b, made.rhs, -LOG2E)
        exponent = Fma(a=made.lhs, b=factor, c=shift)
    else:
        assert isinstance(made, Fma)
        exponent = Fma(a=made.a, b=_times(b, made.b, LOG2E), c=_times(b, made.c, LOG2E))
    b.replace(op.result, b.value(Exp2(src=b.value(exponent), form=op.form)))
