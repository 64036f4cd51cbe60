"""Tiles that all CTAs load: how often L2 is asked for them."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw
from tilewright.estimating import estimate

SMS, SECTOR = 132, 32


@tw.tile_kernel
def weighted(x, weights, out, count: tw.Constant[int], n: tw.Constant[int]):
    i = tw.bid(0)
    row = tw.load(x, (i, 0), (1, n)).astype(tw.float32)
    for k in tw.static_iter(range(count)):
        row = row * tw.load(weights, (k, 0), (1, n))
    tw.store(out, (i, 0), row.astype(out.dtype))


def asked_for_weights(count: int, n: int, rows: int) -> int:
    specs: list[Any] = [tw.spec(text) for text in (f"bf16[{rows},{n}]", f"f32[{count},{n}]", f"bf16[{rows},{n}]")]
    found = estimate(weighted, (rows,), *specs, count, n, device="h100").machine
    assert found is not None
    return found.sectors["weights"]["read"].fetched


@pytest.mark.parametrize("count", [1, 4, 16])
def test_l1_keeps_one_copy_for_all_ctas_of_an_sm(count: int) -> None:
    """However many CTAs are resident: only their own rows come beside it."""
    assert asked_for_weights(count, 2048, 1 << 16) == SMS * count * 2048 * 4 // SECTOR


def test_what_does_not_fit_is_asked_for_in_each_wave() -> None:
    """256 KiB of weights."""
    assert asked_for_weights(2, 1 << 15, 1 << 12) > 8 * SMS * (1 << 15) * 4 // SECTOR
