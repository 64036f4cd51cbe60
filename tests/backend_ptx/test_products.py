"""Matrix products where operands and sums come from anywhere: random sizes, dtypes, targets and warps, simulated.

The catalogue has the usual products; here an operand is computed, gathered, used twice or turned, the sum is carried
through branches and while loops, and one product feeds another. NumPy in float64 is the reference. Large tiles go
through ptxas, which must not spill.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.thorough import THOROUGH

import tilewright as tw
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.targets import TARGETS as ALL_TARGETS

ZERO = tw.PaddingMode.ZERO
DTYPES = (np.float16, ml_dtypes.bfloat16, np.float32)
# sm_86 and sm_100a have the products of sm_80 and sm_120a.
SIMULATED = tuple(name for name in ALL_TARGETS if name not in ("sm_86", "sm_100a"))
Array = np.ndarray[Any, Any]


@tw.tile_kernel
def both_sides(a, c, t: tw.Constant[int]):
    x = tw.load(a, (0, 0), (t, t), padding_mode=ZERO)
    acc = tw.mma(x, x, tw.zeros((t, t), tw.float32))
    tw.store(c, (0, 0), tw.mma(x, tw.permute(x, (1, 0)), acc))


@tw.tile_kernel
def computed(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (0, k), (tm, tk), padding_mode=ZERO).astype(tw.float32)
        left = (x * 2.0 + tw.sum(x, axis=1, keepdims=True)).astype(b.dtype)
        if k % 2 == 0:
            acc = tw.mma(left, tw.load(b, (k, 0), (tk, tn), padding_mode=ZERO), acc)
        else:
            acc = acc * 0.5
    tw.store(c, (0, 0), acc)


@tw.tile_kernel
def attention(q, k, v, out, tm: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    queries = tw.load(q, (tw.bid(0), 0), (tm, d), padding_mode=ZERO)
    largest, total = tw.full((tm, 1), -1e30, tw.float32), tw.zeros((tm, 1), tw.float32)
    acc = tw.zeros((tm, d), tw.float32)
    for j in range(tw.num_tiles(k, 0, (tn, d))):
        keys = tw.permute(tw.load(k, (j, 0), (tn, d), padding_mode=ZERO), (1, 0))
        scores = tw.mma(queries, keys, tw.zeros((tm, tn), tw.float32))
        now = tw.maximum(largest, tw.max(scores, axis=1, keepdims=True))
        weights, shrink = tw.exp(scores - now), tw.exp(largest - now)
        total = total * shrink + tw.sum(weights, axis=1, keepdims=True)
        values = tw.load(v, (j, 0), (tn, d), padding_mode=ZERO)
        acc = tw.mma(weights.astype(q.dtype), values, acc * shrink)
        largest = now
    tw.store(out, (tw.bid(0), 0), acc / total)


@tw.tile_kernel
def while_loop(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    acc = tw.zeros((tm, tn), tw.float32)
    k = 0
    while k < tw.num_tiles(a, 1, (tm, tk)):
        right = tw.load(b, (k, 0), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(tw.load(a, (0, k), (tm, tk), padding_mode=ZERO), right, acc)
        k += 1
    tw.store(c, (0, 0), acc)


@tw.tile_kernel
def two_sums(a, b, b2, c, c2, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    one, other = tw.zeros((tm, tn), tw.float32), tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        left = tw.load(a, (0, k), (tm, tk), padding_mode=ZERO)
        one = tw.mma(left, tw.load(b, (k, 0), (tk, tn), padding_mode=ZERO), one)
        other = tw.mma(left, tw.load(b2, (k, 0), (tk, tn), padding_mode=ZERO), other)
    tw.store(c, (0, 0), one)
    tw.store(c2, (0, 0), one * other)


@tw.tile_kernel
def members(a, b, c, tb: tw.Constant[int], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    acc = tw.zeros((tb, tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 2, (tb, tm, tk))):
        left = tw.load(a, (0, 0, k), (tb, tm, tk), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (0, k, 0), (tb, tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (0, 0, 0), acc)


@tw.tile_kernel
def gathered(a, rows, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    places = tw.load(rows, (0,), (tm,))
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(b, 0, (tk, tn))):
        left = tw.gather(a, (places[:, None], (k * tk + tw.arange(tk, dtype=tw.int32))[None, :]))
        acc = tw.mma(left, tw.load(b, (k, 0), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (0, 0), acc)


class Draw:
    """Random choices of one seed. Tiles of any power of two, small ones and ragged edges among them."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.dtype = self.pick.choice(DTYPES)
        self.target = self.pick.choice(SIMULATED)
        self.warps = self.pick.choice((None, None, 4, 8))
        self.sizes = (self.power(7), self.power(7), self.power(6))
        # A last stretch of k that the tile does not fill.
        self.k = 3 * self.sizes[2] - self.pick.randrange(self.sizes[2])
        # eps of the operands (rounded once more where the kernel rounds), against the largest expected value
        self.near = 1e-5 if self.dtype is np.float32 else 2e-2

    def power(self, bits: int) -> int:
        return 1 << self.pick.randint(0, bits)

    def numbers(self, *shape: int) -> Array:
        return (self.rng.standard_normal(shape) * 0.5).astype(self.dtype)

    def run(self, kernel: Any, grid: int, args: tuple[Any, ...], want: dict[int, Array]) -> None:
        if self.warps is not None:
            kernel = kernel.replace_hints(num_worker_warps=self.warps)
        how: Any = {"schedule": "random", "seed": self.seed} if self.seed % 2 else {}
        simulate(kernel, grid, args, self.target, **how)
        for position, expected in want.items():
            error = np.abs(args[position].astype(np.float64) - expected).max()
            assert error <= self.near * max(1.0, np.abs(expected).max())


def wide(x: Array) -> Array:
    return x.astype(np.float64)


def check_both_sides(draw: Draw) -> None:
    t = draw.power(6)
    x = draw.numbers(t - t // 8, t - t // 8)
    c = np.zeros(x.shape, np.float32)
    draw.run(both_sides, 1, (x, c, t), {1: wide(x) @ wide(x) + wide(x) @ wide(x).T})


def check_computed(draw: Draw) -> None:
    m, n, tk = draw.sizes
    a, b, c = draw.numbers(m, draw.k), draw.numbers(draw.k, n), np.zeros((m, n), np.float32)
    left, right = np.zeros((m, 3 * tk)), np.zeros((3 * tk, n))
    left[:, : draw.k], right[: draw.k] = a, b
    want = np.zeros((m, n))
    for k in range(3):
        x = left[:, k * tk : (k + 1) * tk]
        new = (2 * x + x.sum(1, keepdims=True)) @ right[k * tk : (k + 1) * tk]
        want = want * 0.5 if k % 2 else want + new
    draw.run(computed, 1, (a, b, c, *draw.sizes), {2: want})


def check_attention(draw: Draw) -> None:
    m, n, d = draw.power(6), draw.power(6), draw.power(6)
    q, k, v = draw.numbers(2 * m - 1, d), draw.numbers(3 * n, d), draw.numbers(3 * n, d)
    scores = wide(q) @ wide(k).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    want = weights / weights.sum(1, keepdims=True) @ wide(v)
    draw.run(attention, 2, (q, k, v, np.zeros(q.shape, np.float32), m, n, d), {3: want})


def check_while_loop(draw: Draw) -> None:
    m, n, _ = draw.sizes
    a, b = draw.numbers(m, draw.k), draw.numbers(draw.k, n)
    draw.run(while_loop, 1, (a, b, np.zeros((m, n), np.float32), *draw.sizes), {2: wide(a) @ wide(b)})


def check_two_sums(draw: Draw) -> None:
    m, n, _ = draw.sizes
    a, b, b2 = draw.numbers(m, draw.k), draw.numbers(draw.k, n), draw.numbers(draw.k, n)
    one, other = wide(a) @ wide(b), wide(a) @ wide(b2)
    outputs = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)
    draw.run(two_sums, 1, (a, b, b2, *outputs, *draw.sizes), {3: one, 4: one * other})


def check_members(draw: Draw) -> None:
    count = draw.power(2)
    m, n, tk = (min(size, 32) for size in draw.sizes)
    a, b = draw.numbers(count, m, 2 * tk), draw.numbers(count, 2 * tk, n)
    draw.run(members, 1, (a, b, np.zeros((count, m, n), np.float32), count, m, n, tk), {2: wide(a) @ wide(b)})


def check_gathered(draw: Draw) -> None:
    m, n, tk = draw.sizes
    a, b = draw.numbers(50, 2 * tk), draw.numbers(2 * tk, n)
    rows = draw.rng.integers(0, 50, m).astype(np.int32)
    draw.run(gathered, 1, (a, rows, b, np.zeros((m, n), np.float32), *draw.sizes), {3: wide(a)[rows] @ wide(b)})


CHECKS = (check_both_sides, check_computed, check_attention, check_while_loop, check_two_sums, check_members,
          check_gathered)


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
@pytest.mark.parametrize("seed", range(6))
def test_products(check: Callable[[Draw], None], seed: int) -> None:
    draw = Draw(100 * CHECKS.index(check) + seed)
    try:
        check(draw)
    except tw.TileValueError as error:
        if "of shared memory" not in str(error):
            raise
        pytest.skip("the tiles are too large for this target")


# The largest usual tiles: (dtype of the operands, of the sums, tile).
LARGE = (
    (ml_dtypes.bfloat16, np.float32, (128, 128, 64)), (ml_dtypes.bfloat16, np.float32, (128, 256, 32)),
    (np.float16, np.float16, (128, 128, 64)), (np.int8, np.int32, (128, 128, 64)),
    (np.float32, np.float32, (128, 128, 16)), (np.float64, np.float64, (64, 64, 16)),
)


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    acc = tw.zeros((tm, tn), c.dtype)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        left = tw.load(a, (tw.bid(0), k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (k, tw.bid(1)), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (tw.bid(0), tw.bid(1)), acc)


# Each on half of the targets, on each target half of them.
PAIRS = [(large, target) for i, large in enumerate(LARGE) for j, target in enumerate(ALL_TARGETS)
         if THOROUGH or (i + j) % 2 == 0]


@pytest.mark.parametrize(
    ("large", "target"), PAIRS, ids=[f"{np.dtype(large[0])}-{np.dtype(large[1])}-{target}" for large, target in PAIRS])
def test_large_tiles_stay_in_registers(large: tuple[Any, Any, tuple[int, int, int]], target: str) -> None:
    dtype, sums, tile = large
    a = np.zeros((1024, 1024), dtype)
    assembled = assemble(product.ptx(a, a.copy(), np.zeros((1024, 1024), sums), *tile, target=target), target)
    assert assembled.spills == 0, f"{assembled.spills} bytes spilled"


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("tile", [(64, 64, 64), (128, 64, 128), (128, 128, 128)])
def test_attention_stays_in_registers(tile: tuple[int, int, int], target: str) -> None:
    """Two accumulators, of the scores and of the output, are alive together."""
    q = np.zeros((1024, tile[2]), np.float16)
    out = np.zeros(q.shape, np.float32)
    assembled = assemble(attention.ptx(q, q.copy(), q.copy(), out, *tile, target=target), target)
    assert assembled.spills == 0, f"{assembled.spills} bytes spilled"
