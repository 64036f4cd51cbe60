"""Fourteen kernels whose traffic is estimated and counted: by the simulator when small, by GPUs when large."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tilewright as tw

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def strided_copy(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, (i, j), (tm, tn)))


@tw.tile_kernel
def scale_and_shift(x, rows, columns, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    """out = x * rows[:, None] + columns[None, :]"""
    j, i = tw.bid(0), tw.bid(1)
    t, scale, shift = tw.load(x, (i, j), (tm, tn)), tw.load(rows, (i,), (tm,)), tw.load(columns, (j,), (tn,))
    tw.store(out, (i, j), t * scale[:, None] + shift[None, :])


@tw.tile_kernel
def product_by_threads(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b, with cp.async where there is TMA, too."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO, allow_tma=False)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO, allow_tma=False)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


@dataclass(frozen=True)
class Array:
    """An argument: elements as a spec names them, every `step`-th along the last axis of its memory. `below`: whole
    numbers in an order drawn at random, each below this, as often as the others."""

    dtype: str
    shape: tuple[int, ...]
    step: int = 1
    below: int = 0

    def spec(self) -> Any:
        """What `tw.spec` says of it."""
        extents = ",".join(map(str, self.shape))
        strides = [self.step]
        for n in reversed(self.shape[1:]):
            strides.insert(0, strides[0] * n)
        written = f" strides=[{','.join(map(str, strides))}]" if self.step > 1 else ""
        return tw.spec(f"{self.dtype}[{extents}]{written}")

    def numbers(self) -> Any:
        """A NumPy array with some contents, at an address that is a multiple of 256."""
        import numpy as np

        from tilewright.arguments.arrays import numpy_dtype

        rng = np.random.default_rng(sum(self.shape))
        shape, size = (*self.shape[:-1], self.shape[-1] * self.step), 1
        for n in shape:
            size *= n
        dtype = numpy_dtype(self.spec().dtype)
        memory = np.zeros(size * dtype.itemsize + 256, np.uint8)
        start = -memory.ctypes.data % 256
        out: Any = memory[start : start + size * dtype.itemsize].view(dtype).reshape(shape)
        out[...] = rng.permutation(size).reshape(shape) % self.below if self.below else rng.standard_normal(shape)
        return out[..., :: self.step]


@dataclass(frozen=True)
class Work:
    """A launch. `args`: Arrays, and numbers as they are."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    args: tuple[Any, ...]

    def values(self, made: Callable[[Array], Any]) -> list[Any]:
        """The arguments, with arrays as `made` makes them."""
        return [made(arg) if isinstance(arg, Array) else arg for arg in self.args]


def works(small: bool) -> list[Work]:
    """All fourteen: of a few thousand elements, or of sizes next to which caches are small."""
    return [*_plain(small), *_rows(small), *_products(small)]


def _plain(small: bool) -> list[Work]:
    from gather_scatter import gather_rows
    from transpose import transpose
    from vector_add import vector_add

    from benchmarks.row_kernels import scaled_relu

    n = 4096 if small else 1 << 29
    m, w = (40, 96) if small else (16384, 16384)
    v = Array("f32", (n,))
    ragged = Array("f32", (m - 1, w - 3))
    s, g = w // 2, min(w, 2048)
    return [
        Work("vector add", vector_add, (tw.cdiv(n, 1024),), (v, v, v, 1024)),
        Work("strided copy", strided_copy, (tw.cdiv(m, 16), tw.cdiv(s, 64)),
             (Array("f32", (m, s), step=2), Array("f32", (m, s)), 16, 64)),
        Work("transpose", transpose, (tw.cdiv(m, 32), tw.cdiv(w, 32)),
             (Array("f32", (m, w)), Array("f32", (w, m)), 32, 32)),
        Work("gather", gather_rows, (tw.cdiv(m, 16), tw.cdiv(g, 64)),
             (Array("f32", (m, g)), Array("i32", (m,), below=m), Array("f32", (m, g)), 16, 64)),
        Work("masked edges", scaled_relu, (tw.cdiv(w - 3, 64), tw.cdiv(m - 1, 16)),
             (ragged, ragged, 0.5, 1.0, 16, 64)),
        Work("broadcasting", scale_and_shift, (tw.cdiv(w, 64), tw.cdiv(m, 16)),
             (Array("f32", (m, w)), Array("f32", (m,)), Array("f32", (w,)), Array("f32", (m, w)), 16, 64)),
    ]


def _rows(small: bool) -> list[Work]:
    from softmax import softmax

    from benchmarks.row_kernels import layer_norm, persistent_softmax, row_sum

    m, w = (6, 256) if small else (1 << 17, 4096)
    odd, width = (101, 128) if small else (4001, 4096)
    x, weight = Array("bf16", (m, w)), Array("bf16", (w,))
    return [
        Work("softmax", softmax, (m,), (x, x, w)),
        Work("layer norm", layer_norm, (m,), (x, weight, weight, x, 1e-5, 1, w)),
        Work("rows in a loop", persistent_softmax, (3 if small else 1056,), (x, x, 1, w)),
        Work("odd rows", row_sum, (m,), (Array("f32", (m, odd)), Array("f32", (m,)), 1, width)),
    ]


def _products(small: bool) -> list[Work]:
    from attention import attention
    from matmul import matmul

    from benchmarks.kernels import batched_matmul

    batch = 2 if small else 4096  # each block has factors of its own
    one, other, product = (Array("bf16", (batch, *shape)) for shape in (
        ((64, 72), (72, 64), (64, 64)) if small else ((128, 1024), (1024, 256), (128, 256))))
    m, k, tile = (136, 72, (64, 64, 32)) if small else (8192, 8192, (128, 256, 64))
    a, b, c = Array("bf16", (m, k)), Array("bf16", (k, m)), Array("bf16", (m, m))
    grid = tw.cdiv(m, tile[0]), tw.cdiv(m, tile[1])
    tokens, heads, d, rows, columns = (40, 2, 16, 32, 16) if small else (8192, 32, 128, 128, 128)
    q = Array("f16", (tokens, heads, d))
    return [
        Work("batched matmul", batched_matmul, (batch,), (one, other, product, *tile)),
        Work("matmul, TMA", matmul, (grid[0] * grid[1],), (a, b, c, *tile)),
        Work("matmul, cp.async", product_by_threads, (tw.cdiv(m, 128), tw.cdiv(m, 128)), (a, b, c, 128, 128, 32)),
        Work("attention", attention, (tw.cdiv(tokens, rows), heads, 1),
             (q, q, q, Bounds(tokens), q, Array("f32", (heads, tokens)), 0.125, rows, columns, d)),
    ]


@dataclass(frozen=True)
class Bounds(Array):
    """Where one sequence of so many tokens starts and ends."""

    def __init__(self, tokens: int) -> None:
        super().__init__("i32", (2,), below=tokens)

    def numbers(self) -> Any:
        """Contents decide how often loops run: they count as they are."""
        out = super().numbers()
        out[:] = 0, self.below
        return out
