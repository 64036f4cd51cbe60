"""The sub-tiles in which a tile is stored: cut along register bits, and stored directly or through shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.backend_ptx.layouts.exchange import within_warp
from tilewright.backend_ptx.layouts.memory import Access
from tilewright.backend_ptx.targets import KIB
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.layouts.flat import LANE, REGISTER, is_plain
from tilewright.tileir.layouts.queries import is_replicated, vector_along

# Bytes of a sub-tile per warp: 16 rows (those of an MMA fragment) of a whole cache line.
PIECE_BYTES = 2 * KIB
LINE_BYTES = 128
# The cost of a CTA barrier, relative to one more segment per cache line.
BARRIER = 1.5


@dataclass(frozen=True, slots=True)
class Pieces:
    """How a tile is cut: the shape of a sub-tile, its layout in the registers of the whole tile, and the layout of its
    store."""

    shape: tuple[int, ...]
    source: Layout
    target: Layout
    count: int

    @property
    def kind(self) -> str:
        """How far elements move before the store (see Conversion)."""
        return plan_conversion(self.source, self.target).kind

    @property
    def crosses(self) -> bool:
        """Whether elements cross threads before the store."""
        return plan_conversion(self.source, self.target).crosses


@lru_cache(maxsize=256)
def find_pieces(source: Layout, access: Access, warps: int) -> Pieces | None:
    """How to cut a tile with the layout `source` that is stored so; None if the tile is small or register bits do not
    cut it."""
    width, limit = access.element_bytes, PIECE_BYTES * warps
    if prod(source.shape) * width <= limit or not is_plain(source):
        return None
    found = [(_segment(access.part(p.shape), p.target), p) for p in _candidates(source, access, warps)]
    longest = _segment(access, access.preferred(warps))

    def rank(candidate: tuple[int, Pieces]) -> tuple[float, ...]:
        segment, p = candidate
        return max(prod(p.shape) * width, limit), LINE_BYTES / segment + BARRIER * (p.kind == "block"), p.count

    usable = [c for c in found if 2 * c[0] >= longest]
    return min(usable, key=rank)[1] if usable else None


def could_be_longer(layout: Layout, access: Access) -> bool:
    """Whether a warp stores a tile in segments shorter than a cache line, of a contiguous array."""
    return access.contiguous and _segment(access, layout) < LINE_BYTES


def _candidates(source: Layout, access: Access, warps: int) -> Iterator[Pieces]:
    """All cuts along upper index bits that lie in registers, with layouts for their stores."""
    for shape in product(*(_lengths(source, axis) for axis in range(len(source.shape)))):
        count = prod(source.shape) // prod(shape)
        part = transform.extract(source, shape)
        if count == 1 or part is None:
            continue
        own = access.part(shape)
        for target in (within_warp(part, own.order, own.vector), own.preferred(warps)):
            if target is not None and not is_replicated(target):
                yield Pieces(shape, part, target, count)


def _lengths(layout: Layout, axis: int) -> list[int]:
    """The lengths to which register bits can cut an axis."""
    own = {basis[axis] for basis in layout.bases(REGISTER)}
    out = [layout.shape[axis]]
    while out[-1] > 1 and out[-1] // 2 in own:
        out.append(out[-1] // 2)
    return out


def _segment(access: Access, layout: Layout) -> int:
    """Contiguous bytes, up to a cache line, that a warp stores at once."""
    if not access.contiguous:
        return access.element_bytes
    fast = access.order[0]
    length = min(access.vector, vector_along(layout, fast))
    lanes = {basis[fast] for basis in layout.bases(LANE) if sum(map(bool, basis)) == 1}
    while length in lanes:
        length *= 2
    return min(length * access.element_bytes, LINE_BYTES)
