"""Products of all kinds for comparisons bit for bit: 60 of them, with the operands that show how sums are rounded."""

from __future__ import annotations

import itertools
import zlib
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import tilewright as tw

Array = np.ndarray[Any, Any]
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def loop(a, b, out, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int], narrow: tw.Constant[bool],
         fast: tw.Constant[bool]):
    """A sum over tiles of K; `narrow`: float32 operands become tfloat32."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), out.dtype)
    for step in range(tw.num_tiles(a, 1, (m, k))):
        x = tw.load(a, (i, step), (m, k), padding_mode=ZERO)
        y = tw.load(b, (step, j), (k, n), padding_mode=ZERO)
        if narrow:
            x, y = x.astype(tw.tfloat32), y.astype(tw.tfloat32)
        acc = tw.mma(x, y, acc, use_fast_acc=fast)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def chained(a, b, out, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int], narrow: tw.Constant[bool],
            fast: tw.Constant[bool]):
    """The second product's left operand is the first one's result, and its sum starts with what was there."""
    i, j = tw.bid(0), tw.bid(1)
    x = tw.load(a, (i, 0), (m, k), padding_mode=ZERO)
    y = tw.load(b, (0, j), (k, n), padding_mode=ZERO)
    z = tw.permute(tw.load(b, (0, j), (k, n), padding_mode=ZERO), (1, 0))
    if narrow:
        x, y, z = x.astype(tw.tfloat32), y.astype(tw.tfloat32), z.astype(tw.tfloat32)
    first = tw.mma(x, y, tw.load(out, (i, j), (m, n), padding_mode=ZERO), use_fast_acc=fast)
    second = tw.mma(first.astype(x.dtype), z, tw.zeros((m, k), out.dtype), use_fast_acc=fast)
    again = tw.mma(second.astype(x.dtype), y, first, use_fast_acc=fast)
    tw.store(out, (i, j), again)


class Product(NamedTuple):
    """`sizes`: the tile's m, n and k; `operands` may be "tf32". `flavour`: what the operands hold, and how the kernel
    adds."""

    operands: Any
    acc: Any
    sizes: tuple[int, int, int]
    flavour: str

    def __str__(self) -> str:
        name = self.operands if isinstance(self.operands, str) else np.dtype(self.operands).name
        return f"{name}-{np.dtype(self.acc).name}-{'x'.join(map(str, self.sizes))}-{self.flavour}"

    @property
    def kernel(self) -> Any:
        return chained if self.flavour == "chained" else loop

    def arguments(self) -> list[Any]:
        """Two blocks of rows, three tiles along K of which the last is ragged."""
        rng = np.random.default_rng(zlib.crc32(str(self).encode()))
        m, n, k = self.sizes
        depth = k if self.flavour == "chained" else 2 * k + max(1, k // 4)
        a, b = (self._operand(rng, shape) for shape in ((2 * m, depth), (depth, n)))
        out = (rng.standard_normal((2 * m, n)) * 2).astype(self.acc)
        return [a, b, out, *self.sizes, self.operands == "tf32",
                self.flavour == "fast" and self.operands in (E4M3, E5M2)]

    def _operand(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        dtype = np.dtype(np.float32 if self.operands == "tf32" else self.operands)
        if dtype.kind in "iu":
            return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        spread = {"wide": 6, "special": 4}.get(self.flavour, 1) if dtype.itemsize > 1 else 2
        x = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
        if self.flavour == "special":
            for value in (0.0, -0.0, float(ml_dtypes.finfo(dtype).smallest_subnormal) * 3):
                x[rng.random(shape) < 0.1] = value
            for value in (np.nan, np.inf, -np.inf):
                x[rng.integers(shape[0]), rng.integers(shape[1])] = value
        return x.astype(dtype)


PAIRS: tuple[tuple[Any, Any], ...] = (
    (np.float16, np.float32), (np.float16, np.float16), (BF16, np.float32), ("tf32", np.float32), (E4M3, np.float32),
    (E5M2, np.float32), (E4M3, np.float16), (np.float32, np.float32), (np.float64, np.float64), (np.int8, np.int32),
)
# wgmma three times, of which `fast` 8-bit floats add to what was there; mma.sync on whole instructions, on few rows
# (on the transposes), and on less than one instruction.
TILES = (((64, 64, 64), "wide"), ((128, 32, 32), "special"), ((32, 16, 32), "chained"), ((2, 32, 64), "wide"),
         ((8, 8, 8), "special"), ((64, 16, 128), "fast"))
PRODUCTS = [Product(*pair, *tile) for pair, tile in itertools.product(PAIRS, TILES)]


def bits(x: Array) -> Array:
    return x.reshape(-1).view(np.uint8)
