"""Atomic operations: what each does to an element (`ElementRegion.update` says in which order)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.access import each_array
from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.elements import ElementRegion
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.memory import element_operands
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.memory import Change
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import atomics

# (elements in memory, operands as they lie in memory) -> new elements
Update = Callable[..., Any]

_PLAIN: dict[str, Any] = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class FloatExtreme:
    """The maximum or minimum of floats in memory, in the order of IEEE 754's totalOrder; a NaN as operand changes
    nothing. `at` is like that of NumPy's functions."""

    def __init__(self, kind: str, dtype: DType) -> None:
        self.format, self.choose = format_of(dtype), _PLAIN[kind]
        self.bits = np.iinfo(f"i{dtype.bytes}")
        self.idle = self.bits.min if kind == "max" else self.bits.max

    def _folded(self, bits: Any) -> Any:
        """Bits of floats as integers of the same order, and back."""
        return bits ^ (bits >> (self.bits.bits - 1) & self.bits.max)

    def _chosen(self, old: Any, value: Any, choose: Callable[..., Any]) -> Any:
        one, other = (self._folded(_bits(x).view(self.bits.dtype)) for x in (old, value))
        other = np.where(np.isnan(self.format.decode(value)), self.idle, other)
        return self._folded(choose(one, other)).view(old.dtype)

    def __call__(self, old: Any, value: Any) -> Any:
        return self._chosen(old, value, self.choose)

    def at(self, line: Any, places: Any, values: Any) -> None:
        each, number = np.unique(places, return_inverse=True)

        def choose(old: Any, new: Any) -> Any:
            self.choose.at(old, number.reshape(places.shape), new)
            return old

        line[each] = self._chosen(line[each], values, choose)


def _update(kind: str, dtype: DType) -> Update:
    if kind == "xchg":
        return lambda old, value: value
    if kind == "cas":
        return lambda old, expected, desired: np.where(_bits(old) == _bits(expected), desired, old)
    fmt, ufunc = format_of(dtype), _ufunc(kind, dtype)
    if isinstance(ufunc, FloatExtreme):
        return ufunc
    if fmt.plain:
        return lambda old, value: ufunc(old, value)
    return lambda old, value: fmt.encode(fmt.round(ufunc(fmt.decode(old), fmt.decode(value))))


def _ufunc(kind: str, dtype: DType) -> Any:
    return FloatExtreme(kind, dtype) if dtype.is_float and kind in ("max", "min") else _PLAIN.get(kind)


def _bits(x: Any) -> Any:
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


@impl_step(atomics.AtomicRmw)
def atomic_rmw(op: atomics.AtomicRmw, low: Lowering) -> Step:
    return _atomic(op, low, op.kind, (op.value,))


@impl_step(atomics.AtomicCas)
def atomic_cas(op: atomics.AtomicCas, low: Lowering) -> Step:
    return _atomic(op, low, "cas", (op.expected, op.desired))


def _atomic(op: atomics.Atomic, low: Lowering, kind: str, values: tuple[Any, ...]) -> Step:
    dtype = op.array.type.dtype
    fmt, update = format_of(dtype), _update(kind, dtype)
    array, dst = low.slot_list((op.array, op.result))
    slots, varying = element_operands(op, low)
    slots, varying = (*slots, *low.slot_list(values)), [*varying, *(low.varies(v) for v in values)]
    n, shape, masked = len(op.indices), tuple(op.shape), op.mask is not None
    unused = not any(op.result in other.operands for other in low.function.walk())
    ufunc = _ufunc(kind, dtype) if unused else None
    exact = _PLAIN.get(kind) if fmt.plain and not isinstance(update, FloatExtreme) else None
    batched = bool(low.axes)  # every block acts, even where all blocks do the same

    def step(regs: Regs) -> None:
        chunk: Chunk = regs[0]
        out: Any = None
        for ref, blocks, own in each_array(regs[array], [regs[s] for s in slots], varying):
            mask = own[n] if masked else None
            region = ElementRegion(ref, own[:n], mask, shape, fmt, chunk, blocks, batched)
            change = Change(kind, update, tuple(own[len(own) - len(values) :]), ufunc, exact)
            got = chunk.memory.update(region, change, op)
            if blocks is None:
                out = got
                continue
            if out is None:
                out = np.zeros((chunk.count, *shape), fmt.held)
            out[blocks] = got
        regs[dst] = out if shape or batched else out[()]

    return step
