"""mma, mma_scaled, matmul, and the @ operator."""

from __future__ import annotations

import operator

from tilewright.frontend.calls.options import bad, flag
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.calls.shape import tile_arg
from tilewright.frontend.promotion import broadcast, broadcast_shapes, cast, common_typed, no_common_dtype
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import Related, TileTypeError
from tilewright.tileir.dtypes import float8_e4m3fn, float8_e5m2, float32, int8, uint8
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import ACCUMULATORS, SCALE_BLOCKS, Mma, MmaScaled
from tilewright.tileir.ops.shape import Reshape


def _dims(value: Value) -> str:
    return "x".join(map(str, value.type.shape)) or "a scalar"


def _came_from(t: Translator, name: str, value: Value) -> list[Related]:
    """Where an operand was made, for the error's second frame."""
    while isinstance(value.op, (Reshape, Cast)) and value.op.span == t.span():  # made by the product itself
        value = value.op.src
    return [Related(value.op.span, f"{name}, {named(value)}, comes from here")] if value.op is not None else []


def batched(t: Translator, op: str, a: Value, b: Value) -> tuple[Value, Value]:
    """The operands with equal batch axes; refuses inner sizes that differ."""
    for name, v in (("x", a), ("y", b)):
        if v.type.rank < 2:
            hints = ["add an axis: t[None, :] is a row, t[:, None] a column; or write x @ y"] if v.type.rank else []
            raise bad(op, name, f"must have two axes or more, got {named(v)}", hints=hints)
    if a.type.shape[-1] != b.type.shape[-2]:
        k = a.type.shape[-1]
        raise TileTypeError(
            f"{op}: the inner sizes differ: the first operand is {_dims(a)}, the second {_dims(b)}",
            related=_came_from(t, "the second operand", b),
            hints=[f"the second operand must have {k} rows, as the first has {k} columns"],
        )
    batch = broadcast_shapes(a.type.shape[:-2], b.type.shape[:-2])
    if batch is None:
        raise TileTypeError(f"{op}: the batch sizes do not fit together: {_dims(a)} and {_dims(b)}",
                            hints=["the axes before the last two must be equal or 1"])
    return broadcast(t, a, (*batch, *a.type.shape[-2:])), broadcast(t, b, (*batch, *b.type.shape[-2:]))


def _product_shape(a: Value, b: Value) -> tuple[int, ...]:
    return (*a.type.shape[:-1], b.type.shape[-1])


@call_rule("mma")
def mma(t: Translator, x: Val, y: Val, /, acc: Val, *, use_fast_acc: Val = False) -> Val:
    a, b = tile_arg(t, "mma", "x", x), tile_arg(t, "mma", "y", y)
    if is_loose(acc):
        raise bad("mma", "acc", f"must be a tile of the product's shape, got {named(acc)}",
                  hints=["start it with ct.zeros((m, n), ct.float32)"])
    acc = tile_arg(t, "mma", "acc", acc)
    pair = {a.type.dtype, b.type.dtype}
    if len(pair) > 1 and pair != {int8, uint8}:
        raise TileTypeError(f"mma: the operands are {a.type.dtype} and {b.type.dtype}; they must have one dtype",
                            hints=["cast one with astype"])
    allowed = ACCUMULATORS.get(a.type.dtype)
    if allowed is None:
        dtypes = ", ".join(d.name for d in ACCUMULATORS)
        raise bad("mma", "x", f"holds {a.type.dtype}, which cannot be multiplied",
                  hints=[f"cast both to one of {dtypes}"])
    if acc.type.dtype not in allowed:
        names = " or ".join(d.name for d in allowed)
        raise bad("mma", "acc", f"is {acc.type.dtype}; {a.type.dtype} operands need {names}",
                  hints=[f"start it with ct.zeros(shape, ct.{allowed[-1]})"])
    a, b = batched(t, "mma", a, b)
    if acc.type.shape != _product_shape(a, b):
        wanted = _product_shape(a, b)
        raise bad("mma", "acc", f"has the shape {acc.type.shape}, but x @ y has {wanted}",
                  hints=[f"start it with ct.zeros({wanted}, ct.{acc.type.dtype})"])
    fast = flag("mma", "use_fast_acc", use_fast_acc)
    if fast and a.type.dtype not in (float8_e4m3fn, float8_e5m2):
        raise bad("mma", "use_fast_acc", f"is for eight-bit floats only, not {a.type.dtype}", hints=["leave it out"])
    return t.emit(Mma, a=a, b=b, acc=acc, fast_acc=fast)


@call_rule("matmul", operator.matmul)
def matmul(t: Translator, x: Val, y: Val, /) -> Val:
    a, b = tile_arg(t, "matmul", "x", x), tile_arg(t, "matmul", "y", y)
    for name, v in (("x", a), ("y", b)):
        if not v.type.rank:
            raise bad("matmul", name, "must have one axis or more, got a scalar", hints=["multiply with *"])
    dtype = common_typed(a.type.dtype, b.type.dtype)
    if dtype is None:
        raise no_common_dtype("matmul", a.type.dtype, b.type.dtype)
    if dtype not in ACCUMULATORS:
        raise TileTypeError(f"matmul: {dtype} tiles cannot be multiplied", hints=["cast them to a float dtype"])
    a, b = cast(t, a, dtype), cast(t, b, dtype)
    row, column = a.type.rank == 1, b.type.rank == 1
    if row:
        a = t.emit(Reshape, src=a, shape=(1, *a.type.shape))
    if column:
        b = t.emit(Reshape, src=b, shape=(*b.type.shape, 1))
    a, b = batched(t, "matmul", a, b)
    shape = _product_shape(a, b)
    target = ACCUMULATORS[dtype][0]
    zero = t.constant(0.0 if target.is_float else 0, target, shape)
    result = cast(t, t.emit(Mma, a=a, b=b, acc=zero), dtype)
    if not (row or column):
        return result
    squeezed = shape[:-2] + (() if row else shape[-2:-1]) + (() if column else shape[-1:])
    return t.emit(Reshape, src=result, shape=squeezed)


@call_rule("mma_scaled")
def mma_scaled(t: Translator, x: Val, x_scale: Val, y: Val, y_scale: Val, /, acc: Val) -> Val:
    op = "mma_scaled"
    a, sa = tile_arg(t, op, "x", x), tile_arg(t, op, "x_scale", x_scale)
    b, sb = tile_arg(t, op, "y", y), tile_arg(t, op, "y_scale", y_scale)
    acc = tile_arg(t, op, "acc", acc)
    if a.type.dtype is not b.type.dtype or sa.type.dtype is not sb.type.dtype:
        raise TileTypeError(
            f"{op}: the operands must have one dtype, got {a.type.dtype} and {b.type.dtype}; so must the scales, got "
            f"{sa.type.dtype} and {sb.type.dtype}", hints=["cast one of them"])
    if acc.type.dtype is not float32:
        raise bad(op, "acc", f"is {acc.type.dtype}, expected float32",
                  hints=["start it with ct.zeros((m, n), ct.float32), and cast the result"])
    blocks = SCALE_BLOCKS.get((a.type.dtype, sa.type.dtype))
    if blocks is None:
        pairs = "; ".join(f"{x} with {s}" for x, s in SCALE_BLOCKS)
        raise TileTypeError(f"{op}: {a.type.dtype} operands with {sa.type.dtype} scales are not supported",
                            hints=[f"there are {pairs}"])
    for name, v in (("x", a), ("y", b)):
        if v.type.rank not in (2, 3):
            raise bad(op, name, f"must have two or three axes, got {named(v)}",
                      hints=["reshape the leading axes into one"])
    blocks_of = _check_scales(op, "x_scale", a, sa, -1, blocks), _check_scales(op, "y_scale", b, sb, -2, blocks)
    a, b = batched(t, op, a, b)
    if blocks_of[0] != blocks_of[1]:
        raise bad(op, "y_scale", f"has one scale per {blocks_of[1]} elements along K, x_scale one per {blocks_of[0]}",
                  hints=["give both the same"])
    if acc.type.shape != _product_shape(a, b):
        raise bad(op, "acc", f"has the shape {acc.type.shape}, but x @ y has {_product_shape(a, b)}")
    batch = a.type.shape[:-2]
    sa, sb = (broadcast(t, v, (*batch, *v.type.shape[-2:])) for v in (sa, sb))
    return t.emit(MmaScaled, a=a, a_scale=sa, b=b, b_scale=sb, acc=acc)


def _check_scales(op: str, name: str, value: Value, scale: Value, axis: int, blocks: tuple[int, ...]) -> int:
    """How many elements along an axis share a scale."""
    shape, factors = value.type.shape, scale.type.shape
    k = len(shape) + axis
    fits = len(shape) == len(factors) and all(
        n == m for i, (n, m) in enumerate(zip(shape, factors, strict=True)) if i != k)
    if not fits or shape[k] % factors[k] or shape[k] // factors[k] not in blocks:
        sizes = " or ".join(map(str, blocks))
        wanted = " or ".join(str((*shape[:k], shape[k] // n, *shape[k + 1 :])) for n in blocks if shape[k] >= n)
        raise bad(op, name, f"has the shape {factors}; one scale per {sizes} elements of {shape} is expected",
                  hints=[f"give it the shape {wanted}"] if wanted else [])
    return int(shape[k] // factors[k])
