"""Tiled views, and loads and stores along one axis of element positions (advanced indexing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.frontend.calls.arith import binary
from tilewright.frontend.calls.arrays import count_tiles
from tilewright.frontend.calls.atomics import atomic_array, operand
from tilewright.frontend.calls.memory import array_arg, cast_argument, fit, index_scalar, tile_index
from tilewright.frontend.calls.options import axis_of, bad, flag, latency_hint, member, tile_shape, tma_hint
from tilewright.frontend.calls.registry import add_rule, call_rule
from tilewright.frontend.promotion import broadcast, broadcast_shapes, cast, convert
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import SliceSpec, TiledView, Val, is_tile, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode
from tilewright.tileir.ops import memory as ops
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.shape import Iota, Reshape


@call_rule("TiledView.num_tiles")
def num_tiles(t: Translator, view: Val, /, axis: Val) -> Val:
    k = axis_of("num_tiles", "axis", axis, len(view.steps))
    return count_tiles(t, view.array, k, view.steps[k])


def _access(t: Translator, op: str, view: TiledView, index: Val, options: dict[str, Val]) -> dict[str, Any]:
    rank = len(view.steps)
    return {
        "array": view.array, "index": tile_index(t, op, "index", index, rank), "steps": view.steps,
        "order": tuple(range(rank)), "check_bounds": flag(op, "check_bounds", options["check_bounds"]),
        "latency": latency_hint(op, options["latency"]), "allow_tma": tma_hint(op, options["allow_tma"]),
    }


@call_rule("TiledView.load")
def load(
    t: Translator, view: Val, /, index: Val, *, check_bounds: Val = True, latency: Val = None, allow_tma: Val = None
) -> Val:
    options = {"check_bounds": check_bounds, "latency": latency, "allow_tma": allow_tma}
    fields = _access(t, "load", view, index, options)
    tile = t.emit(ops.Load, shape=view.block_shape, padding=view.padding, **fields)
    return tile if view.tile_shape == view.block_shape else t.emit(Reshape, src=tile, shape=view.tile_shape)


@call_rule("TiledView.store")
def store(
    t: Translator, view: Val, /, index: Val, tile: Val, *, check_bounds: Val = True, latency: Val = None,
    allow_tma: Val = None,
) -> None:
    value = cast_argument(t, "store", "tile", tile, view.array)
    if broadcast_shapes(value.type.shape, view.block_shape) != view.block_shape:
        raise bad("store", "tile", f"has the shape {value.type.shape}, which does not broadcast to {view.tile_shape}",
                  hints=["axes are matched from the last one; lengths must be equal or 1"])
    options = {"check_bounds": check_bounds, "latency": latency, "allow_tma": allow_tma}
    fields = _access(t, "store", view, index, options)
    t.emit_op(ops.Store, value=broadcast(t, value, view.block_shape), **fields)


def _atomic_store(kind: str) -> Callable[..., None]:
    op = f"atomic_store_{kind}"

    def rule(t: Translator, view: Val, index: Val, update: Val, /) -> None:
        array = atomic_array(op, kind, view.array)
        shape = view.block_shape
        value = fit(t, op, "update", operand(t, op, kind, "update", update, array), shape)
        positions = []
        for k, (i, step) in enumerate(zip(tile_index(t, op, "index", index, len(shape)), view.steps, strict=True)):
            # A tile's number times its step may leave 32 bits.
            start = binary(t, "mul", cast(t, i, int64), step)
            run = binary(t, "add", t.emit(Iota, size=shape[k], dtype=int64), start)
            positions.append(_along(t, run, k, shape))
        t.emit_op(
            AtomicRmw, array=array, indices=tuple(positions), mask=None, shape=shape, value=value, kind=kind,
            check_bounds=True, memory_order=MemoryOrder.RELAXED, memory_scope=MemoryScope.DEVICE,
        )

    return rule


def _along(t: Translator, run: Value, axis: int, shape: tuple[int, ...]) -> Value:
    """A 1-D tile lying along an axis of a shape, repeated along the others."""
    alone = tuple(n if k == axis else 1 for k, n in enumerate(shape))
    return broadcast(t, t.emit(Reshape, src=run, shape=alone), shape)


for _kind in ("add", "max", "min", "and", "or", "xor"):
    add_rule(f"TiledView.atomic_store_{_kind}", _atomic_store(_kind))


# -- Advanced indexing -----------------------------------------------------------------------------------------------


@call_rule("Slice")
def slice_spec(t: Translator, start: Val, length: Val) -> Val:
    if isinstance(length, tuple):
        raise bad("Slice", "length", f"must be a constant integer, got {named(length)}",
                  hints=["give one Slice per axis"])
    [n] = tile_shape("Slice", "length", length)
    return SliceSpec(index_scalar(t, "Slice", "start", start), n)


def element_positions(t: Translator, op: str, array: Value, indices: Val) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """The element positions along every axis, broadcast to the result's shape; and that shape."""
    rank = array.type.rank
    if rank < 2:
        instead = "gather(a, positions)" if op.startswith("load") else "scatter(a, positions, value)"
        raise bad(op, "array", f"must have two axes or more, got {named(array)}", hints=[f"write ct.{instead}"])
    if not isinstance(indices, tuple) or len(indices) != rank:
        raise bad(op, "indices", f"must be a tuple of {rank} entries, one per axis",
                  hints=["ct.Slice(0, length) stands for a run of elements along an axis"])
    sparse = [k for k, v in enumerate(indices) if not isinstance(v, SliceSpec)]
    if len(sparse) != 1:
        raise bad(op, "indices", "must hold one 1-D integer tile; the other entries are ct.Slice(start, length)",
                  hints=["for several tiles of positions use ct.gather and ct.scatter"])
    tile = indices[sparse[0]]
    if not is_tile(tile) or len(tile.type.shape) != 1 or not tile.type.dtype.is_int:
        error = bad(op, "indices", f"must hold a 1-D integer tile on axis {sparse[0]}, got {named(tile)}",
                    hints=["for tiles of positions of any shape use ct.gather and ct.scatter"])
        error.subject.item = sparse[0]
        raise error
    wide = any(isinstance(v, SliceSpec) and v.start.type.dtype is int64 for v in indices)
    runs = [_run(t, v, int64 if wide else int32) if isinstance(v, SliceSpec) else v for v in indices]
    shape = tuple(v.type.shape[0] for v in runs)
    return tuple(_along(t, v, k, shape) for k, v in enumerate(runs)), shape


def _run(t: Translator, spec: SliceSpec, dtype: DType) -> Value:
    tile: Value = binary(t, "add", t.emit(Iota, size=spec.length, dtype=dtype), cast(t, spec.start, dtype))
    return tile


def padding_constant(t: Translator, mode: PaddingMode, dtype: DType, shape: tuple[int, ...]) -> Value:
    """The tile that a padding mode stands for; an integer array has no NaN and takes 0."""
    value = {
        PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: float("nan"), PaddingMode.POS_INF: float("inf"),
        PaddingMode.NEG_INF: float("-inf"),
    }.get(mode, 0.0)
    return t.constant(convert(value if dtype.is_float else 0, dtype), dtype, shape)


@call_rule("load_advanced_indexing")
def load_advanced_indexing(
    t: Translator, array: Val, indices: Val, /, *, padding_mode: Val = PaddingMode.UNDETERMINED, latency: Val = None,
    allow_tma: Val = None,
) -> Val:
    op = "load_advanced_indexing"
    array = array_arg(op, array)
    tiles, shape = element_positions(t, op, array, indices)
    mode = member(op, "padding_mode", padding_mode, PaddingMode)
    tma_hint(op, allow_tma)
    return t.emit(
        ops.Gather, array=array, indices=tiles, mask=None, shape=shape, check_bounds=True,
        padding=padding_constant(t, mode, array.type.dtype, shape), latency=latency_hint(op, latency),
        undetermined=mode is PaddingMode.UNDETERMINED,
    )


@call_rule("store_advanced_indexing")
def store_advanced_indexing(
    t: Translator, array: Val, indices: Val, tile: Val, /, *, latency: Val = None, allow_tma: Val = None
) -> None:
    op = "store_advanced_indexing"
    array = array_arg(op, array)
    tiles, shape = element_positions(t, op, array, indices)
    value = cast_argument(t, op, "tile", tile, array)
    if value.type.shape != shape:
        raise bad(op, "tile", f"has the shape {value.type.shape}, but the indices name {shape}",
                  hints=["the tile must have that shape; ct.broadcast_to repeats one along an axis"])
    tma_hint(op, allow_tma)
    t.emit_op(
        ops.Scatter, array=array, indices=tiles, value=value, mask=None, shape=shape, check_bounds=True,
        latency=latency_hint(op, latency),
    )
