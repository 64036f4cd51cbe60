"""load, store, gather, scatter."""

from __future__ import annotations

from typing import Any

from tilewright.frontend import advice
from tilewright.frontend.calls.options import (
    bad,
    each,
    flag,
    integer,
    integer_hints,
    latency_hint,
    member,
    tile_shape,
    tma_hint,
)
from tilewright.frontend.calls.registry import call_rule
from tilewright.frontend.promotion import broadcast, broadcast_shapes, implicit_cast, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import TiledView, Val, is_array, is_list, is_loose, is_tile, named
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode
from tilewright.tileir.ops import memory as ops
from tilewright.tileir.ops.shape import Reshape

_LOAD_ORDERS = (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)
_STORE_ORDERS = (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.RELEASE)
_SCOPES = (MemoryScope.BLOCK, MemoryScope.DEVICE, MemoryScope.SYS)


# -- Arguments -------------------------------------------------------------------------------------------------------


def array_arg(op: str, value: Val, argument: str = "array") -> Value:
    """An array operand."""
    if is_array(value):
        array: Value = value
        return array
    hints = []
    if is_tile(value):
        hints = ["tiles are values already; only arrays are loaded and stored"]
    elif is_list(value):
        hints = ["take one array of the list: xs[i]"]
    elif isinstance(value, TiledView):
        hints = ["a view has its own methods: view.load(index), view.store(index, tile)"]
    raise bad(op, argument, f"must be an array, got {named(value)}", hints=hints)


def tile_index(t: Translator, op: str, argument: str, value: Val, rank: int) -> tuple[Value, ...]:
    """Tile coordinates: one signed integer scalar per axis."""
    items = value if isinstance(value, tuple) else (value,)
    if len(items) != rank:
        raise bad(op, argument, f"has {_count(len(items))}, but the array has {axes_text(rank)}",
                  hints=[f"give one integer per axis: ({', '.join('ijklmn'[:rank])}{',' if rank == 1 else ''})"])
    return tuple(each(lambda v: index_scalar(t, op, argument, v), items))


def index_scalar(t: Translator, op: str, argument: str, value: Val) -> Value:
    """A signed integer scalar."""
    if is_loose(value) and isinstance(value, int) and not isinstance(value, bool):
        return typed(t, value)
    if is_tile(value) and not value.type.shape and value.type.dtype.is_signed:
        scalar: Value = value
        return scalar
    hints = integer_hints(value)
    if is_tile(value) and value.type.shape:
        hints = ["for a tile of element positions use ct.gather and ct.scatter"]
    raise bad(op, argument, f"must hold signed integer scalars, got {named(value)}", hints=hints)


def _count(n: int) -> str:
    return f"{n} entry" if n == 1 else f"{n} entries"


def axes_text(rank: int) -> str:
    return f"{rank} axis" if rank == 1 else f"{rank} axes"


def access_shape(op: str, value: Val, rank: int, argument: str = "shape") -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tile shape of a load: as the result has it, and with one length per axis of the array."""
    shape = tile_shape(op, argument, value)
    if not shape:
        return (), (1,) * rank
    if len(shape) != rank:
        raise bad(op, argument, f"has {_count(len(shape))}, but the array has {axes_text(rank)}",
                  hints=["give one length per axis; 1 where the tile is thin"])
    return shape, shape


def axis_order(op: str, value: Val, rank: int) -> tuple[int, ...]:
    """The `order` option as a permutation of the array's axes."""
    if value == "C":
        return tuple(range(rank))
    if value == "F":
        return tuple(reversed(range(rank)))
    if not isinstance(value, tuple):
        raise bad(op, "order", f'must be "C", "F" or a tuple of axes, got {named(value)}')
    axes = tuple(each(lambda a: integer(op, "order", a), value))
    wrapped = tuple(a % rank if -rank <= a < rank else -1 for a in axes)
    if sorted(wrapped) != list(range(rank)):
        raise bad(op, "order", f"is {axes}, which is not an order of the array's {axes_text(rank)}",
                  hints=[f"name each axis once, such as {tuple(reversed(range(rank)))}"])
    return wrapped


def ordering(op: str, order: Val, scope: Val, allowed: tuple[MemoryOrder, ...]) -> dict[str, Any]:
    """Memory order and scope of an access."""
    order = member(op, "memory_order", order, MemoryOrder)
    scope = member(op, "memory_scope", scope, MemoryScope)
    if order not in allowed:
        raise bad(op, "memory_order", f"is {order.name}, expected one of {', '.join(o.name for o in allowed)}")
    if order is MemoryOrder.WEAK and scope is not MemoryScope.NONE:
        raise bad(op, "memory_scope", f"is {scope.name}, but a WEAK access has the scope NONE",
                  hints=["give a memory_order, too, or leave the scope out"])
    if order is not MemoryOrder.WEAK and scope not in _SCOPES:
        needs = f"needs the memory_scope BLOCK, DEVICE or SYS, not {scope.name}"
        raise bad(op, "memory_order", f"is {order.name}, which {needs}",
                  hints=["write memory_scope=ct.MemoryScope.DEVICE"])
    return {"memory_order": order, "memory_scope": scope}


# -- Tiles -----------------------------------------------------------------------------------------------------------


@call_rule("load")
def load(
    t: Translator, array: Val, /, index: Val, shape: Val, *, order: Val = "C",
    padding_mode: Val = PaddingMode.UNDETERMINED, check_bounds: Val = True, latency: Val = None, allow_tma: Val = None,
    memory_order: Val = MemoryOrder.WEAK, memory_scope: Val = MemoryScope.NONE,
) -> Val:
    array = array_arg("load", array)
    rank = array.type.rank
    seen, full = access_shape("load", shape, rank)
    tile = t.emit(
        ops.Load, array=array, index=tile_index(t, "load", "index", index, rank), shape=full, steps=full,
        order=axis_order("load", order, rank), padding=member("load", "padding_mode", padding_mode, PaddingMode),
        check_bounds=flag("load", "check_bounds", check_bounds), latency=latency_hint("load", latency),
        allow_tma=tma_hint("load", allow_tma), **ordering("load", memory_order, memory_scope, _LOAD_ORDERS),
    )
    return tile if seen == full else t.emit(Reshape, src=tile, shape=seen)


@call_rule("store")
def store(
    t: Translator, array: Val, /, index: Val, tile: Val, *, order: Val = "C", check_bounds: Val = True,
    latency: Val = None, allow_tma: Val = None, memory_order: Val = MemoryOrder.WEAK,
    memory_scope: Val = MemoryScope.NONE,
) -> None:
    array = array_arg("store", array)
    rank = array.type.rank
    if isinstance(tile, tuple) and is_tile(index):
        raise bad("store", "index", f"must hold signed integer scalars, got {named(index)}",
                  hints=["the order is ct.store(array, index, tile)"])
    value = cast_argument(t, "store", "tile", tile, array)
    if not value.type.shape and rank:
        value = t.emit(Reshape, src=value, shape=(1,) * rank)
    if len(value.type.shape) != rank:
        raise bad(
            "store", "tile", f"has {axes_text(len(value.type.shape))}, but the array has {axes_text(rank)}",
            hints=["reshape the tile, or add axes with t[:, None]"],
        )
    t.emit_op(
        ops.Store, array=array, index=tile_index(t, "store", "index", index, rank), value=value,
        steps=value.type.shape, order=axis_order("store", order, rank),
        check_bounds=flag("store", "check_bounds", check_bounds), latency=latency_hint("store", latency),
        allow_tma=tma_hint("store", allow_tma), **ordering("store", memory_order, memory_scope, _STORE_ORDERS),
    )


def cast_argument(t: Translator, op: str, argument: str, value: Val, array: Value) -> Value:
    """A value on its way into an array: converted to its dtype where that loses nothing."""
    if not is_tile(value) and not is_loose(value):
        raise bad(op, argument, f"must be a tile or a scalar, got {named(value)}", hints=advice.on_number(value))
    try:
        return implicit_cast(t, f'{op}: argument "{argument}"', value, array.type.dtype)
    except TileError as error:
        error.subject.argument = argument
        raise


# -- Elements --------------------------------------------------------------------------------------------------------


def element_indices(
    t: Translator, op: str, value: Val, array: Value
) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """Element coordinates, one integer tile per axis, all broadcast to one shape; and that shape."""
    rank = array.type.rank
    items = value if isinstance(value, tuple) else (value,)
    if len(items) != rank:
        raise bad(op, "indices", f"has {_count(len(items))}, but the array has {axes_text(rank)}",
                  hints=[f"give one position per axis: ({', '.join('ijklmn'[:rank])}{',' if rank == 1 else ''})"])
    shape: tuple[int, ...] = ()
    tiles = each(lambda v: _positions(t, op, v), items)
    for tile in tiles:
        new = broadcast_shapes(shape, tile.type.shape)
        if new is None:
            raise bad(op, "indices", f"hold shapes that do not fit together: {shape} and {tile.type.shape}",
                      hints=["for rows and columns add an axis: (rows[:, None], columns[None, :])"])
        shape = new
    return tuple(broadcast(t, v, shape) for v in tiles), shape


def _positions(t: Translator, op: str, value: Val) -> Value:
    """An integer tile or scalar."""
    if value.type.dtype.is_int if is_tile(value) else isinstance(value, int) and not isinstance(value, bool):
        return typed(t, value)
    hints = ["cast them: i.astype(ct.int32)"] if is_tile(value) else []
    raise bad(op, "indices", f"must hold integer tiles or scalars, got {named(value)}", hints=hints)


def mask_argument(t: Translator, op: str, value: Val, shape: tuple[int, ...]) -> Value | None:
    """The `mask` option: None or a bool tile that broadcasts to the indices."""
    if value is None:
        return None
    if not isinstance(value, bool) and not (is_tile(value) and value.type.dtype is bool_):
        raise bad(op, "mask", f"must be a bool tile, got {named(value)}", hints=["compare: mask=i < n"])
    return fit(t, op, "mask", typed(t, value), shape)


def fit(t: Translator, op: str, argument: str, value: Value, shape: tuple[int, ...]) -> Value:
    """An operand broadcast to the indices' shape."""
    if broadcast_shapes(value.type.shape, shape) != shape:
        raise bad(op, argument, f"has the shape {value.type.shape}, which does not broadcast to the indices' {shape}",
                  hints=["make it one scalar, or a tile of the indices' shape"])
    return broadcast(t, value, shape)


@call_rule("gather")
def gather(
    t: Translator, array: Val, indices: Val, /, *, mask: Val = None, padding_value: Val = 0, check_bounds: Val = True,
    latency: Val = None,
) -> Val:
    array = array_arg("gather", array)
    tiles, shape = element_indices(t, "gather", indices, array)
    padding = cast_argument(t, "gather", "padding_value", padding_value, array)
    return t.emit(
        ops.Gather, array=array, indices=tiles, mask=mask_argument(t, "gather", mask, shape),
        padding=fit(t, "gather", "padding_value", padding, shape), shape=shape,
        check_bounds=flag("gather", "check_bounds", check_bounds), latency=latency_hint("gather", latency),
    )


@call_rule("scatter")
def scatter(
    t: Translator, array: Val, indices: Val, value: Val, /, *, mask: Val = None, check_bounds: Val = True,
    latency: Val = None,
) -> None:
    array = array_arg("scatter", array)
    tiles, shape = element_indices(t, "scatter", indices, array)
    tile = cast_argument(t, "scatter", "value", value, array)
    t.emit_op(
        ops.Scatter, array=array, indices=tiles, value=fit(t, "scatter", "value", tile, shape),
        mask=mask_argument(t, "scatter", mask, shape), shape=shape,
        check_bounds=flag("scatter", "check_bounds", check_bounds), latency=latency_hint("scatter", latency),
    )
