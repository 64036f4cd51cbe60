"""Constants of the builder stay in the range of their type, so that what folds from them stays short."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.backend_ptx.llvm.builder import Builder
from tilewright.backend_ptx.simulator import simulate


def test_folded_integers_wrap() -> None:
    b = Builder()
    three = b.const("i32", 3)
    square = three
    for _ in range(31):
        square = b.mul(square, square)
    assert square.const == pow(3, 2**31, 2**32) == int(square.text)
    assert b.const("i8", 200).const == -56 and b.cast("sext", b.const("i8", 200), "i32").const == -56
    assert b.cast("zext", b.const("i8", 200), "i32").const == 200
    assert b.cast("trunc", b.const("i32", 300), "i8").const == 44
    assert b.const("i1", True).const == 1 and b.const("i1", 3).text == "true"


@tw.tile_kernel
def powers(x, tiles, scalars):
    t = tw.load(x, tw.bid(0), 16)
    tw.store(tiles, tw.bid(0), 3 ** t)
    tw.store(scalars, tw.bid(0), 7 ** tw.load(x, tw.bid(0) * 16 + 5, ()) + (-3) ** tw.bid(0))


def test_powers_of_a_constant_base() -> None:
    """The unrolled squares of a constant base were folded without a limit, which never ended."""
    x = np.arange(32, dtype=np.int32) * 2
    want = np.array([pow(3, int(e), 2**32) for e in x], np.uint32).view(np.int32)
    tiles, scalars = np.zeros(32, np.int32), np.zeros(2, np.int32)
    simulate(powers, (2,), (x, tiles, scalars), "sm_80")
    assert (tiles == want).all()
    again, same = np.zeros(32, np.int32), np.zeros(2, np.int32)
    powers[(2,)](x, again, same)
    assert (again == want).all() and (same == scalars).all()
