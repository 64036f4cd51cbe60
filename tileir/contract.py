"""Clean-up at the end of a translation or derivation: products and sums become fma, of matrices mma, unused constants
and extents go.

    %p = mul(%a, %b)                    %s = fma(%a, %b, %c)
    %s = add(%p, %c)          ->

    %p = mma(%a, %b, %zeros)            %s = mma(%a, %b, %c)
    %s = add(%p, %c)          ->
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import bfloat16, float16, float32, float64
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.arith import Add, Constant, Fma, Mul, Sub
from tilewright.tileir.ops.arrays import Extent, Stride
from tilewright.tileir.ops.debug import Breakpoint
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.shape import Broadcast

_FLOATS = (float16, bfloat16, float32, float64)


def contract_fma(function: Function, sums: Container[Op] | None = None) -> None:
    """Fuse every float product that is used once, by a sum or difference in its block with the same options, one of
    `sums` where these are given, and every product of matrices alone that is used once, by a plain sum there.

    What is fused is decided here, before anyone sees the IR, so that all executors round alike.
    """
    shown = {value for op in function.walk() if isinstance(op, Breakpoint) for value in op.values}
    uses = count_uses(function, but=Breakpoint)  # a debugger that looks on changes no result
    for block in all_blocks(function.body):
        if any(type(op) in (Mul, Mma) for op in block.ops):
            block.ops = _contract_block(block, uses, shown, sums)


def _contract_block(
    block: Block, uses: Counter[Value], shown: set[Value], sums: Container[Op] | None,
) -> list[Op]:
    once = [op for op in block.ops if type(op) in (Mul, Mma) and uses[op.results[0]] == 1]
    products = {op.result: op for op in once if isinstance(op, Mul)}
    of_matrices = {op.result: op for op in once if isinstance(op, Mma) and _alone(op)}
    out: list[Op] = []
    gone: set[Op] = set()
    for op in block.ops:
        if isinstance(op, (Add, Sub)) and (sums is None or op in sums):
            product = _matrices_of(op, of_matrices) or _product_of(op, products)
            if product is not None:
                out += _added_up(op, product) if isinstance(product, Mma) else _fused(op, product)
                if product.result not in shown:
                    gone.add(product)
                continue
        out.append(op)
    return [op for op in out if op not in gone]


def _alone(op: Mma) -> bool:
    """Whether nothing is added to the product; tensor cores that may add with few bits are not given more to add."""
    return isinstance(op.acc.op, Constant) and op.acc.op.value == 0 and not op.fast_acc


def _matrices_of(op: Op, products: dict[Value, Mma]) -> Mma | None:
    """The product of matrices that a sum adds as the mma would."""
    if not isinstance(op, Add) or op.ftz or op.rounding is not RoundingMode.RN:
        return None
    return products.get(op.lhs) or products.get(op.rhs)


def _added_up(op: Op, product: Mma) -> list[Op]:
    """The mma that begins with what it was added to; the sum's result value lives on."""
    [acc] = [value for value in op.operands if value is not product.result]
    mma = Mma(a=product.a, b=product.b, acc=acc)
    _takes_result(mma, op)
    return [mma]


def _takes_result(new: Op, old: Op) -> None:
    new.span = old.span
    new.results = old.results
    old.results[0].owner = new


def _product_of(op: Add | Sub, products: dict[Value, Mul]) -> Mul | None:
    if op.result.type.dtype not in _FLOATS:
        return None
    for side in (op.lhs, op.rhs):
        product = products.get(side)
        if product is not None and (product.rounding, product.ftz) == (op.rounding, op.ftz):
            return product
    return None


def _fused(op: Add | Sub, product: Mul) -> list[Op]:
    """The ops that stand for `a * b + c`, `a * b - c` or `c - a * b`; the sum's result value lives on."""
    a, b = product.lhs, product.rhs
    first = op.lhs is product.result
    c = op.rhs if first else op.lhs
    out: list[Op] = []
    if isinstance(op, Sub):
        out += _negated(c if first else a, op)
        negative = out[-1].results[0]
        a, c = (a, negative) if first else (negative, c)
    fma = Fma(a=a, b=b, c=c, rounding=op.rounding, ftz=op.ftz)
    _takes_result(fma, op)
    return [*out, fma]


def _negated(value: Value, op: Op) -> list[Op]:
    """The ops that negate a value, of what is broadcast each element once."""
    if not isinstance(value.op, Broadcast):
        ops: list[Op] = [Neg(src=value)]
    else:
        inner = Neg(src=value.op.src)
        ops = [inner, Broadcast(src=inner.result, shape=value.op.shape)]
    for made in ops:
        made.span = op.span
    return ops


def drop_unused(function: Function) -> None:
    """Remove constants that folding left behind, and the extents and strides that nobody took from a tuple."""
    uses = count_uses(function)
    for block in all_blocks(function.body):
        block.ops = [op for op in block.ops if type(op) not in _DROPPED or uses[op.results[0]]]


_DROPPED = (Constant, Extent, Stride)


def count_uses(function: Function, but: type[Op] | tuple[()] = ()) -> Counter[Value]:
    """How often each value is an operand, of ops of the class `but` apart."""
    uses: Counter[Value] = Counter()
    for op in function.walk():
        if not isinstance(op, but):
            uses.update(op.operands)
    return uses


def all_blocks(block: Block) -> list[Block]:
    """A block and the blocks inside it."""
    out = [block]
    for op in block.ops:
        for inner in op.blocks:
            out += all_blocks(inner)
    return out
