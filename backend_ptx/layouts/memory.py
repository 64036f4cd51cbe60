"""Tiles in global memory: the layout that an access prefers, and the cost of an access in a given layout.

Costs are in wavefronts of one warp: a memory instruction fetches sectors of 32 bytes, and few instructions that fetch
whole sectors are best. The numbers only rank choices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.analysis.neighbours import gather_run, tile_run
from tilewright.tileir.analysis.runs import Along
from tilewright.tileir.core import Op
from tilewright.tileir.f2 import span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.blocked import blocked
from tilewright.tileir.layouts.convert import plan_conversion
from tilewright.tileir.layouts.flat import LANE
from tilewright.tileir.layouts.queries import registers, vector_along
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.types import ArrayType

VECTOR_BYTES = 16
SECTOR_BYTES = 32


@dataclass(frozen=True, slots=True)
class Access:
    """How a tile of `shape` lies in memory: axes from the fastest to the slowest; `vector`: so many elements along the
    first of them may be one access (1 if they are not side by side)."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    vector: int
    contiguous: bool
    element_bytes: int

    def preferred(self, warps: int) -> Layout:
        """The layout with the widest accesses and neighbouring lanes at neighbouring addresses."""
        threads, size = 32 * warps, prod(self.shape)
        # A vector per thread is no gain when it leaves threads without one.
        vector = self.vector
        while vector > 1 and size // vector < threads and vector * self.element_bytes > 4:
            vector //= 2
        return blocked(self.shape, self.order, vector, warps)

    def part(self, shape: tuple[int, ...]) -> Access:
        """That of a sub-tile, which lies at a multiple of its shape."""
        vector = min(self.vector, shape[self.order[0]])
        return Access(shape, self.order, vector, self.contiguous, self.element_bytes)

    def cost(self, layout: Layout) -> int:
        """Wavefronts of one warp to move the tile in this layout."""
        return _cost(self, layout)


@lru_cache(maxsize=4096)
def _cost(access: Access, layout: Layout) -> int:
    fast = access.order[0] if access.order else 0
    vector = min(access.vector, vector_along(layout, fast)) if access.contiguous else 1
    near, far = [], 0
    for basis in layout.bases(LANE):
        if any(part for axis, part in enumerate(basis) if axis != fast) or (any(basis) and not access.contiguous):
            far += 1
        elif any(basis):
            near.append(basis[fast] * access.element_bytes)
    width = max(vector * access.element_bytes, 1)
    sectors = {(at + b) // SECTOR_BYTES for at in span(near) for b in range(0, width, min(width, SECTOR_BYTES))}
    return registers(layout) // vector * (2 + 4 * (len(sectors) << far))


def conversion_cost(source: Layout, target: Layout, element_bytes: int) -> int:
    """Wavefronts of one warp to convert; 0 if each thread holds what it needs."""
    kind = plan_conversion(source, target).kind
    if kind in ("none", "registers"):
        return 0
    moved = (registers(source) + registers(target)) * element_bytes
    return moved + (24 if kind == "block" else 4)


@lru_cache(maxsize=1024)
def tile_access(array: ArrayType, order: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...]) -> Access:
    """The access of a `load` or `store` with these fields: tile axis k is array axis order[k]."""
    run = tile_run(array, order, steps, shape, VECTOR_BYTES)
    return Access(shape, run.order, run.length, run.contiguous, array.dtype.bytes)


def bytes_added(op: Op, c: Compilation) -> int:
    """How many bytes one instruction can add, where nobody asks for the old values of an atomic addition; else 0."""
    if not (isinstance(op, AtomicRmw) and op.kind == "add") or c.uses.get(op.result):
        return 0
    dtype = op.array.type.dtype
    return VECTOR_BYTES if c.target.has_vector_adds and dtype.is_float and dtype.bitwidth <= 32 else dtype.bytes


@lru_cache(maxsize=1024)
def gather_access(array: ArrayType, shape: tuple[int, ...], indices: tuple[Along, ...], loaded: bool = False) -> Access:
    """A gather or scatter by index tiles of which these runs are known (none: each element is an access of its own).
    Where they say nothing, most often the last axis walks along memory, unless indices along it are `loaded`."""
    size = array.dtype.bytes
    runs = ((gather_run(array, indices, axis, VECTOR_BYTES).length, axis) for axis in range(len(shape)))
    widest = max(runs, default=(1, 0))
    vector, fast = widest if widest[0] > 1 else (1, len(shape) - 1)
    order = (fast, *(axis for axis in reversed(range(len(shape))) if axis != fast))
    return Access(shape, order[: len(shape)], vector, not loaded or widest[0] > 1, size)
