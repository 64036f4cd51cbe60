"""What a certificate reads off the code: whose iterations a loop runs, where an access lies, what it writes once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp.certifying.forms import Stretch, places, told_by, writes_once
from tilewright.interp.certifying.slices import own_items
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Scatter, Store

I32 = tw.int32


def b(axis):
    return tw.bid(axis)


def g(axis):
    return tw.num_blocks(axis)


SHARES: list[tuple[Any, Any, set[int]]] = [
    *((lambda a=a: b(a), lambda a=a: g(a), {a}) for a in range(3)),
    *((lambda a=a, c=c: b(a) + b(c) * g(a), lambda a=a, c=c: g(a) * g(c), {a, c})
      for a in range(3) for c in range(3) if a != c),
    (lambda: b(0), lambda: g(1), set()), (lambda: b(0) + 1, lambda: g(0), set()),
    (lambda: b(0), lambda: g(0) + 1, set()), (lambda: b(0), lambda: g(0) * 2, set()),
    (lambda: b(0) * 2, lambda: g(0), set()), (lambda: b(0) + b(1) * g(1), lambda: g(0) * g(1), set()),
    (lambda: b(0) + b(1), lambda: g(0) * g(1), set()), (lambda: b(0), lambda: g(0) * g(1), set()),
    (lambda: b(0) + b(1) * g(0), lambda: g(0), set()), (lambda: b(0) + b(1) * g(0), lambda: g(0) * g(2), set()),
    (lambda: b(0), lambda: g(0) + g(1), set()), (lambda: b(0) - b(1), lambda: g(0), set()),
]


def function_of(kernel: Any, *args: Any) -> Function:
    found: Function = kernel.lower(*args).tile_ir()
    return found


@pytest.mark.parametrize("number", range(len(SHARES)))
def test_whose_iterations_a_loop_runs(number: int) -> None:
    first, step, axes = SHARES[number]

    @tw.tile_kernel
    def run(out, n: int):
        for i in range(first(), n, step()):
            tw.store(out, i, 1)

    [loop] = [op for op in function_of(run, np.zeros(8, np.int32), 5).walk() if isinstance(op, For)]
    assert own_items(loop) == axes


def test_other_loops_share_nothing() -> None:
    @tw.tile_kernel
    def run(out, n: int):
        k = tw.bid(0)
        while k < n:
            tw.store(out, k, 1)
            k = k + tw.num_blocks(0)

    assert {own_items(op) for op in function_of(run, np.zeros(8, np.int32), 5).walk() if op.blocks} == {frozenset()}


WRITES: list[tuple[Any, list[tuple[int, int | None, int] | None], bool]] = [
    (lambda e, f: (e, f), [(0, 0, 4), (0, 1, 8)], True), (lambda e, f: (f, e), [(0, 1, 8), (0, 0, 4)], True),
    (lambda e, f: (e + 3, f), [(3, 0, 4), (0, 1, 8)], True), (lambda e, f: (e, e), [(0, 0, 4), (0, 0, 4)], False),
    (lambda e, f: (f, f), [(0, 1, 8), (0, 1, 8)], False), (lambda e, f: (e * 2, f), [None, (0, 1, 8)], False),
    (lambda e, f: (e + f, f), [None, (0, 1, 8)], False), (lambda e, f: (e, 5), [(0, 0, 4), (5, None, 1)], False),
    (lambda e, f: (e % 3, f), [None, (0, 1, 8)], False),
]


@pytest.mark.parametrize("number", range(len(WRITES)))
def test_where_elements_go(number: int) -> None:
    make, wanted, once = WRITES[number]

    @tw.tile_kernel
    def run(out):
        e = tw.broadcast_to(tw.arange(4, dtype=I32)[:, None], (4, 8))
        f = tw.broadcast_to(tw.arange(8, dtype=I32)[None, :], (4, 8))
        tw.scatter(out, make(e, f), tw.zeros((4, 8), I32))

    [scatter] = [op for op in function_of(run, np.zeros((64, 64), np.int32)).walk() if isinstance(op, Scatter)]
    found = [None if p is None else (p.number, p.axis, p.length) for p in places(scatter)]
    assert found == wanted and writes_once(scatter) == once


def test_axes_of_one_element_need_no_place() -> None:
    @tw.tile_kernel
    def run(out):
        e = tw.arange(4, dtype=I32)[:, None]
        tw.scatter(out, (e, 5), tw.zeros((4, 1), I32))

    [scatter] = [op for op in function_of(run, np.zeros((64, 64), np.int32)).walk() if isinstance(op, Scatter)]
    assert scatter.shape == (4, 1) and writes_once(scatter)


def test_where_tiles_go() -> None:
    @tw.tile_kernel
    def run(out, n: int):
        tw.store(out, (tw.bid(0), 2), tw.zeros((4, 8), I32))
        out.tiled_view((4, 1), traversal_steps=(2, 1)).store((tw.bid(0) + 1, n), tw.zeros((4, 1), I32))
        tw.store(out, (1, tw.bid(0)), tw.zeros((4, 8), I32), order="F")

    stores = [op for op in function_of(run, np.zeros((64, 64), np.int32), 3).walk() if isinstance(op, Store)]
    found: list[list[Stretch | None]] = [places(op) for op in stores]
    parts = [[None if p is None else (sorted(n for _, n in p.terms), p.number, p.axis, p.length, p.tells) for p in one]
             for one in found]
    assert parts == [[([4], 0, 0, 4, True), ([], 16, 1, 8, True)], [([2], 2, 0, 4, False), ([1], 0, None, 1, True)],
                     [([8], 0, 1, 8, True), ([], 4, 0, 4, True)]]
    assert [len(told_by(one)) for one in found] == [1, 1, 1] and all(map(writes_once, stores))
