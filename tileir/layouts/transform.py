"""What a change of shape does to a layout, so that the change itself costs nothing at run time.

`forward` functions give the layout of the result from that of the source, `..._source` functions the other way.
Every pair makes the op a renaming of registers: lowering finds the permutation in `shapes.register_map`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import (
    LANE,
    REGISTER,
    WARP,
    axis_shifts,
    distributed,
    flatten,
    index_bits,
    parts,
)

Index = Callable[[tuple[int, ...]], Sequence[int]]


def bases_in(shape: tuple[int, ...], layout: Layout, function: Index = tuple) -> Iterator[list[int]]:
    """Flat bases of (register, lane, warp) in a tile of `shape`, by a linear function of the layout's tile indices."""
    return ([flatten(function(b), shape) for b in layout.bases(dim)] for dim in (REGISTER, LANE, WARP))


def remap(shape: tuple[int, ...], layout: Layout, function: Index) -> Layout:
    """Apply a linear function of tile indices to every basis; a register whose basis becomes zero goes away."""
    register, lane, warp = bases_in(shape, layout, function)
    return distributed(shape, [b for b in register if b], lane, warp)


@lru_cache(maxsize=1024)
def within(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout of the tile of `shape` with the low bits of every index: also that before a `broadcast` from it, where
    every thread already holds what it needs."""
    # A scalar has no axes.
    return remap(shape, layout, lambda index: [i & (n - 1) for i, n in zip(index, shape, strict=False)])


@lru_cache(maxsize=1024)
def reshape(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout after (or, called with the source's shape, before) `reshape`: flat indices stay."""
    return distributed(shape, *parts(layout))


@lru_cache(maxsize=1024)
def permute(layout: Layout, axes: tuple[int, ...]) -> Layout:
    """The layout after `permute(axes)`."""
    shape = tuple(layout.shape[a] for a in axes)
    return Layout([(dim, [tuple(b[a] for a in axes) for b in bases]) for dim, bases in layout.dims], shape)


def permute_source(layout: Layout, axes: tuple[int, ...]) -> Layout:
    """The layout before `permute(axes)`."""
    return permute(layout, tuple(axes.index(k) for k in range(len(axes))))


@lru_cache(maxsize=1024)
def reduce(layout: Layout, axes: tuple[int, ...]) -> Layout:
    """The layout after a reduction along `axes`: lanes and warps that held parts of an axis hold copies."""
    keep = [k for k in range(len(layout.shape)) if k not in axes]
    shape = tuple(layout.shape[k] for k in keep)
    return remap(shape, layout, lambda index: [index[k] for k in keep])


@lru_cache(maxsize=1024)
def broadcast(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """A layout after a `broadcast` to `shape`: lanes and warps that held copies share the new axes, then registers."""
    axes = [k for k in reversed(range(len(shape))) if layout.shape[k] != shape[k]]
    return _fill(layout, shape, axes)


@lru_cache(maxsize=1024)
def reduce_source(layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...]) -> Layout:
    """A layout of `shape` from which a reduction along `axes` gives `layout`."""
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    return _fill(reshape(layout, kept), shape, sorted(axes, reverse=True))


def _fill(layout: Layout, shape: tuple[int, ...], axes: Sequence[int]) -> Layout:
    """Widen `axes` from 1 to their length in `shape`: their bits go to idle lanes, idle warps, registers."""
    bits = index_bits(shape, axes)
    register, lane, warp = bases_in(shape, layout)
    for bases in (lane, warp):
        for i, basis in enumerate(bases):
            if not basis and bits:
                bases[i] = bits.pop(0)
    return distributed(shape, register + bits, lane, warp)


@lru_cache(maxsize=1024)
def cat(layout: Layout, axis: int) -> Layout:
    """The layout after joining two tiles of `layout` along `axis`: the new top bit of the axis is a register bit."""
    shape = tuple(2 * n if k == axis else n for k, n in enumerate(layout.shape))
    register, lane, warp = bases_in(shape, layout)
    return distributed(shape, [*register, layout.shape[axis] << axis_shifts(shape)[axis]], lane, warp)


@lru_cache(maxsize=1024)
def extract(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """The layout of a sub-tile of `shape` where each thread holds its part already: the bits that choose the sub-tile
    are register bits. None if lanes or warps hold different sub-tiles."""
    register, lane, warp = (layout.bases(d) for d in (REGISTER, LANE, WARP))

    def inside(basis: tuple[int, ...]) -> bool:
        return all(i < n for i, n in zip(basis, shape, strict=True))

    def outside(basis: tuple[int, ...]) -> bool:
        return all(i & (n - 1) == 0 for i, n in zip(basis, shape, strict=True))

    if not all(inside(b) for b in (*lane, *warp)) or not all(inside(b) or outside(b) for b in register):
        return None
    return within(layout, shape)


@lru_cache(maxsize=1024)
def extract_source(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout of a tile of `shape` of which every thread holds its part of each sub-tile in `layout`: the bits that
    choose the sub-tile are register bits."""
    register, lane, warp = bases_in(shape, layout)
    inside = [n.bit_length() - 1 for n in layout.shape]
    outer = [1 << bit + shift for shift, low, n in zip(axis_shifts(shape), inside, shape, strict=True)
             for bit in range(low, n.bit_length() - 1)]
    return distributed(shape, [*register, *outer], lane, warp)
