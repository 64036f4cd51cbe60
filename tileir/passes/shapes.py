"""Rules of canonicalise for changes of shape, and for arithmetic on tiles whose elements are all equal."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import reduce, shape
from tilewright.tileir.rewrite import Rewriter, Rule, constant_value
from tilewright.tileir.types import TileType


def splat_source(value: Value) -> Value | None:
    """The scalar that a tile repeats, if it is a broadcast of one."""
    op = value.op
    return op.src if isinstance(op, shape.Broadcast) and not op.src.type.shape else None


def _moved_splat(op: Any, rewriter: Rewriter) -> Value | None:
    """The op only moves or chooses elements of a splat."""
    source = splat_source(op.src)
    return None if source is None else rewriter.offer(shape.Broadcast(src=source, shape=op.result.type.shape))


def _broadcast(op: shape.Broadcast, rewriter: Rewriter) -> Value | None:
    if op.src.type.shape == op.shape:
        return op.src
    if isinstance(op.src.op, shape.Broadcast):
        return rewriter.offer(shape.Broadcast(src=op.src.op.src, shape=op.shape))
    return None


def _reshape(op: shape.Reshape, rewriter: Rewriter) -> Value | None:
    if op.src.type.shape == op.shape:
        return op.src
    if isinstance(op.src.op, shape.Reshape):
        return rewriter.offer(shape.Reshape(src=op.src.op.src, shape=op.shape))
    return _moved_splat(op, rewriter)


def _permute(op: shape.Permute, rewriter: Rewriter) -> Value | None:
    if op.axes == tuple(range(len(op.axes))):
        return op.src
    inner = op.src.op
    if isinstance(inner, shape.Permute):
        return rewriter.offer(shape.Permute(src=inner.src, axes=tuple(inner.axes[a] for a in op.axes)))
    return _moved_splat(op, rewriter)


def _extract(op: shape.Extract, rewriter: Rewriter) -> Value | None:
    return op.src if op.src.type.shape == op.shape else _moved_splat(op, rewriter)


def _reduction(op: reduce.Reduction, rewriter: Rewriter) -> Value | None:
    """Of one element each: that element."""
    if any(op.src.type.shape[axis] > 1 for axis in op.axes) or getattr(op, "ftz", False):
        return None
    return rewriter.offer(shape.Reshape(src=op.src, shape=op.result.type.shape))


def _arg_reduction(op: reduce.ArgReduction, rewriter: Rewriter) -> Value | None:
    """The index of the only element is 0."""
    return rewriter.constant(0, op.result.type.erased()) if op.src.type.shape[op.axis] == 1 else None


def computed_once(op: Op, rewriter: Rewriter) -> Value | None:
    """An element-wise op on splats: compute one element, then repeat it."""
    type_ = op.result.type
    if not type_.shape:
        return None
    sources = [splat_source(v) for v in op.operands]
    if not any(sources):
        return None
    scalars: dict[Value, Value] = {}
    for operand, source in zip(op.operands, sources, strict=True):
        value = constant_value(operand)
        if source is not None:
            scalars[operand] = source
        elif value is not None:
            scalars[operand] = rewriter.constant(value, TileType(operand.type.dtype))
        else:
            return None
    given = {name: getattr(op, name) for name in op.fields}
    for name, many in op._operand_fields:
        given[name] = tuple(scalars[v] for v in given[name]) if many else scalars.get(given[name])
    result = rewriter.offer(type(op)(**given))
    return rewriter.offer(shape.Broadcast(src=result, shape=type_.shape))


RULES: dict[type[Op], Rule] = {
    shape.Broadcast: _broadcast, shape.Reshape: _reshape, shape.Permute: _permute, shape.Extract: _extract,
    reduce.Reduction: _reduction, reduce.ArgReduction: _arg_reduction,
}
