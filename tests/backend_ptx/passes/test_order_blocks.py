"""Which kernels have their blocks numbered from the far end, and that they compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.simulator import simulate

ROW = 64


def total(x: Any, i: Any, first: Any, last: Any) -> Any:
    acc = ct.zeros((ROW,), ct.float32)
    for j in range(first, last):
        acc = acc + ct.load(x, (i, j), (1, ROW)).reshape((ROW,))
    return acc


@ct.tile_kernel
def rising(x, y):
    i = ct.bid(0)
    ct.store(y, (i, 0), total(x, i, 0, i + 1).reshape((1, ROW)))


@ct.tile_kernel
def rising_by_pieces(x, y):
    i = ct.bid(0)
    last = ct.cdiv(min((i + 1) * 3, x.shape[1]), 2)
    ct.store(y, (i, 0), total(x, i, 0, last).reshape((1, ROW)))


@ct.tile_kernel
def falling(x, y):
    i = ct.bid(0)
    ct.store(y, (i, 0), total(x, i, i, ct.num_tiles(x, 1, (1, ROW))).reshape((1, ROW)))


@ct.tile_kernel
def reversed_by_hand(x, y):
    i = ct.num_blocks(0) - 1 - ct.bid(0)
    ct.store(y, (i, 0), total(x, i, 0, i + 1).reshape((1, ROW)))


@ct.tile_kernel
def both(x, y):
    i = ct.bid(0)
    acc = total(x, i, 0, i + 1) + total(x, i, i, 4)
    ct.store(y, (i, 0), acc.reshape((1, ROW)))


@ct.tile_kernel
def window(x, y):
    i = ct.bid(0)
    ct.store(y, (i, 0), total(x, i, i, i + 2).reshape((1, ROW)))


@ct.tile_kernel
def wrapped(x, y):
    i = ct.bid(0)
    ct.store(y, (i, 0), total(x, i, 0, i % 3).reshape((1, ROW)))


@ct.tile_kernel
def persistent(x, y):
    for i in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
        ct.store(y, (i, 0), total(x, i, 0, i + 1).reshape((1, ROW)))


@ct.tile_kernel
def second_axis(x, y):
    i = ct.bid(1)
    ct.store(y, (i, 0), total(x, i, 0, i + 1).reshape((1, ROW)))


@ct.tile_kernel
def rising_in_rows(x, y):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), total(x, i, 0, i + 1).reshape((1, ROW)))


@ct.tile_kernel
def rising_twice(x, y):
    """The loops in a loop say how long a block is."""
    i, acc = ct.bid(0), ct.zeros((ROW,), ct.float32)
    for n in range(x.shape[0]):
        acc = acc + total(x, n, 0, i + 1)
    ct.store(y, (i, 0), acc.reshape((1, ROW)))


@ct.tile_kernel
def counted(x, y):
    i = ct.bid(0)
    acc = total(x, i, 0, i + 1)
    ct.atomic_add(y, (i, ct.arange(ROW, dtype=ct.int32)), acc)


TURNED = {"rising": 0, "rising_by_pieces": 0, "rising_twice": 0, "second_axis": 1}
KEPT = ("falling", "reversed_by_hand", "both", "window", "wrapped", "persistent", "counted")


def order_of(name: str) -> list[str]:
    stages = globals()[name].lower(*[ct.spec("f32[4,256]")] * 2, target="sm_90a")
    return [str(d.value) for d in stages.machine_ir().decisions if d.name == "block_order"]


@pytest.mark.parametrize("name", TURNED)
def test_where_later_blocks_have_more_iterations_the_last_one_is_first(name: str) -> None:
    assert order_of(name) == [f"from the last block of axis {TURNED[name]}"]


def test_the_longest_blocks_of_several_rows_are_first() -> None:
    assert order_of("rising_in_rows") == [
        "from the last block of axis 0", "those of axis 1 that run at once, along axis 0"]
    x, y = np.random.default_rng(0).standard_normal((4, 256)).astype(np.float32), np.zeros((4, 192), np.float32)
    simulate(rising_in_rows, (4, 3), (x, y), "sm_90a")
    for i in range(4):
        want = x[i, : (i + 1) * ROW].reshape(i + 1, ROW).sum(axis=0)
        np.testing.assert_allclose(y[i].reshape(3, ROW), [want] * 3, rtol=1e-5)


@pytest.mark.parametrize("name", KEPT)
def test_other_blocks_keep_their_order(name: str) -> None:
    """Blocks that get shorter, that are as long, of which nothing is known, and that may wait for each other."""
    assert order_of(name) == []


@pytest.mark.parametrize("name", ["rising", "second_axis"])
def test_every_block_runs_once(name: str) -> None:
    x, y = np.random.default_rng(0).standard_normal((4, 256)).astype(np.float32), np.zeros((4, 256), np.float32)
    simulate(globals()[name], (4,) if name == "rising" else (1, 4), (x, y), "sm_90a")
    for i in range(4):
        want = x[i, : (i + 1) * ROW].reshape(i + 1, ROW).sum(axis=0)
        np.testing.assert_allclose(y[i, :ROW], want, rtol=1e-5)
