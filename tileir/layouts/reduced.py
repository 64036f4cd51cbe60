"""Layouts of reductions that keep some bits of their axes: of the partial results of warps, and of the gathered
ones."""

from __future__ import annotations

from functools import reduce
from operator import or_

from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.flat import WARP, distributed, index_bits


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...], keep: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` after the reduction: axis axes[i] has as many elements as the bits in keep[i] can tell apart."""
    out = list(shape)
    for axis, mask in zip(axes, keep, strict=True):
        out[axis] = 1 << mask.bit_count()
    return tuple(out)


def warp_bits(layout: Layout, axes: tuple[int, ...]) -> tuple[int, ...]:
    """For each axis the bits of its index that differ between warps."""
    return tuple(reduce(or_, (basis[axis] for basis in layout.bases(WARP)), 0) for axis in axes)


def _compress(index: int, mask: int) -> int:
    """The bits of `index` at the set positions of `mask`, side by side."""
    positions = [k for k in range(mask.bit_length()) if mask >> k & 1]
    return sum((index >> k & 1) << place for place, k in enumerate(positions))


def partial_layout(layout: Layout, axes: tuple[int, ...], keep: tuple[int, ...]) -> Layout:
    """The layout of the result of `reduce_bits`: kept bits stay in their lanes and warps, the others hold copies."""
    shape = kept_shape(layout.shape, axes, keep)
    masks = dict(zip(axes, keep, strict=True))

    def project(index: tuple[int, ...]) -> list[int]:
        return [_compress(i, masks[k]) if k in masks else i for k, i in enumerate(index)]

    return transform.remap(shape, layout, project)


def gathered_layout(layout: Layout, axes: tuple[int, ...], keep: tuple[int, ...]) -> Layout:
    """The layout in which every thread holds all partial results of the elements that it holds of the final one."""
    shape = kept_shape(layout.shape, axes, keep)
    final = transform.reduce(layout, axes)
    ones = tuple(1 if k in axes else n for k, n in enumerate(shape))
    wide = transform.reshape(final, ones)
    register, lane, warp = transform.bases_in(shape, wide)
    return distributed(shape, [*index_bits(shape, reversed(axes)), *register], lane, warp)
