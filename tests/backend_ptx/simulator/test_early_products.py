"""Products that start early and run on into the next iteration, and defects put into their waits."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from catalogue.hopper_kernels import ZERO

import tilewright as tw
from tilewright.backend_ptx.simulator import SimError, simulate_lowered

SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]


@tw.tile_kernel
def weighted_products(a, b, c, out, m: tw.Constant[int], n: tw.Constant[int], d: tw.Constant[int]):
    """Two products start at once, two follow each other, and run on into the next iteration."""
    rows = tw.load(a, (0, 0), (m, d), padding_mode=ZERO)
    acc = tw.zeros((m, d), dtype=tw.float32)
    other = tw.zeros((m, d), dtype=tw.float32)
    for s in range(tw.cdiv(b.shape[0], n)):
        left = tw.load(b, (s, 0), (n, d), padding_mode=ZERO)
        right = tw.load(c, (s, 0), (n, d), padding_mode=ZERO)
        weights = tw.mma(rows, tw.transpose(left), tw.zeros((m, n), dtype=tw.float32)) * 0.25
        slopes = weights * tw.mma(rows, tw.transpose(right), tw.zeros((m, n), dtype=tw.float32))
        acc = tw.mma(tw.astype(weights, a.dtype), right, acc)
        other = tw.mma(tw.astype(slopes, a.dtype), left, other)
    tw.store(out, (0, 0), acc + other)


@tw.tile_kernel
def masked_rest(a, b, c, out, m: tw.Constant[int], n: tw.Constant[int], d: tw.Constant[int]):
    """The same for the whole tiles, and for the rest in a loop of its own, with a mask."""
    rows = tw.load(a, (0, 0), (m, d), padding_mode=ZERO)
    acc = tw.zeros((m, d), dtype=tw.float32)
    whole = b.shape[0] // n
    for s in range(whole):
        acc = add_products(rows, b, c, acc, s, n, False)
    for s in range(whole, tw.cdiv(b.shape[0], n)):
        acc = add_products(rows, b, c, acc, s, n, True)
    tw.store(out, (0, 0), acc)


def add_products(rows, b, c, acc, s, n, masked):
    left = tw.load(b, (s, 0), (n, rows.shape[1]), padding_mode=ZERO)
    right = tw.load(c, (s, 0), (n, rows.shape[1]), padding_mode=ZERO)
    zero = tw.zeros((rows.shape[0], n), dtype=tw.float32)
    weights = tw.mma(rows, tw.transpose(left), zero) * 0.25
    if masked:
        weights = tw.where((s * n + tw.arange(n, dtype=tw.int32))[None, :] < b.shape[0], weights, 1.0)
    weights = weights * tw.mma(rows, tw.transpose(right), zero)
    return tw.mma(tw.astype(weights, rows.dtype), right, acc)


def arrays() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [*(rng.standard_normal((n, 32)).astype(np.float16) for n in (64, 300, 300)), np.zeros((64, 32), np.float32)]


@cache
def lowered() -> Any:
    return weighted_products.lower(*arrays(), 64, 32, 32, target="sm_90a").lowered


def result_of(code: Any, **how: Any) -> np.ndarray:
    given = arrays()
    values = weighted_products.lower(*given, 64, 32, 32).values
    simulate_lowered(code, (1, 1), values, max_steps=50_000, **how)
    return given[-1]


@pytest.mark.parametrize("how", SCHEDULES)
def test_products_that_start_early(how: dict[str, Any]) -> None:
    a, b, c, _ = (x.astype(np.float32) for x in arrays())
    weights = a @ b.T / 4
    want = weights.astype(np.float16) @ c + (weights * (a @ c.T)).astype(np.float16) @ b
    np.testing.assert_allclose(result_of(lowered(), **how), want, atol=0.2, rtol=5e-3)


def test_waits_leave_the_newest_product() -> None:
    assert re.findall(r"wait_group\.sync\.aligned (\d)", lowered().llvm_text) == ["1", "0", "0"]


def test_the_few_iterations_of_a_rest_keep_the_order_of_the_program() -> None:
    text = masked_rest.lower(*arrays(), 64, 32, 32, target="sm_90a").lowered.llvm_text
    assert re.findall(r"wait_group\.sync\.aligned (\d)", text) == ["1", "0", "0", "0", "0", "0"]


@pytest.mark.parametrize(("which", "pending"), [(0, 2), (0, 3), (0, 4), (1, 1), (1, 3), (2, 1)])
def test_a_wait_that_leaves_more_is_caught(which: int, pending: int) -> None:
    """The first product used in flight, weights and slots of the iteration before overwritten; the second product and
    the result used in flight."""
    text = lowered().llvm_text
    place = list(re.finditer(r"(?<=wait_group\.sync\.aligned )\d", text))[which]
    code = replace(lowered(), llvm_text=text[:place.start()] + str(pending) + text[place.end():])
    for how in SCHEDULES:
        with pytest.raises(SimError):
            result_of(code, **how)
