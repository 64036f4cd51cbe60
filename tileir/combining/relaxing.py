"""Algebra across the kernels that were fused, which changes bits: only where `reassociate=True` asks for it.

Roundings to a narrow dtype between two kernels are left out, and a number that all elements of an operand are
multiplied with, tile by tile, is multiplied once with the sum of the products.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.ops.arith import Constant, Mul
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.shape import Broadcast, Permute, Reshape


def relax(function: Function) -> list[str]:
    """Change the function in place; says what was done."""
    scales = _sink_scales(function)
    casts = _merge_casts(function)
    out = [f"a scale of {name or 'an operand'} is multiplied once, with the sum of the products" for name in scales]
    if casts:
        out.append(f"{casts} roundings between kernels are left out")
    return out


def _merge_casts(function: Function) -> int:
    """Let what was rounded and widened again stand for itself."""
    replaced: dict[Value, Value] = {}
    for op in function.walk():
        op.replace_operands(replaced)
        if isinstance(op, Cast) and isinstance(op.src.op, Cast):
            before = op.src.op.src
            floats = all(v.type.dtype.is_float for v in (before, op.src, op.result))
            if floats and before.type.dtype is op.dtype and op.src.type.dtype.bitwidth < op.dtype.bitwidth:
                replaced[op.result] = before
    for op in function.walk():
        op.replace_operands(replaced)
    return len(replaced)


def _sink_scales(function: Function) -> list[str]:
    """Multiply sums of products in the place of their operands; gives the names of these."""
    found: list[str] = []
    for block in _blocks(function.body):
        for op in list(block.ops):
            if isinstance(op, For):
                found += [name for k in range(len(op.init)) for name in _of_sum(function, block, op, k)]
    return found


def _of_sum(function: Function, home: Block, loop: For, k: int) -> list[str]:
    """The scales of the product that a loop adds up in what it carries at a position."""
    param, end = loop.loop.params[1 + k], loop.loop.terminator.operands[k]
    mma, used = end.op, Counter(v for op in function.walk() for v in op.operands)
    zero = loop.init[k].op
    if not isinstance(mma, Mma) or mma.acc is not param or used[param] != 1 or used[end] != 1 or (
            mma not in loop.loop.ops or not isinstance(zero, Constant) or zero.value != 0):
        return []
    inside = {value for op in loop.loop.walk() for value in op.results} | set(loop.loop.params)
    b, names = Emitter(Block()), []
    b.span = mma.span
    total = loop.results[k]
    for side in ("a", "b"):
        split = _split(getattr(mma, side), inside)
        if split is None:
            continue
        plain, scale, path = split
        inner = Emitter(Block())
        inner.span = mma.span
        for step in reversed(path):
            plain = inner.value(type(step)(**{**{n: getattr(step, n) for n in step.fields}, "src": plain}))
        at = loop.loop.ops.index(mma)
        loop.loop.ops[at:at] = inner.block.ops
        setattr(mma, side, plain)
        names.append(plain.hint)
        total = b.mul(total, b.spread(b.cast(scale, total.type.dtype), total.type.shape))
    if names:
        for op in function.walk():
            op.replace_operands({loop.results[k]: total})
        at = home.ops.index(loop) + 1
        home.ops[at:at] = b.block.ops
    return names


def _split(value: Value, inside: set[Value]) -> tuple[Value, Value, list[Any]] | None:
    """An operand as a tile, a scalar from outside of the loop that it is multiplied with, and the ops that give it
    another shape behind that."""
    path: list[Any] = []
    while isinstance(value.op, (Reshape, Permute)):
        path.append(value.op)
        value = value.op.src
    narrow = value.type.dtype
    if not isinstance(value.op, Cast) or not isinstance(value.op.src.op, Mul):
        return None
    product = value.op.src.op
    for tile, factor in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        scale = factor
        while isinstance(scale.op, (Broadcast, Reshape)) and scale.type.shape:
            scale = scale.op.src
        if scale.type.shape or scale in inside or not isinstance(tile.op, Cast) or (
                tile.op.src.type.dtype is not narrow):
            continue
        return tile.op.src, scale, path
    return None


def _blocks(block: Block) -> list[Block]:
    return [block, *(found for op in block.ops for inner in op.blocks for found in _blocks(inner))]
