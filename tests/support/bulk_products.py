"""Products whose results leave by TMA, with what is right: programs for the tests of bulk stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.hopper_kernels import stored_each_round, walked

import tilewright as tw
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import TmaStore
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.plan import PLAIN, Hints, Switches

ZERO = tw.PaddingMode.ZERO
BF16, F16, F32, E4M3 = ml_dtypes.bfloat16, np.float16, np.float32, ml_dtypes.float8_e4m3fn
TARGET = get_target("sm_90a")
SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]
Array = np.ndarray[Any, Any]


def tile_of_product(a, b, i, j, m, n, k):
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (i, s), (m, k), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (s, j), (k, n), padding_mode=ZERO), acc)
    return acc


@tw.tile_kernel
def product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(c, (i, j), tile_of_product(a, b, i, j, m, n, k).astype(c.dtype))


@tw.tile_kernel
def turned_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """c[j, i] is the product's element (i, j): a column of accumulators is a row of memory."""
    i, j = tw.bid(0), tw.bid(1)
    tw.store(c, (j, i), tw.transpose(tile_of_product(a, b, i, j, m, n, k).astype(c.dtype)))


@tw.tile_kernel
def batched_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """c[0] and c[1] are one product each."""
    i, j = tw.bid(0), tw.bid(1)
    out = tile_of_product(a, b, i, j, m, n, k).astype(c.dtype)
    tw.store(c, (tw.bid(2), i, j), tw.reshape(out, (1, m, n)))


@tw.tile_kernel
def two_products(a, b, c, d, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Two arrays of one tile shape, in rounds and under a condition."""
    for i in range(tw.bid(0), tw.cdiv(c.shape[0], m), tw.num_blocks(0)):
        acc = tile_of_product(a, b, i, 0, m, n, k)
        tw.store(c, (i, 0), acc.astype(c.dtype))
        if i % 2 == 0:
            tw.store(d, (i, 0), (acc * 2).astype(d.dtype))


@tw.tile_kernel
def added_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tile_of_product(a, b, i, j, m, n, k)
    old = tw.load(c, (i, j), (m, n), padding_mode=ZERO)
    tw.store(c, (i, j), (acc + old).astype(c.dtype))


@tw.tile_kernel
def hinted_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(c, (i, j), tile_of_product(a, b, i, j, m, n, k).astype(c.dtype), allow_tma=False)


@tw.tile_kernel
def mixed_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Two stores to one place, of which threads do the second."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tile_of_product(a, b, i, j, m, n, k)
    tw.store(c, (i, j), (2 * acc).astype(c.dtype))
    tw.store(c, (i, j), acc.astype(c.dtype), allow_tma=False)


@tw.tile_kernel
def announced_product(a, b, c, flags, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Other blocks may read the tile once they have seen the flag."""
    i, j = tw.bid(0), tw.bid(1)
    tw.store(c, (i, j), tile_of_product(a, b, i, j, m, n, k).astype(c.dtype))
    tw.atomic_add(flags, i, 1, memory_order=tw.MemoryOrder.RELEASE)


@tw.tile_kernel
def halved_product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """c is stored in tiles of two widths."""
    i, j = tw.bid(0), tw.bid(1)
    out = tile_of_product(a, b, i, j, m, n, k).astype(c.dtype)
    tw.store(c, (i, j), out)
    tw.store(c, (i, 2 * j), tw.extract(out, (0, 0), (m, n // 2)))


@dataclass(frozen=True)
class Program:
    """A kernel on a [rows, depth] and b [depth, columns], stored as `dtype`; `outputs`: how many arrays."""

    kernel: Any
    grid: tuple[int, ...]
    rows: int = 120
    columns: int = 248
    depth: int = 72
    tile: tuple[int, int, int] = (64, 128, 32)
    dtype: Any = BF16
    outputs: int = 1

    def arrays(self) -> list[Array]:
        rng = np.random.default_rng(3)
        a, b = (np.round(rng.standard_normal(s) * 2) for s in ((self.rows, self.depth), (self.depth, self.columns)))
        return [windowed(a.astype(F16)), windowed(b.astype(F16)), *(self._output(n) for n in range(self.outputs))]

    def _output(self, number: int) -> Array:
        if number and self.kernel is announced_product:
            return np.zeros(8, np.int32)
        shape = (self.columns, self.rows) if self.kernel is turned_product else (self.rows, self.columns)
        return windowed(np.full(shape, 7, self.dtype))

    def wanted(self, arrays: Sequence[Array]) -> list[Array]:
        """What the outputs shall hold."""
        c = arrays[0].astype(F32) @ arrays[1].astype(F32)
        if self.kernel is turned_product:
            c = c.T
        out = [c.astype(self.dtype).astype(F32)]
        if self.kernel is two_products:
            even = np.arange(self.rows)[:, None] // self.tile[0] % 2 == 0
            out.append(np.where(even, (2 * c).astype(self.dtype).astype(F32), 7))
        return out


def windowed(x: Array) -> Array:
    """The same elements in an array whose rows begin at multiples of 16 bytes."""
    per = 16 // x.itemsize
    wide = np.zeros((x.shape[0], -(-x.shape[1] // per) * per), x.dtype)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


def function_of(program: Program, arrays: Sequence[Array], switches: Switches = PLAIN, **hints: Any) -> Function:
    function: Function = program.kernel.lower(*arrays, *program.tile, target=TARGET.name).tile_ir()
    function.hints, function.switches = Hints(**hints), switches
    return function


def passed(program: Program, **how: Any) -> Function:
    """The function after the backend's passes."""
    function = function_of(program, program.arrays(), **how)
    run_passes(function, TARGET)
    return function


def result_of(
    program: Program, function: Function, run: Callable[..., Any] = simulate_lowered, **how: Any
) -> list[Array]:
    arrays = program.arrays()
    given = program.kernel.lower(*arrays, *program.tile).values
    run(emit_function(function, TARGET), program.grid, given, **how)
    return [x.astype(F32) for x in arrays[2 : 2 + program.outputs]]


def stores_of(function: Function) -> list[TmaStore]:
    return [op for op in function.walk() if isinstance(op, TmaStore)]


PROGRAMS = {
    "plain": Program(product, (2, 2)),
    "four pieces": Program(product, (2, 1), tile=(64, 256, 32)),
    "two warpgroups": Program(product, (1, 1), tile=(128, 256, 32)),
    "float32": Program(product, (2, 2), dtype=F32),
    "float16": Program(product, (2, 2), dtype=F16),
    "float8": Program(product, (2, 1), tile=(64, 256, 32), columns=240, dtype=E4M3),
    "odd edges": Program(product, (2, 2), rows=101, columns=203),
    "turned": Program(turned_product, (2, 1), tile=(64, 256, 32)),
    "turned float32": Program(turned_product, (2, 2), dtype=F32),
    "persistent": Program(walked, (2,), rows=250),
    "persistent, four pieces": Program(walked, (2,), rows=250, tile=(64, 256, 32)),
    "persistent, turned edges": Program(walked, (3,), rows=201, columns=131, dtype=F32),
    "repeated": Program(stored_each_round, (2, 2)),
    "two arrays": Program(two_products, (2,), rows=330, columns=120, outputs=2),
}
