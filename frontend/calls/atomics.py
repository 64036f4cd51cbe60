"""Atomic operations on elements of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.frontend.calls.memory import array_arg, cast_argument, element_indices, fit
from tilewright.frontend.calls.options import bad, flag, member
from tilewright.frontend.calls.registry import add_rule, call_rule
from tilewright.frontend.promotion import typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, named
from tilewright.tileir.core import Value
from tilewright.tileir.enums import MemoryOrder, MemoryScope
from tilewright.tileir.ops import atomics as ops

KINDS = ("xchg", "add", "max", "min", "and", "or", "xor")
_ORDERS = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE, MemoryOrder.RELEASE, MemoryOrder.ACQ_REL)
_SCOPES = (MemoryScope.BLOCK, MemoryScope.DEVICE, MemoryScope.SYS)


def ordering(op: str, order: Val, scope: Val) -> dict[str, Any]:
    """Memory order and scope of an atomic operation."""
    order = member(op, "memory_order", order, MemoryOrder)
    scope = member(op, "memory_scope", scope, MemoryScope)
    if order not in _ORDERS:
        raise bad(op, "memory_order", f"is {order.name}, expected one of {', '.join(o.name for o in _ORDERS)}")
    if scope not in _SCOPES:
        raise bad(op, "memory_scope", f"is {scope.name}, expected one of {', '.join(s.name for s in _SCOPES)}")
    return {"memory_order": order, "memory_scope": scope}


def atomic_array(op: str, kind: str, array: Value) -> Value:
    """The array operand, of a dtype that has this operation."""
    allowed = ops.ATOMIC_DTYPES[kind]
    if array.type.dtype not in allowed:
        names = ", ".join(d.name for d in allowed)
        raise bad(op, "array", f"holds {array.type.dtype}, but this operation exists for {names}",
                  hints=["pass an array of one of them, and convert it afterwards"])
    return array


def operand(t: Translator, op: str, kind: str, argument: str, value: Val, array: Value) -> Value:
    """An operand in the array's dtype."""
    if kind not in ("and", "or", "xor"):
        return cast_argument(t, op, argument, value, array)
    if not is_tile(value) and not is_loose(value):
        raise bad(op, argument, f"must be a tile or a scalar, got {named(value)}")
    tile = typed(t, value)
    if tile.type.dtype is not array.type.dtype:
        raise bad(op, argument, f"is {tile.type.dtype}, but the array holds {array.type.dtype}; they must agree",
                  hints=[f"write ct.astype(x, ct.{array.type.dtype})"])
    return tile


def _update(kind: str) -> Callable[..., Val]:
    op = f"atomic_{kind}"

    def rule(
        t: Translator, array: Val, indices: Val, update: Val, /, *, check_bounds: Val = True,
        memory_order: Val = MemoryOrder.ACQ_REL, memory_scope: Val = MemoryScope.DEVICE,
    ) -> Val:
        target = atomic_array(op, kind, array_arg(op, array))
        tiles, shape = element_indices(t, op, indices, target)
        value = fit(t, op, "update", operand(t, op, kind, "update", update, target), shape)
        return t.emit(
            ops.AtomicRmw, kind=kind, array=target, indices=tiles, value=value, shape=shape,
            check_bounds=flag(op, "check_bounds", check_bounds), **ordering(op, memory_order, memory_scope),
        )

    return rule


for _kind in KINDS:
    add_rule(f"atomic_{_kind}", _update(_kind))


@call_rule("atomic_cas")
def atomic_cas(
    t: Translator, array: Val, indices: Val, expected: Val, desired: Val, /, *, check_bounds: Val = True,
    memory_order: Val = MemoryOrder.ACQ_REL, memory_scope: Val = MemoryScope.DEVICE,
) -> Val:
    op = "atomic_cas"
    target = atomic_array(op, "cas", array_arg(op, array))
    tiles, shape = element_indices(t, op, indices, target)
    values = {
        name: fit(t, op, name, cast_argument(t, op, name, v, target), shape)
        for name, v in (("expected", expected), ("desired", desired))
    }
    return t.emit(
        ops.AtomicCas, array=target, indices=tiles, shape=shape, **values,
        check_bounds=flag(op, "check_bounds", check_bounds), **ordering(op, memory_order, memory_scope),
    )
