"""Kernels that copy a tile by TMA, wait for it and store it, made by hand: one of the threads starts the copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import tilewright.backend_ptx.ops  # noqa: F401  (registers the machine ops)
from tilewright.backend_ptx.abi import Lowered
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.bulk import bulk_layout, inner_axis
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.lower.function import emit_function
from tilewright.backend_ptx.ops.bulk import TmaLoad
from tilewright.backend_ptx.passes.barriers.insert_barriers import insert_barriers
from tilewright.backend_ptx.passes.sharing.plan_shared_memory import plan_shared_memory
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.parser import parse

WARPS = 4
BLOCKS = 3
DTYPES: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "f64": np.float64}


@dataclass(frozen=True)
class Case:
    """A kernel of `copy_text` and an array for it, with `extents` in its own order."""

    dtype: str
    tile: tuple[int, ...]
    order: tuple[int, ...]
    inner: int
    extents: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}-{self.tile}-{self.order}-{self.extents}".replace(" ", "")

    def text(self) -> str:
        return copy_text(self.dtype, self.tile, self.order, self.inner)

    def array(self) -> np.ndarray:
        """The axis with stride 1 is last in memory; its rows take whole 16 bytes."""
        axes = range(len(self.tile))
        memory_order = [a for a in axes if a != self.order[self.inner]] + [self.order[self.inner]]
        per_vector = 16 // np.dtype(DTYPES[self.dtype]).itemsize
        lengths = [self.extents[a] for a in memory_order]
        lengths[-1] = -(-lengths[-1] // per_vector) * per_vector
        memory = np.random.default_rng(len(self.tile)).integers(-50, 50, lengths).astype(DTYPES[self.dtype])
        whole = memory.transpose([memory_order.index(a) for a in axes])
        array = whole[tuple(slice(n) for n in self.extents)]
        size = array.itemsize
        odd = [3 * size if n == 1 and s != size else s for n, s in zip(array.shape, array.strides, strict=True)]
        return np.lib.stride_tricks.as_strided(array, array.shape, odd)

    def output(self) -> np.ndarray:
        return np.full((BLOCKS * self.tile[0], *self.tile[1:]), 99, DTYPES[self.dtype])

    def expected(self, array: np.ndarray) -> np.ndarray:
        """Of `output`: a tile of each block below the other, zero where it leaves the array."""
        seen, out = array.transpose(self.order), np.zeros_like(self.output())
        for block in range(BLOCKS):
            index = (block, 1 - block, *[0] * len(self.tile))
            for place in np.ndindex(*self.tile):
                source = tuple(i * n + p for i, n, p in zip(index, self.tile, place, strict=False))
                if all(0 <= s < n for s, n in zip(source, seen.shape, strict=True)):
                    out[(block * self.tile[0] + place[0], *place[1:])] = seen[source]
        return out


CASES = [
    Case("bf16", (64, 64), (0, 1), 1, (150, 104)),  # rows of 128 bytes, ragged both ways
    Case("bf16", (64, 64), (1, 0), 0, (104, 152)),  # the array is read as its transpose
    Case("bf16", (16, 128), (0, 1), 1, (40, 136)),  # two pieces of 128 bytes
    Case("bf16", (32, 32), (0, 1), 1, (64, 64)),  # 64-byte swizzle
    Case("bf16", (32, 16), (0, 1), 1, (70, 24)),  # 32-byte swizzle
    Case("bf16", (32, 8), (0, 1), 1, (70, 8)),  # no swizzle
    Case("bf16", (4, 64), (0, 1), 1, (9, 80)),  # too few rows for one
    Case("f32", (512, 16), (0, 1), 1, (700, 20)),  # two boxes
    Case("f64", (16, 16), (0, 1), 1, (20, 30)),
    Case("i8", (2, 16, 64), (0, 1, 2), 2, (5, 24, 80)),
    Case("f32", (2, 8, 32), (1, 0, 2), 2, (12, 5, 40)),  # strides of the map's axes do not ascend
    Case("bf16", (2, 64, 16), (0, 2, 1), 1, (5, 24, 80)),
    Case("f32", (1, 2, 4, 2, 32), (0, 1, 2, 3, 4), 4, (3, 5, 6, 3, 36)),
    Case("f32", (512,), (0,), 0, (1001,)),
    Case("bf16", (64, 64), (0, 1), 1, (1, 104)),  # one row, whose stride may be anything
    Case("bf16", (64, 64), (0, 1), 1, (0, 64)),  # nothing but zeros
]


def copy_text(dtype: str, shape: tuple[int, ...], order: tuple[int, ...], inner: int, copies: int = 2) -> str:
    """Block i copies tile (i, 1 - i, 0, ...) of %a, whose axis order[inner] has stride 1, to tile (i, 0, ...) of %out.

    The padding shows in %out, which is [blocks * shape[0], *shape[1:]].
    """
    rank = len(shape)
    x, size = "x".join(map(str, shape)), {"f32": 4, "bf16": 2, "i8": 1, "f64": 8}[dtype]
    dims = "x".join("?" * rank)
    strides = "x".join("1" if axis == order[inner] else "?" for axis in range(rank))
    per_vector = 16 // size
    divisors = "x".join("1" if axis == order[inner] else str(per_vector) for axis in range(rank))
    own = "x".join(["?"] * (rank - 1) + ["1"])
    index = ", ".join((["%i", "%j"] + ["%0"] * rank)[:rank])
    place = ", ".join((["%i"] + ["%0"] * rank)[:rank])
    count = size
    for n in shape:
        count *= n
    steps, axes = f"({', '.join(map(str, shape))})", f"({', '.join(map(str, order))})"
    return f"""
func @copy(%a: array<{dims}x{dtype}, strides={strides}, stride_div={divisors}, align=16, disjoint>,
          %out: array<{dims}x{dtype}, strides={own}, align=16>) {{
  %i: i32 = block_id(axis=0)
  %0: i32 = constant(value=0, type=tile<i32>)
  %1: i32 = constant(value=1, type=tile<i32>)
  %j: i32 = sub(lhs=%1, rhs=%i)
  %slot: i32 = constant(value={copies - 1}, type=tile<i32>)
  %ring: shared<{copies}, {x}x{dtype}> = shared_alloc(type=shared<{copies}, {x}x{dtype}>)
  %full: shared<{copies}, i64> = shared_alloc(type=shared<{copies}, i64>)
  mbarrier_init(barriers=%full, count=1)
  mbarrier_expect(barriers=%full, slot=%slot, bytes={count})
  tma_load(buffer=%ring, barriers=%full, slot=%slot, array=%a, index=({index}), steps={steps}, order={axes})
  mbarrier_wait(barriers=%full, slot=%slot, parity=%0)
  %t: tile<{x}x{dtype}> = shared_load(buffer=%ring, slot=%slot, index=(), shape={steps})
  store(array=%out, index=({place}), value=%t, steps={steps}, order=({', '.join(map(str, range(rank)))}))
  return()
}}
"""


def laid_out(text: str, target: Target) -> Function:
    """The function with the layouts and offsets that the passes would give it."""
    function = parse(text)
    function.plan.warps = WARPS
    for op in function.walk():
        made: Any = op
        if isinstance(op, TmaLoad):
            inner = inner_axis(op.array.type, op.shape, op.steps, op.order)
            assert inner is not None
            alloc: Any = op.buffer.op
            alloc.type = alloc.type.with_layout(bulk_layout(op.shape, inner, op.array.type.dtype.bytes))
            alloc.result.type = alloc.type
        elif isinstance(op, Store):
            access = tile_access(op.array.type, op.order, op.steps, op.value.type.shape)
            made.value.type = made.value.type.with_layout(access.preferred(WARPS))
    plan_shared_memory(Compilation(function, target))
    insert_barriers(Compilation(function, target))
    return function


def lowered(text: str, target: Target, monkeypatch: Any) -> Lowered:
    """The kernel's LLVM text; thread 0, which also waits, is the one that starts the copies."""
    from tilewright.backend_ptx.lower import bulk

    monkeypatch.setattr(bulk, "issuing_thread", lambda ctx: ctx.b.icmp("eq", ctx.tid, 0))
    return emit_function(laid_out(text, target), target)
