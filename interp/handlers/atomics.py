"""Atomic operations. Elements that meet at one place are served in their order, so old values are those of a run of
one element after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright.interp.access import each_array
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.chunk import Regs
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.memory import Points, _points_of
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.registry import impl_step
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import atomics

# (elements in memory, operands as they lie in memory) -> new elements
Update = Callable[..., Any]

_PLAIN: dict[str, Any] = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _update(kind: str, dtype: DType) -> Update:
    if kind == "xchg":
        return lambda old, value: value
    if kind == "cas":
        return lambda old, expected, desired: np.where(_bits(old) == _bits(expected), desired, old)
    fmt, ufunc = format_of(dtype), _PLAIN[kind]
    if fmt.plain:
        return lambda old, value: ufunc(old, value)
    return lambda old, value: fmt.encode(fmt.round(ufunc(fmt.decode(old), fmt.decode(value))))


def _bits(x: Any) -> Any:
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def rounds(places: Any) -> Iterator[Any]:
    """Positions in `places`, in groups without two equal places: the n-th group holds each place's n-th occurrence."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    if first.all():
        yield slice(None)
        return
    starts = np.flatnonzero(first)
    number = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))
    by_number = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number))
    for low, high in zip([0, *ends[:-1]], ends, strict=True):
        yield order[by_number[low:high]]


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
    slots, varying = _points_of(op, low)
    slots, varying = (*slots, *low.slot_list(values)), [*varying, *(low.varies(v) for v in values)]
    rank, n, shape = len(op.shape), len(op.indices), tuple(op.shape)
    unused = not any(op.result in other.operands for other in low.function.walk())
    at_once = _PLAIN.get(kind) if unused else None
    batched = bool(low.axes)  # every block acts, even where all blocks do the same

    def one(ref: ArrayRef, own: list[Any], count: int | None) -> Any:
        full = shape if count is None else (count, *shape)
        given = [np.broadcast_to(v, full).reshape(-1) for v in own[len(own) - len(values) :]]
        # Where nothing happens a compare-and-swap returns what it expected; the others may return anything.
        old = given[0].copy() if kind == "cas" else np.zeros(given[0].shape, fmt.held)
        points = Points(ref, own[:n], own[n] if op.mask is not None else None, rank)
        if not len(points.line):
            return old.reshape(full)
        places = np.broadcast_to(points.places, full).reshape(-1)
        lanes = slice(None)
        if points.valid is not None:
            lanes = np.flatnonzero(np.broadcast_to(points.valid, full))  # type: ignore[assignment]
            places = places[lanes]
        encoded = [fmt.encode(np.ascontiguousarray(v[lanes])) for v in given]
        if at_once is not None:  # one element after another, without their old values
            at_once.at(points.line, places, encoded[0])
            return old.reshape(full)
        found = np.empty(len(places), fmt.memory)
        for group in rounds(places):
            at = places[group]
            was = found[group] = points.line[at]
            points.line[at] = update(was, *(e[group] for e in encoded))
        old[lanes] = fmt.decode(found)
        return old.reshape(full)

    def step(regs: Regs) -> None:
        count = regs[0].count if batched else None
        out: Any = None
        for ref, blocks, own in each_array(regs[array], [regs[s] for s in slots], varying):
            got = one(ref, own, count if blocks is None else len(blocks))
            if blocks is None:
                out = got
                continue
            if out is None:
                out = np.zeros((regs[0].count, *shape), fmt.held)
            out[blocks] = got
        regs[dst] = out if shape or count is not None else out[()]

    return step
