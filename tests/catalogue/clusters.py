"""Blocks spread over clusters (num_ctas): what is cut along which axis, what is shared, and what cannot be cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from catalogue import cluster_kernels as row_kernels
from catalogue import hopper
from catalogue import hopper_kernels as kernels
from catalogue.case import Case
from catalogue.hopper import BF16, E4M3, F16, F32, TAGS, product_case
from softmax import softmax

TALL, WIDE = (128, 64, 32), (64, 128, 32)
SHAPE = (200, 136, 104)


def product(name: str, ctas: int = 2, kernel: Any = kernels.product, **how: Any) -> Case:
    """A product by clusters of `ctas` blocks."""
    return product_case(f"{name}-in-{ctas}", kernel.replace_hints(num_ctas=ctas), **{"shape": SHAPE, **how})


def products() -> Iterator[Case]:
    for memory in ("kn", "nk", "km-kn"):
        yield product(f"rows-{memory}", tile=TALL, memory=memory)
        yield product(f"columns-{memory}", tile=WIDE, memory=memory)
    yield product("rows", 4, shape=(264, 72, 104), tile=(256, 32, 32))
    yield product("columns", 4, shape=(72, 264, 104), tile=(64, 256, 32))
    yield product("columns", 8, shape=(72, 136, 104), tile=(64, 128, 32))
    yield product("rows", 16, shape=(72, 136, 104), tile=(64, 128, 32))
    yield product("8-warps", kernel=kernels.product.replace_hints(num_worker_warps=8), shape=(264, 72, 104),
                  tile=(256, 64, 32))
    yield product("int8-nk", dtypes=(np.int8, np.int8), acc=np.int32, shape=(136, 80, 80), tile=TALL, memory="nk")
    yield product("float8_e4m3-kn", dtypes=(E4M3, E4M3), shape=(136, 80, 80), tile=TALL)
    yield product("tf32-nk", kernel=kernels.tf32_product, dtypes=(F32, F32), shape=(136, 88, 44), tile=(128, 64, 16),
                  memory="nk")
    yield product("walked", kernel=kernels.walked, grid=(3,), stored=BF16, shape=(300, 136, 56), tile=TALL)
    # An operand that TMA cannot bring, and two slots for all rounds.
    yield product("odd-columns", shape=(136, 83, 88), tile=TALL)
    yield product("two-slots", kernel=kernels.hinted, dtypes=(F16, F16), shape=(136, 72, 248), tile=TALL,
                  more=(2, 2, True))


def in_two(case: Case) -> Case:
    """A case with the hint."""
    return replace(case, name=f"{case.name}-in-2", kernel=case.kernel.replace_hints(num_ctas=2))


def others() -> Iterator[Case]:
    """The kernels of the other cases: their tiles are cut along their columns where they are not tall enough."""
    known = {case.name.removeprefix("hopper-"): case for case in hopper.cases()}
    for name in ("dequantised", "dequantised-right", "gathered", "gated", "branches", "rounds", "until-large",
                 "running-top", "updated", "squared", "turned", "batched", "sliced"):
        yield in_two(known[name])
    yield in_two(hopper.attention_case("tall-attention", False, (128, 64, 32), 200))
    yield in_two(hopper.attention_case("tall-attention-causal", True, (128, 32, 64), 200))


def rows() -> Iterator[Case]:
    """Reductions along the axis that is cut."""
    rng_rows = (5, 1000)

    def shares(x: np.ndarray) -> np.ndarray:
        e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(F32)

    def case(name: str, kernel: Any, grid: int, make: Any, reference: Any, bound: float, ctas: int) -> Case:
        kernel = kernel.replace_hints(num_ctas=ctas)
        outputs = (2,) if kernel.__name__ == "some_sums" else (1,)
        return Case(f"rows-{name}-in-{ctas}", kernel, (grid,), make, outputs, reference, lambda want: bound, tags=TAGS)

    for ctas in (2, 4, 8):
        yield case("softmax", softmax, 5, lambda rng: (floats(rng, *rng_rows), np.zeros(rng_rows, F32), 1024),
                   lambda x, *_: (shares(x),), 1e-6, ctas)
    yield case("walked", row_kernels.walked_softmax, 2,
               lambda rng: (floats(rng, *rng_rows), np.zeros(rng_rows, F32), 1024), lambda x, *_: (shares(x),), 1e-6, 2)
    yield case("parts", row_kernels.softmax_parts, 2,
               lambda rng: (floats(rng, 8, 512), np.zeros((8, 512), F32), 4, 512),
               lambda x, *_: (shares(x.reshape(2, 2048)).reshape(8, 512),), 1e-6, 4)
    for dtype in (np.int32, np.int64, np.float64, F32, BF16):
        exact = np.issubdtype(dtype, np.integer)

        def numbers(rng: np.random.Generator, dtype: Any = dtype, exact: bool = exact) -> tuple[Any, ...]:
            x = rng.integers(-9, 9, (6, 256)) if exact else 1 + rng.random((6, 256)) / 512
            return x.astype(dtype), np.zeros((6, 4), dtype), 2, 256

        def four(x: Any, *_: Any, dtype: Any = dtype, exact: bool = exact) -> tuple[np.ndarray, ...]:
            wide = x.astype(dtype if exact else np.float64)
            ways = [f(wide, axis=1, **({"dtype": dtype} if exact else {})) for f in (np.sum, np.prod)]
            return (np.stack([*ways, wide.max(1), wide.min(1)], 1),)

        bound = 0.0 if exact else 1e-9 if dtype is np.float64 else 2e-3 if dtype is F32 else 2.0
        yield case(f"four-ways-{np.dtype(dtype).name}", row_kernels.four_ways, 3, numbers, four, bound, 2)

    def skipped(rng: np.random.Generator) -> tuple[Any, ...]:
        return floats(rng, 4, 256), np.array([0, 1, 0, 0], np.int32), np.zeros((4, 256), F32), 256

    def want_skipped(x: Any, skip: Any, *_: Any) -> tuple[np.ndarray, ...]:
        centred = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
        return (np.where(skip[:, None] == 0, centred + np.arange(256), x),)

    yield case("some", row_kernels.some_sums, 4, skipped, want_skipped, 1e-4, 4)


def cases() -> Iterator[Case]:
    yield from products()
    yield from others()
    yield from rows()
