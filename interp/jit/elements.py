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
    """What a loop is made for: the bytes of an element, the dtypes of the indices."""

    size: int
    kinds: tuple[str, ...]
    masked: bool
    writes: bool


_loops: dict[Key, FastLoop] = {}
_work: dict[Key, int] = {}


def gather(where: Where, padding: Array, shape: tuple[int, ...]) -> Array | None:
    """The elements, in the dtype of the padding, which stands for those outside. None where a loop does not pay yet."""
    found = _run(where, padding, shape, writes=False)
    return None if found is None else found[0].view(padding.dtype)


def scatter(where: Where, values: Array, shape: tuple[int, ...]) -> bool:
    """Write the values, one after another; False where a loop does not pay yet, and nothing is written."""
    return _run(where, values, shape, writes=True) is not None


def _run(where: Where, values: Array, shape: tuple[int, ...], writes: bool) -> list[Array] | None:
    if not POLICY.enabled:
        return None
    key = Key(values.itemsize, tuple(index.dtype.str for index in where.indices), where.mask is not None, writes)
    loop = _loops.get(key)
    if loop is None:
        _work[key] = _work.get(key, 0) + math.prod(shape) * _OPS
        if _work[key] < POLICY.work or not usable():
            return None
        loop = _loops[key] = _make(key)
    operands = [values.view(f"u{values.itemsize}"), *where.indices]
    if where.mask is not None:
        operands.append(where.mask.view(np.uint8))
    return loop(shape, operands, (where.base, *where.extents, *where.strides))


def _make(key: Key) -> FastLoop:
    count, element = len(key.kinds), f"i{8 * key.size}"
    types = [element, *(f"i{8 * np.dtype(k).itemsize}" for k in key.kinds), *(["i8"] * key.masked)]
    results = [] if key.writes else [element]
    dtypes = [f"u{int(t[1:]) // 8}" for t in (*types, *results)]
    return FastLoop([*types, *results], dtypes, len(types), lambda names: _body(names, key), "", 1 + 2 * count)


def _body(names: Sequence[Name], key: Key) -> tuple[list[str], list[Name], Name]:
    e, count = Emitter(), len(key.kinds)
    value, *indices = names[: 1 + count]
    offset, *numbers = names[1 + count + key.masked :]
    valid = e(f"icmp ne i8 {names[1 + count]}, 0") if key.masked else "true"
    for index, kind, extent, stride in zip(indices, key.kinds, numbers[:count], numbers[count:], strict=True):
        bits = 8 * np.dtype(kind).itemsize
        wide = e(f"{'sext' if 'i' in kind else 'zext'} i{bits} {index} to i64") if bits < 64 else index
        valid = e.do("and i1", valid, e(f"icmp ult i64 {wide}, {extent}"))
        offset = e.do("add i64", offset, e(f"mul i64 {wide}, {stride}"))
    element, nothing = f"i{8 * key.size}", str(_NOTHING.__array_interface__["data"][0])
    pointer = e(f"inttoptr i64 {e.select(valid, 'i64', offset, nothing)} to ptr")
    if key.writes:
        e.lines.append(f"  store {element} {value}, ptr {pointer}")
        return e.lines, [], "false"
    found = e(f"load {element}, ptr {pointer}")
    return e.lines, [e.select(valid, element, found, value)], "false"
