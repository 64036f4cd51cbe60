"""Raw memory of an array: loads, stores and atomic operations at offsets in elements, never checked for bounds."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.frontend.calls.atomics import KINDS, atomic_array, operand, ordering
from tilewright.frontend.calls.memory import cast_argument, fit, mask_argument
from tilewright.frontend.calls.options import bad, latency_hint
from tilewright.frontend.calls.registry import add_rule, call_rule
from tilewright.frontend.promotion import typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import RawMemory, Val, is_loose, is_tile, named
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import int64
from tilewright.tileir.enums import MemoryOrder, MemoryScope
from tilewright.tileir.ops import memory as ops
from tilewright.tileir.ops.arrays import RawView
from tilewright.tileir.ops.atomics import AtomicCas, AtomicRmw
from tilewright.tileir.types import ArrayType


def _view(t: Translator, op: str, raw: Val, offset: Val) -> tuple[Value, Value]:
    """The memory as an array of one axis, and the offsets as a tile."""
    if not isinstance(raw, RawMemory):
        raise bad(op, "raw", f"must be raw memory, got {named(raw)}", hints=["write a.get_raw_memory()"])
    integer = isinstance(offset, int) and not isinstance(offset, bool) if is_loose(offset) else (
        is_tile(offset) and offset.type.dtype.is_int)
    if not integer:
        raise bad(op, "offset", f"must be an integer tile or scalar, got {named(offset)}",
                  hints=["offsets count elements from the array's first one"])
    source: ArrayType = raw.array.type
    type = ArrayType(source.dtype, (None,), (1,), align=source.align, index=int64)
    return t.emit(RawView, array=raw.array, type=type), typed(t, offset)


@call_rule("RawArrayMemory.load_offset")
def load_offset(
    t: Translator, raw: Val, offset: Val, /, *, mask: Val = None, padding_value: Val = 0, latency: Val = None
) -> Val:
    op = "load_offset"
    array, places = _view(t, op, raw, offset)
    shape = places.type.shape
    # Where nothing is promised about masked elements they are zero.
    padding = cast_argument(t, op, "padding_value", 0 if padding_value is None else padding_value, array)
    return t.emit(
        ops.Gather, array=array, indices=(places,), mask=mask_argument(t, op, mask, shape), shape=shape,
        padding=fit(t, op, "padding_value", padding, shape), check_bounds=False, latency=latency_hint(op, latency),
        undetermined=padding_value is None,
    )


@call_rule("RawArrayMemory.store_offset")
def store_offset(
    t: Translator, raw: Val, offset: Val, value: Val, /, *, mask: Val = None, latency: Val = None
) -> None:
    op = "store_offset"
    array, places = _view(t, op, raw, offset)
    shape = places.type.shape
    t.emit_op(
        ops.Scatter, array=array, indices=(places,), mask=mask_argument(t, op, mask, shape), shape=shape,
        value=fit(t, op, "value", cast_argument(t, op, "value", value, array), shape), check_bounds=False,
        latency=latency_hint(op, latency),
    )


@call_rule("RawArrayMemory.atomic_cas_offset")
def atomic_cas_offset(
    t: Translator, raw: Val, offset: Val, expected: Val, desired: Val, /, *, mask: Val = None,
    memory_order: Val = MemoryOrder.ACQ_REL, memory_scope: Val = MemoryScope.DEVICE,
) -> Val:
    op = "atomic_cas_offset"
    array, places = _view(t, op, raw, offset)
    atomic_array(op, "cas", array)
    shape = places.type.shape
    values = {
        name: fit(t, op, name, cast_argument(t, op, name, v, array), shape)
        for name, v in (("expected", expected), ("desired", desired))
    }
    return t.emit(
        AtomicCas, array=array, indices=(places,), mask=mask_argument(t, op, mask, shape), shape=shape,
        check_bounds=False, **values, **ordering(op, memory_order, memory_scope),
    )


def _update(kind: str) -> Callable[..., Val]:
    op = f"atomic_{kind}_offset"

    def rule(
        t: Translator, raw: Val, offset: Val, update: Val, /, *, mask: Val = None,
        memory_order: Val = MemoryOrder.ACQ_REL, memory_scope: Val = MemoryScope.DEVICE,
    ) -> Val:
        array, places = _view(t, op, raw, offset)
        atomic_array(op, kind, array)
        shape = places.type.shape
        return t.emit(
            AtomicRmw, kind=kind, array=array, indices=(places,), mask=mask_argument(t, op, mask, shape), shape=shape,
            value=fit(t, op, "update", operand(t, op, kind, "update", update, array), shape), check_bounds=False,
            **ordering(op, memory_order, memory_scope),
        )

    return rule


for _kind in KINDS:
    add_rule(f"RawArrayMemory.atomic_{_kind}_offset", _update(_kind))
