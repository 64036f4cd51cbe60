"""Atomic reads-modify-writes of elements of an array."""

from __future__ import annotations

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Effects, Op, Value, attribute, operand, operands, optional_operand, require
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import MemoryOrder, MemoryScope
from tilewright.tileir.ops.memory import check_gather, check_order
from tilewright.tileir.types import TileType, Type

_INTEGERS = (dt.int32, dt.int64, dt.uint32, dt.uint64)
_EXCHANGED = (*_INTEGERS, dt.float32, dt.float64)
_NUMBERS = (*_EXCHANGED, dt.float16, dt.bfloat16)

# What each operation can work on (language page, section 5.6).
ATOMIC_DTYPES: dict[str, tuple[DType, ...]] = {
    "cas": _EXCHANGED, "xchg": _EXCHANGED, "add": _NUMBERS, "max": _NUMBERS, "min": _NUMBERS,
    "and": _INTEGERS, "or": _INTEGERS, "xor": _INTEGERS,
}


class Atomic(Op, reads="array", writes="array"):
    """An atomic operation for every element of the index tiles, each on its own and in no particular order.

    The result holds the old elements. Where the mask is False or, with `check_bounds`, an index is outside, nothing
    happens and the result is unspecified (of a compare-and-swap: `expected`).
    """

    array: Value = operand()
    indices: tuple[Value, ...] = operands()
    mask: Value | None = optional_operand()
    shape: tuple[int, ...] = attribute()
    check_bounds: bool = attribute(default=True)
    memory_order: MemoryOrder = attribute(default=MemoryOrder.RELAXED, enum=MemoryOrder)
    memory_scope: MemoryScope = attribute(default=MemoryScope.DEVICE, enum=MemoryScope)

    def effects(self) -> Effects:
        """A relaxed operation is kept by what it writes, and orders no other access."""
        return super().effects()._replace(ordered=self.memory_order is not MemoryOrder.RELAXED)

    def element(self, kind: str) -> TileType:
        """The type of the elements, after checking what all atomics share."""
        result = TileType(self.array.type.dtype, check_gather(self))
        require(result.dtype in ATOMIC_DTYPES[kind], f"{self.opcode} {kind}: arrays of {result.dtype} have none")
        check_order(self, *(order for order in MemoryOrder if order is not MemoryOrder.WEAK))
        return result


class AtomicRmw(Atomic, opcode="atomic_rmw"):
    """Replace array[indices] by `kind` of it and `value`: "add", "xchg" (just value), "max", "min", "and", "or", "xor".

    Integer additions wrap; float additions round to nearest even. Of floats a NaN as `value` changes nothing in "max"
    and "min". Their order is that of IEEE 754's totalOrder: -0.0 before 0.0, in memory NaNs beyond infinity by sign.
    """

    value: Value = operand()
    kind: str = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(self.kind in ATOMIC_DTYPES and self.kind != "cas", f"atomic_rmw: {self.kind!r} is no operation")
        wanted = self.element(self.kind)
        require(self.value.type.erased() == wanted, f"atomic_rmw: value of type {self.value.type}, expected {wanted}")
        return (wanted,)


class AtomicCas(Atomic, opcode="atomic_cas"):
    """Replace array[indices] by `desired` where it has the bits of `expected`."""

    expected: Value = operand()
    desired: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        wanted = self.element("cas")
        for name in ("expected", "desired"):
            given = getattr(self, name).type
            require(given.erased() == wanted, f"atomic_cas: {name} of type {given}, expected {wanted}")
        return (wanted,)
