"""What lowering and the passes ask of one layout: which element a register holds, vector width, copies.

The element of (register r, lane l, warp w) is `register_offsets(layout)[r]` combined with the sum over set bits of l
and w of `thread_bases(layout)`. For plain layouts (`flat.is_plain`, all that the passes choose) the two never share an
index bit, so the combination is an addition: compute the thread's part once and add constants per register.
"""

from __future__ import annotations

from functools import lru_cache

from tilewright.tileir.f2 import span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE, REGISTER, WARP, flat_bases, unflatten


def registers(layout: Layout) -> int:
    """Elements that a thread holds: the length of its vector."""
    return 1 << len(layout.bases(REGISTER))


@lru_cache(maxsize=1024)
def register_flats(layout: Layout) -> tuple[int, ...]:
    """The flat tile index that each register contributes."""
    return tuple(span(flat_bases(layout, REGISTER)))


@lru_cache(maxsize=1024)
def register_offsets(layout: Layout) -> tuple[tuple[int, ...], ...]:
    """The tile index that each register contributes (that of lane 0 in warp 0)."""
    return tuple(unflatten(flat, layout.shape) for flat in register_flats(layout))


def thread_bases(layout: Layout) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """What each bit of the lane and warp numbers contributes: ("lane" or "warp", bit, tile index), copies left out."""
    return tuple((dim, bit, basis) for dim in (LANE, WARP) for bit, basis in enumerate(layout.bases(dim)) if any(basis))


def copies(layout: Layout, dim: str) -> int:
    """Bits of the lane or warp number on which the element does not depend, as a mask.

    Threads that differ only there hold the same elements; the one with these bits 0 is the owner (of a store, say).
    """
    return sum(1 << bit for bit, basis in enumerate(layout.bases(dim)) if not any(basis))


def is_replicated(layout: Layout) -> bool:
    """Whether some element is held by more than one thread."""
    return bool(copies(layout, LANE) or copies(layout, WARP))


@lru_cache(maxsize=1024)
def vector_along(layout: Layout, axis: int) -> int:
    """v such that registers [k*v, (k+1)*v) hold v consecutive elements along `axis`, the first a multiple of v."""
    vector = 1
    for basis in layout.bases(REGISTER):
        if basis != tuple(vector if k == axis else 0 for k in range(len(layout.shape))):
            break
        vector *= 2
    others = [b for d in (LANE, WARP) for b in layout.bases(d)] + list(layout.bases(REGISTER))
    while vector > 1 and any(b[axis] & (vector - 1) > 0 and b[axis] != b[axis] & -b[axis] for b in others):
        vector //= 2  # an entangled basis would move a thread's start off the multiple
    return vector
