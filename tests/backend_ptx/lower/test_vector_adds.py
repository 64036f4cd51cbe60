"""Atomic additions whose old values nobody asks for: instructions that return nothing, several elements each."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

BF16 = ml_dtypes.bfloat16
ORDERS = {"relaxed": tw.MemoryOrder.RELAXED, "both": tw.MemoryOrder.ACQ_REL}


@tw.tile_kernel
def add_rows(places, values, out, rows: tw.Constant[int], columns: tw.Constant[int], order: tw.Constant[str]):
    """out[places[i]] += values[i], twice"""
    at = tw.load(places, tw.bid(0), rows)[:, None], tw.arange(columns, dtype=tw.int32)[None, :]
    part = tw.load(values, (tw.bid(0), 0), (rows, columns), padding_mode=tw.PaddingMode.ZERO)
    tw.atomic_add(out, at, part, memory_order=ORDERS[order])


@tw.tile_kernel
def add_products(a, b, out):
    at = tw.arange(64, dtype=tw.int32)[:, None], tw.arange(32, dtype=tw.int32)[None, :]
    k = tw.bid(0)
    x, y = tw.load(a, (0, k), (64, 16)), tw.load(b, (k, 0), (16, 32))
    tw.atomic_add(out, at, tw.mma(x, y, tw.zeros((64, 32), tw.float32)))


@tw.tile_kernel
def old_values(values, out, before):
    i = tw.arange(128, dtype=tw.int32)
    tw.scatter(before, i, tw.atomic_add(out, i, tw.load(values, 0, 128)))


def adds(kernel: Any, args: Any, target: str = "sm_90a") -> set[str]:
    """Operation, scope and type of the atomic instructions."""
    return set(re.findall(r"(?:red|atom)\.[a-z0-9._]+", kernel.lower(*args, target=target).lowered.llvm_text))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("dtype", "width", "name"), [
    (np.float32, 128, "v4.f32"), (np.float32, 124, "v4.f32"), (np.float32, 125, "f32"), (np.float64, 128, "f64"),
    (np.float16, 128, "noftz.v2.f16x2"), (BF16, 120, "noftz.v2.bf16x2"), (BF16, 125, "noftz.bf16"),
    (np.int32, 128, "u32")])
def test_rows(dtype: Any, width: int, name: str, order: str) -> None:
    """Rows that occur twice, and some that lie outside; tiles that end beyond the row."""
    rng = np.random.default_rng(3)
    places = np.array([0, 5, 5, 9, 2, 0, -1, 3], np.int32)
    values = rng.integers(-9, 9, (8, width)).astype(dtype)
    out, want = np.ones((7, width), dtype), np.ones((7, width))
    for place, row in zip(places, values, strict=True):
        if 0 <= place < 7:
            want[place] += row.astype(np.float64)
    args = places, values, out, 4, 128, order
    assert "red.relaxed.gpu.global.add." + name in adds(add_rows, args)
    simulate(add_rows, (2,), args, "sm_90a")
    np.testing.assert_array_equal(out.astype(np.float64), want)


def test_what_mma_leaves_side_by_side_is_added_together() -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-4, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 32)))
    args = a, b, np.ones((60, 32), np.float32)
    assert adds(add_products, args) == {"red.relaxed.gpu.global.add.v2.f32"}
    simulate(add_products, (2,), args, "sm_90a")
    np.testing.assert_array_equal(args[2], 1 + (a.astype(np.float64) @ b.astype(np.float64))[:60])


def test_what_is_returned_needs_the_other_instruction() -> None:
    assert adds(old_values, [np.ones(128, np.float32) for _ in range(3)]) == {"atom.relaxed.gpu.global.add.f32"}


def test_before_hopper_elements_are_added_one_by_one() -> None:
    args = np.zeros(8, np.int32), np.ones((8, 128), np.float32), np.ones((7, 128), np.float32), 4, 128, "relaxed"
    assert adds(add_rows, args, "sm_80") == {"red.relaxed.gpu.global.add.f32"}
