"""The arguments of a launch that only counts: real arrays as they are, specs as memory that nobody touches."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.arguments.arrays import HOST, ArrayInfo, numpy_dtype
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Scalar, leaves
from tilewright.arguments.spec import Spec
from tilewright.launching.host import interpreter_value

# Of an address, what is kept in bytes: as allocators of device memory align, and as those of the host do.
ALIGN, HOST_ALIGN = 256, 16


def counting_values(arguments: Sequence[Argument], contents: bool) -> list[Any]:
    """What the interpreter takes for each parameter. `contents`: the elements matter, so that arrays are copied (the
    run may write them), those of devices too."""
    return [_value(leaf, contents) for leaf in leaves(arguments)]


def _value(leaf: Any, contents: bool) -> Any:
    if isinstance(leaf, ArrayList):
        return [_value(item, contents) for item in leaf.items]
    if isinstance(leaf, ArrayArgument):
        return _array(leaf, contents)
    assert isinstance(leaf, Scalar)
    return interpreter_value(leaf) if leaf.value is not None else _no_value(leaf)


def _no_value(leaf: Scalar) -> Any:
    raise TypeError(f"argument {leaf.name!r} is a specification; an estimate needs the value of a scalar")


def _array(leaf: ArrayArgument, contents: bool) -> Any:
    info = leaf.info
    if isinstance(info, Spec):
        extents, strides = known_extents(leaf.name, info)
        return reserved(numpy_dtype(info.dtype), extents, strides)
    return _copied(info) if contents else _like(info)


def known_extents(name: str, info: Spec) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents and strides of a spec in elements; TypeError where one is not known."""
    assert info.extents is not None
    extents = tuple(n for n in info.extents if n is not None)
    if len(extents) != len(info.extents):
        raise TypeError(f"argument {name!r} is {info}; an estimate needs its extents: write numbers in place of ?")
    if info.strides is None:
        steps, step = [], 1
        for n in reversed(extents):
            steps.append(step)
            step *= max(n, 1)
        return extents, tuple(reversed(steps))
    strides = tuple(s for s in info.strides if s is not None)
    if len(strides) != len(extents):
        raise TypeError(f"argument {name!r} is {info}; an estimate needs its strides: write numbers in place of ?")
    return extents, strides


def reserved(dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], start: int = 0) -> Any:
    """An array of zeros of which no page exists until somebody reads it. `strides` are in elements; the first element
    in memory lies `start` bytes behind a multiple of ALIGN."""
    size = dtype.itemsize
    reach = [(n - 1) * s * size for n, s in zip(shape, strides, strict=True)] if 0 not in shape else []
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    memory = mmap.mmap(-1, max(high - low + size, 1) + start, flags=flags)
    return np.ndarray(shape, dtype, memory, start - low, tuple(s * size for s in strides))


def _like(info: ArrayInfo) -> Any:
    """Zeros with the same strides, whose address is a multiple of as much."""
    start = info.span[0] % (HOST_ALIGN if info.device == HOST else ALIGN)
    return reserved(numpy_dtype(info.dtype), info.shape, info.strides, start)


def _copied(info: ArrayInfo) -> Any:
    """A copy on the host, with the same strides."""
    out = _like(info)
    if info.device == HOST:
        from tilewright.arguments.arrays import host_view

        out[...] = host_view(info)
        return out
    from tilewright.launching.host import mirror

    mirrored = replace(info)
    mirror([mirrored])
    out[...] = mirrored.array
    return out
