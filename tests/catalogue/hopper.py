"""Products of warpgroups (wgmma), tiles that a producer brings by TMA, roles: small and ragged, one case per way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from catalogue import hopper_kernels as kernels
from catalogue.case import Bound, Case
from catalogue.matmul import operand, rounded, turned, within

import tilewright as tw

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
F16, F32 = np.float16, np.float32
# Simulated for sm_90a; BLAS sums in an order that depends on the shape of what it is given.
TAGS = frozenset({"hopper", "unordered"})
SHAPE, TILE = (72, 88, 88), (64, 64, 32)
Make = Callable[[np.random.Generator], tuple[Any, ...]]


def blocks(shape: Sequence[int], tile: Sequence[int]) -> tuple[int, int]:
    return tw.cdiv(shape[0], tile[0]), tw.cdiv(shape[1], tile[1])


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(rounded(a, False) @ rounded(b, False))


def left_right(
    rng: np.random.Generator, shape: Sequence[int], dtypes: tuple[Any, Any], memory: str = "kn",
) -> tuple[np.ndarray, np.ndarray]:
    """a (m, k) and b (k, n); `memory`: the axes of b as they lie in memory, behind "km" those of a."""
    m, n, k = shape
    a, b = operand(rng, (m, k), dtypes[0]), operand(rng, (k, n), dtypes[1])
    if "km" in memory:
        a = np.ascontiguousarray(a.T).T
    return a, np.ascontiguousarray(b.T).T if "nk" in memory else b


def product_case(
    name: str, kernel: Any = kernels.product, dtypes: tuple[Any, Any] = (BF16, BF16), acc: Any = F32,
    shape: tuple[int, int, int] = SHAPE, tile: tuple[int, int, int] = TILE, memory: str = "kn",
    grid: tuple[int, ...] | None = None, more: tuple[Any, ...] = (), factor: float = 1.0, stored: Any = None,
) -> Case:
    """c = factor * a @ b by a kernel (a, b, c, tm, tn, tk, *more)."""
    tf32 = "tf32" in name

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return *left_right(rng, shape, dtypes, memory), np.zeros(shape[:2], stored or acc), *tile, *more

    def reference(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        want = factor * (rounded(a, tf32) @ rounded(b, tf32))
        return (want.astype(np.int32) if acc is np.int32 else want,)

    bound: Bound | None = None
    if acc is not np.int32:
        left, right = (np.abs(rounded(x, tf32)) for x in make_once(name, make)[:2])
        bound = within(factor * (left @ right), shape[2] + 1, stored or acc)
        if dtypes[0] in (E4M3, E5M2) and acc is F32:
            bound = coarse(factor * (left @ right))
    return Case(f"hopper-{name}", kernel, grid or blocks(shape, tile), make, (2,), reference, bound, tags=TAGS)


def coarse(scale: np.ndarray) -> Bound:
    """Tensor cores of sm_90a add products of 8-bit floats with 13 bits behind the point (arXiv 2412.19437, 3.3.2)."""
    return lambda want: 2.0**-12 * scale


def make_once(name: str, make: Make) -> tuple[Any, ...]:
    """The arguments of every run: those of seed 0."""
    return make(np.random.default_rng([0, *f"hopper-{name}".encode()]))


def made_case(
    name: str, kernel: Any, grid: tuple[int, ...], make: Make, outputs: tuple[int, ...], reference: Any, bound: float,
) -> Case:
    """A case whose results differ by at most `bound`."""
    return Case(f"hopper-{name}", kernel, grid, make, outputs, reference, lambda want: bound, tags=TAGS)


# ---- operands ---------------------------------------------------------------------------------------------------


def formats() -> Iterator[Case]:
    """Every kind of wgmma, operands as they lie in memory and turned."""
    yield product_case("float16-float16", dtypes=(F16, F16), acc=F16)
    yield product_case("uint8-int8", dtypes=(np.uint8, np.int8), acc=np.int32, shape=(72, 72, 112), memory="nk")
    for memory in ("kn", "nk", "km-kn", "km-nk"):
        yield product_case(f"bfloat16-{memory}", memory=memory)
    for memory in ("kn", "nk"):
        shape = (72, 80, 80)
        yield product_case(f"int8-{memory}", dtypes=(np.int8, np.int8), acc=np.int32, shape=shape, memory=memory)
        yield product_case(f"float8_e4m3-{memory}", dtypes=(E4M3, E4M3), shape=shape, memory=memory)
        yield product_case(f"tf32-{memory}", kernels.tf32_product, (F32, F32), shape=(72, 88, 44), tile=(64, 64, 16),
                           memory=memory)
    yield product_case("float8_e5m2-nk", dtypes=(E5M2, E5M2), shape=(72, 72, 144), tile=(64, 64, 64), memory="nk")
    yield product_case("float8_e4m3-float16", dtypes=(E4M3, E4M3), acc=F16, shape=(72, 72, 80), memory="nk")
    yield product_case("tf32-computed", kernels.doubled_tf32, (F32, F32), shape=(72, 88, 76), tile=(64, 64, 16),
                       factor=4.0)


def tiles() -> Iterator[Case]:
    """Accumulators of one and more instructions, of one and more warpgroups; rows of all swizzles."""
    for tile, shape in (((128, 64, 64), (136, 72, 136)), ((64, 128, 64), (72, 136, 136)), ((64, 8, 16), (72, 24, 40)),
                        ((64, 32, 16), (72, 40, 56)), ((128, 256, 16), (136, 264, 40))):
        yield product_case("tile-" + "x".join(map(str, tile)), shape=shape, tile=tile)
    eight = kernels.product.replace_hints(num_worker_warps=8)
    yield product_case("8-warps", eight, shape=(136, 72, 88), tile=(128, 64, 32))
    yield product_case("8-warps-64-rows", eight, shape=(72, 136, 88), tile=(64, 128, 32))
    yield product_case("occupancy", kernels.product.replace_hints(occupancy=2))
    yield product_case("walked", kernels.walked, grid=(3,), stored=BF16, shape=(200, 136, 56))


def stored_cases() -> Iterator[Case]:
    """Results that TMA stores: in whole lines, at ragged edges, while the next tile is computed, turned, again."""
    wide = (64, 128, 32)
    for dtype in (BF16, F16, F32):
        name = f"stored-{np.dtype(dtype).name}"
        yield product_case(name, kernels.walked, grid=(6,), stored=dtype, shape=(72, 264, 40), tile=wide)
    yield product_case("stored-edges", kernels.walked, grid=(4,), stored=BF16, shape=(101, 216, 40), tile=wide)
    yield product_case("stored-8-warps", kernels.walked, grid=(2,), stored=BF16, shape=(136, 264, 40),
                       tile=(128, 256, 16))
    yield product_case("stored-walked", kernels.walked, grid=(2,), stored=BF16, shape=(328, 136, 56), tile=wide)
    yield product_case("stored-each-round", kernels.stored_each_round, stored=BF16, shape=(72, 136, 88), tile=wide)
    m, n, _k = shape = (200, 136, 56)

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return *left_right(rng, shape, (F16, F16)), np.zeros((m, n), F16), np.zeros((n, m), F16), *wide

    def reference(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return exact(a, b), exact(a, b).T

    yield made_case("stored-turned", kernels.walked_turned, (3,), make, (2, 3), reference, 2e-2)


def turned_case() -> Case:
    m, n, k = SHAPE

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (k, m), F16), operand(rng, (n, k), F16), np.zeros((m, n), F32), *TILE

    def reference(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a.T, b.T),)

    return made_case("turned", turned, blocks(SHAPE, TILE), make, (2,), reference, 1e-3)


def batched_case() -> Case:
    m, n, k = SHAPE

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (2, m, k), F16), operand(rng, (2, k, n), F16), np.zeros((2, m, n), F32), *TILE

    def reference(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, b),)

    return made_case("batched", kernels.batched, (*blocks(SHAPE, TILE), 2), make, (2,), reference, 1e-3)


# ---- where operands come from --------------------------------------------------------------------------------------


def computed_cases() -> Iterator[Case]:
    m, n, k = shape = (72, 80, 208)  # seven rounds: more than a ring has slots

    def left(rng: np.random.Generator, tile: tuple[int, int, int] = TILE) -> tuple[Any, ...]:
        scales = rng.random(m, F32) / 64
        return operand(rng, (m, k), np.int8), scales, operand(rng, (k, n), BF16), np.zeros((m, n), F32), *tile

    def right(rng: np.random.Generator) -> tuple[Any, ...]:
        scales = rng.random(n, F32) / 64
        return operand(rng, (m, k), BF16), operand(rng, (k, n), np.int8), scales, np.zeros((m, n), F32), *TILE

    def rows(rng: np.random.Generator) -> tuple[Any, ...]:
        order = rng.integers(0, 99, k).astype(np.int32)
        return operand(rng, (m, k), BF16), operand(rng, (99, n), BF16), order, np.zeros((m, n), F32), *TILE

    def want_left(a: Any, s: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact((a.astype(F32) * s[:, None]).astype(BF16), b),)

    def want_right(a: Any, b: Any, s: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, (b.astype(F32) * s).astype(BF16)),)

    def parts(rng: np.random.Generator) -> tuple[Any, ...]:
        scales = rng.random((tw.cdiv(k, TILE[2]), n), F32)
        return *left_right(rng, shape, (BF16, BF16)), scales, np.zeros((m, n), F32), *TILE

    def want_parts(a: Any, b: Any, s: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        starts = range(0, k, TILE[2])
        return (sum(exact(a[:, o:o + TILE[2]], b[o:o + TILE[2]]) * s[o // TILE[2]] for o in starts),)

    def want_rows(a: Any, table: Any, order: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, table[order]),)

    grid = blocks(shape, TILE)
    yield made_case("dequantised", kernels.dequantised, grid, left, (3,), want_left, 2e-3)
    # Two warpgroups, which take turns.
    eight, tall = kernels.dequantised.replace_hints(num_worker_warps=8), (128, 64, 32)
    yield made_case("dequantised-8-warps", eight, blocks(shape, tall), lambda rng: left(rng, tall), (3,), want_left,
                    2e-3)
    yield made_case("dequantised-right", kernels.dequantised_right, grid, right, (3,), want_right, 2e-3)
    yield made_case("scaled-parts", kernels.scaled_parts, grid, parts, (3,), want_parts, 2e-3)
    yield made_case("gathered", kernels.gathered, grid, rows, (3,), want_rows, 2e-3)


def linked_cases() -> Iterator[Case]:
    """Several products in a kernel."""
    m, n, k = SHAPE

    def two(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (m, k), F16), operand(rng, (k, n), F16), operand(rng, (k, n), F16), \
            np.zeros((m, n), F32), *TILE

    def want_two(a: Any, b: Any, g: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, b) * np.maximum(exact(a, g), 0),)

    def chain(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (m, 88), F16), operand(rng, (88, 152), F16), operand(rng, (152, 32), F16), \
            np.zeros((m, 32), F32), 64, 64, 32

    def want_chain(a: Any, b: Any, d: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(np.maximum(exact(a, b), 0), d.astype(np.float64)),)

    yield made_case("gated", kernels.gated, blocks(SHAPE, TILE), two, (3,), want_two, 5e-2)
    yield made_case("chained", kernels.chained, (2,), chain, (3,), want_chain, 152 * 40 * 2.0**-11)


def attention_case(
    name: str, causal: bool, tile: tuple[int, int, int], tokens: int, warps: int | None = None, dtype: Any = F16,
) -> Case:
    tm, _tn, d = tile
    scale = 1 / math.sqrt(d)

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        q, k, v = (operand(rng, (tokens, d), dtype) for _ in range(3))
        return q, k, v, np.zeros((tokens, d), F16), scale, *tile, causal

    def reference(q: Any, k: Any, v: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        score = exact(q, k.T) * scale
        if causal:
            score = np.where(np.tri(tokens, dtype=bool), score, -np.inf)
        weight = np.exp(score - score.max(1, keepdims=True))
        return (weight @ v.astype(np.float64) / weight.sum(1, keepdims=True),)

    kernel = kernels.attention if warps is None else kernels.attention.replace_hints(num_worker_warps=warps)
    return made_case(name, kernel, (tw.cdiv(tokens, tm),), make, (3,), reference, 2.0**-8 if dtype is F16 else 2.0**-4)


def squared_case() -> Case:
    m, k = 72, 88

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (m, k), F16), np.zeros((m, 2), F32), np.zeros((m, m), F32), 64, 32

    def reference(a: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return np.repeat(a.astype(np.float64).sum(1, keepdims=True), 2, 1), exact(a, a.T)

    return made_case("squared", kernels.squared, (2, 2), make, (1, 2), reference, 1e-3)


def constants_case() -> Case:
    n = 72

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (n, n), F16), np.zeros((n, n), F32), np.zeros((n, n), F32), *TILE

    def reference(a: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        rows, columns = a.astype(np.float64).sum(1, keepdims=True), a.astype(np.float64).sum(0, keepdims=True)
        return np.repeat(rows, n, 1), np.repeat(columns, n, 0)

    return made_case("times-constants", kernels.times_constants, blocks((n, n, n), TILE), make, (1, 2), reference, 1e-3)


# ---- control flow, hints, what TMA cannot bring ----------------------------------------------------------------------


def control_cases() -> Iterator[Case]:
    m, n, k = SHAPE

    def with_numbers(numbers: Sequence[int], start: bool) -> Make:
        def make(rng: np.random.Generator) -> tuple[Any, ...]:
            c = operand(rng, (m, n), F32) if start else np.zeros((m, n), F32)
            return *left_right(rng, SHAPE, (F16, F16)), np.array(numbers, np.int32), c, *TILE
        return make

    def not_skipped(a: Any, b: Any, skip: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, b) * (np.repeat(skip, 64)[:m, None] == 0),)

    def parts(a: Any, b: Any, rounds: Any, c: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        some = np.where(np.arange(k) < 32 * np.repeat(rounds, 64)[:m, None], a, 0).astype(F16)
        return (c + exact(some, b),)

    def limited(rng: np.random.Generator) -> tuple[Any, ...]:
        return *left_right(rng, SHAPE, (F16, F16)), 17.0, np.zeros((m, n), F32), *TILE

    def want_limited(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        out = np.zeros((m, n))
        for i in range(0, m, 64):
            for j in range(0, n, 64):
                here = out[i : i + 64, j : j + 64]
                for at in range(0, k, 32):
                    if here.max() < 17:
                        here += exact(a[i : i + 64, at : at + 32], b[at : at + 32, j : j + 64])
        return (out,)

    def top(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        sums = [exact(a[:, :at], b[:at]) for at in range(32, k + 32, 32)]
        return (np.maximum(np.max(sums, axis=0), 0),)

    def doubled(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return 2 * a.astype(np.float64), exact(a, b)

    def plain(columns: int) -> Make:
        def make(rng: np.random.Generator) -> tuple[Any, ...]:
            return *left_right(rng, (m, columns, k), (F16, F16)), np.zeros((m, columns), F32), *TILE
        return make

    grid = blocks(SHAPE, TILE)
    yield made_case("branches", kernels.in_branches, grid, with_numbers((1, 0), False), (3,), not_skipped, 1e-3)
    yield made_case("rounds", kernels.some_rounds, grid, with_numbers((0, 2), True), (3,), parts, 1e-3)
    yield made_case("until-large", kernels.until_large, grid, limited, (3,), want_limited, 1e-3)
    yield made_case("running-top", kernels.running_top, grid, plain(n), (2,), top, 1e-3)
    yield made_case("updated", kernels.updated, (2,), plain(64), (0, 2), doubled, 1e-3)


def other_loads() -> Iterator[Case]:
    m, n, _k = SHAPE
    for left, right in ((3, 8), (1, 4)):
        yield product_case(f"latency-{left}-{right}", kernels.hinted, more=(left, right, True))
    # Two slots for eight rounds: parities change often.
    yield product_case("latency-2-2", kernels.hinted, shape=(72, 72, 248), more=(2, 2, True))
    yield product_case("no-tma", kernels.hinted, more=(4, 4, False))
    yield product_case("padded-with-nan", kernels.padded_with_nan, shape=(72, 88, 96))
    yield product_case("odd-strides", shape=(67, 83, 85))
    yield product_case("odd-columns", shape=(72, 83, 88))

    def parts(rng: np.random.Generator) -> tuple[Any, ...]:
        return *left_right(rng, (m, n, 104), (F16, F16)), np.zeros((m, n), F32), 8, 96, *TILE

    def want_parts(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a[:, 8:96], b[8:96]),)

    yield made_case("sliced", kernels.sliced, blocks(SHAPE, TILE), parts, (2,), want_parts, 1e-3)


def cases() -> Iterator[Case]:
    yield from formats()
    yield from tiles()
    yield from stored_cases()
    yield turned_case()
    yield batched_case()
    yield from computed_cases()
    yield from linked_cases()
    yield attention_case("attention", False, (64, 64, 32), 88)
    yield attention_case("attention-causal", True, (64, 32, 64), 136)
    yield attention_case("attention-8-warps", True, (128, 64, 32), 136)
    yield attention_case("attention-8-bits", True, (128, 64, 32), 136, 8, E4M3)
    yield squared_case()
    yield constants_case()
    yield from control_cases()
    yield from other_loads()
