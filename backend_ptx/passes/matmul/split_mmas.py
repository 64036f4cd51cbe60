"""Split matrix multiplies along k, so that only small fragments of the operands are in registers at a time.

    before: %a: tile<128x64xbf16, #1> = shared_load(buffer=%ra, slot=%s, shape=(128, 64))
            %b: tile<64x128xbf16, #2> = shared_load(buffer=%rb, slot=%s, shape=(64, 128))
            %y: tile<128x128xf32, #0> = mma_sync(a=%a, b=%b, acc=%x, ...)
    after:  %a0: tile<128x16xbf16, #3> = shared_load(buffer=%ra, slot=%s, index=(%0, %0), shape=(128, 16))
            %b0: tile<16x128xbf16, #4> = shared_load(buffer=%rb, slot=%s, index=(%0, %0), shape=(16, 128))
            %y0: tile<128x128xf32, #0> = mma_sync(a=%a0, b=%b0, acc=%x, ...)
            %a1 = shared_load(... index=(%0, %1)) ...                                   // and so on for 64 / 16 steps

An operand that another MMA leaves in registers is cut by `extract`. An operand that is converted after its load is
loaded and converted sub-tile by sub-tile.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import SharedLoad
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, only, rewrite


def split_mmas(c: Compilation) -> Preserved:
    """Needs `shared_load` in place of conversions. Loads of operands sink to their uses."""
    split = {op for op in c.function.walk() if isinstance(op, Product) and _is_split(op)} if c.has(Product) else ()
    if not split:
        return ALL
    rewrite(c.function, {Product: only(split, _split)})
    c.forget()
    dce(c)
    return NONE


def _is_split(op: Product) -> bool:
    """Units that read shared memory read it, or registers that hold it already."""
    return not op.unit.reads_shared and op.unit.depth(op) < op.a.type.shape[-1] and (
        _is_loaded(op.a) or _is_loaded(op.b))


def _split(rewriter: Rewriter, op: Product) -> None:
    k, step, acc = op.a.type.shape[-1], op.unit.depth(op), op.acc
    layout = op.result.type.layout
    for i in range(k // step):
        a, b, *scales = (_piece(rewriter, v, axis, i, v.type.shape[axis] * step // k)
                         for v, axis in zip((op.a, op.b, *op.scales), (-1, -2) * 2, strict=False))
        part = type(op)(a=a, b=b, acc=acc, **dict(zip(("a_scale", "b_scale"), scales, strict=False)), **op.attributes)
        acc = rewriter.value(part).lay_out(layout)
    rewriter.replace(op.result, acc)


def _is_loaded(value: Value) -> bool:
    op = value.op
    return isinstance(op, SharedLoad) or (isinstance(op, Cast) and _is_loaded(op.src))


def _piece(rewriter: Rewriter, value: Value, axis: int, number: int, step: int) -> Value:
    """Elements from number * step on, along k of an operand."""
    shape = list(value.type.shape)
    shape[axis] = step
    op = value.op
    layout = transform.extract(value.type.layout, tuple(shape))
    if isinstance(op, Cast) and _is_loaded(op.src):
        source = _piece(rewriter, op.src, axis, number, step)
        return _typed(rewriter.value(Cast(src=source, dtype=op.dtype, rounding=op.rounding)), value, layout)
    index = [0] * len(shape)
    index[axis] = number
    places = tuple(map(rewriter.number, index))
    if isinstance(op, SharedLoad) and not op.index:
        out = rewriter.value(SharedLoad(
            buffer=op.buffer, slot=op.slot, ahead=op.ahead, index=places, shape=tuple(shape)))
        return _typed(out, value, layout)
    return _typed(rewriter.value(Extract(src=value, index=places, shape=tuple(shape))), value, layout)


def _typed(out: Value, whole: Value, layout: Layout | None) -> Value:
    assert layout is not None, f"k lies across threads in {whole}"
    out.lay_out(layout)
    out.hint = whole.hint
    return out
