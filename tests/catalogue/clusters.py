"""Blocks spread over clusters (num_ctas): what is cut along which axis, what is shared, and what cannot be cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from catalogue import hopper
from catalogue import hopper_kernels as kernels
from catalogue.case import Case
from catalogue.hopper import BF16, E4M3, F16, F32, product_case

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


def cases() -> Iterator[Case]:
    yield from products()
    yield from others()
