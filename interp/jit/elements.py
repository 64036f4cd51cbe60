"""Gathers and scatters as loops: one pass over the indices, where NumPy makes an array of places and one of bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.interp.jit import POLICY
from tilewright.interp.jit.emit import Emitter, Name
from tilewright.interp.jit.engine import usable
from tilewright.interp.jit.loops import FastLoop

Array = Any

# Stands for the elements outside of the array: read before the padding takes their place, or written and forgotten.
_NOTHING = np.zeros(8, np.uint8)
_OPS = 4  # an element of these costs about as much as so many element-wise ops


class Where(NamedTuple):
    """Elements at byte `base` + sum(index * stride) where no index is outside of its extent and the mask not False."""

    base: int
    extents: Sequence[int]
    strides: Sequence[int]
    indices: Sequence[Array]
    mask: Array | None


class Key(NamedTuple):
    """What a loop is made for: the bytes of an element, the dtypes of the indices, and what it does."""

    size: int
    kinds: tuple[str, ...]
    masked: bool
    does: str  # "read", "write", "compare" or "count"


_loops: dict[Key, FastLoop] = {}
_work: dict[Key, int] = {}


def gather(where: Where, padding: Array, shape: tuple[int, ...]) -> Array | None:
    """The elements, in the dtype of the padding, which stands for those outside. None where a loop does not pay yet."""
    found = _run(where, padding, shape, "read")
    return None if found is None else found[0].view(padding.dtype)


def scatter(where: Where, values: Array, shape: tuple[int, ...]) -> bool:
    """Write the values, one after another; False where a loop does not pay yet, and nothing is written."""
    return _run(where, values, shape, "write") is not None


def same(where: Where, codes: Array, shape: tuple[int, ...], low: int) -> bool | None:
    """Are all elements -1, or equal to these codes up to the `low` lowest bits? None where a loop does not pay yet."""
    found: bool | None = _run(where._replace(strides=[*where.strides, low]), codes, shape, "compare", doubt=False)
    return found


def counts_up(numbers: Array) -> bool | None:
    """Is each of these integers one more than the one before, modulo their size? None where a loop does not pay yet."""
    key = Key(numbers.itemsize, (), False, "count")
    loop = _loop_of(key, numbers.size)
    return None if loop is None else loop((numbers.size - 1,), [numbers[1:], numbers[:-1]]) is not None


def _loop_of(key: Key, elements: int) -> FastLoop | None:
    """The loop of a key, for so many elements; None where it does not pay yet."""
    if not POLICY.enabled:
        return None
    loop = _loops.get(key)
    if loop is None:
        _work[key] = _work.get(key, 0) + elements * _OPS
        if _work[key] < POLICY.work or not usable():
            return None
        loop = _loops[key] = _make(key)
    return loop


def _run(where: Where, values: Array, shape: tuple[int, ...], does: str, doubt: Any = None) -> Any:
    """What the loop of these operands gives; `doubt` where it says no."""
    key = Key(values.itemsize, tuple(index.dtype.str for index in where.indices), where.mask is not None, does)
    loop = _loop_of(key, math.prod(shape))
    if loop is None:
        return None
    operands = [values.view(f"u{values.itemsize}"), *where.indices]
    if where.mask is not None:
        operands.append(where.mask.view(np.uint8))
    found = loop(shape, operands, (where.base, *where.extents, *where.strides))
    return doubt if found is None else found or True


def _make(key: Key) -> FastLoop:
    count, element = len(key.kinds), f"i{8 * key.size}"
    if key.does == "count":
        return FastLoop([element] * 2, [f"u{key.size}"] * 2, 2, lambda names: _no_step(names, element), {})
    types = [element, *(f"i{8 * np.dtype(k).itemsize}" for k in key.kinds), *(["i8"] * key.masked)]
    results = [element] if key.does == "read" else []
    dtypes = [f"u{int(t[1:]) // 8}" for t in (*types, *results)]
    return FastLoop([*types, *results], dtypes, len(types), lambda names: _body(names, key), {},
                    1 + 2 * count + (key.does == "compare"))


def _no_step(names: Sequence[Name], element: str) -> tuple[list[str], list[Name], Name]:
    e = Emitter()
    other = e.do(f"icmp ne {element}", e.do(f"sub {element}", names[0], names[1]), "1")
    return e.lines, [], other


def _body(names: Sequence[Name], key: Key) -> tuple[list[str], list[Name], Name]:
    e, count = Emitter(), len(key.kinds)
    value, *indices = names[: 1 + count]
    offset, *numbers = names[1 + count + key.masked :]
    valid = e(f"icmp ne i8 {names[1 + count]}, 0") if key.masked else "true"
    extents, strides = numbers[:count], numbers[count : 2 * count]
    for index, kind, extent, stride in zip(indices, key.kinds, extents, strides, strict=True):
        bits = 8 * np.dtype(kind).itemsize
        wide = e(f"{'sext' if 'i' in kind else 'zext'} i{bits} {index} to i64") if bits < 64 else index
        valid = e.do("and i1", valid, e(f"icmp ult i64 {wide}, {extent}"))
        offset = e.do("add i64", offset, e(f"mul i64 {wide}, {stride}"))
    element, nothing = f"i{8 * key.size}", str(_NOTHING.__array_interface__["data"][0])
    pointer = e(f"inttoptr i64 {e.select(valid, 'i64', offset, nothing)} to ptr")
    if key.does == "write":
        e.lines.append(f"  store {element} {value}, ptr {pointer}")
        return e.lines, [], "false"
    found = e(f"load {element}, ptr {pointer}")
    if key.does == "compare":
        low = e(f"trunc i64 {numbers[-1]} to {element}") if key.size < 8 else numbers[-1]
        other = e.do(f"icmp ne {element}", e.do(f"ashr {element}", found, low), e.do(f"ashr {element}", value, low))
        taken = e.do("and i1", e.do("and i1", valid, other), e.do(f"icmp ne {element}", found, "-1"))
        return e.lines, [], taken
    return e.lines, [e.select(valid, element, found, value)], "false"
