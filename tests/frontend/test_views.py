"""Slices, tiled views, lists of arrays, advanced indexing, tuples as arguments: what they compute."""

from __future__ import annotations

import numpy as np
from support.frontend import ir

import tilewright as ct


def test_slices_of_arrays() -> None:
    @ct.tile_kernel
    def kernel(a, out, n: int):
        part = a.slice(0, 2, n).slice(axis=-1, start=1, stop=5)
        ct.static_assert(part.ndim == 2)
        t = ct.load(part, (0, 0), (4, 4), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (0, 0), t)
        ct.store(out, (4, 0), part.shape[0] * 10 + part.shape[1])

    a = np.arange(48, dtype=np.int32).reshape(6, 8)
    out = np.zeros((5, 4), np.int32)
    kernel[(1,)](a, out, 5)
    assert (out[:3] == a[2:5, 1:5]).all() and (out[3] == 0).all()
    assert out[4, 0] == 34


def test_tiled_views() -> None:
    @ct.tile_kernel
    def kernel(a, out, counts):
        view = a.tiled_view((4,), padding_mode=ct.PaddingMode.ZERO, traversal_steps=3)
        i = ct.bid(0)
        target = out.tiled_view((1, 4))
        target.store((i, 0), view.load(i))
        counts.tiled_view(()).store(0, view.num_tiles(0))

    a = np.arange(1, 12, dtype=np.float32)
    out, counts = np.zeros((4, 4), np.float32), np.zeros(1, np.int32)
    kernel[(4,)](a, out, counts)
    padded = np.concatenate([a, np.zeros(4, np.float32)])
    assert (out == np.stack([padded[3 * i : 3 * i + 4] for i in range(4)])).all() and counts[0] == 4


def test_lists_of_arrays() -> None:
    @ct.tile_kernel
    def kernel(xs, out):
        total = ct.zeros((4,), ct.float32)
        for i in range(len(xs)):
            x = xs[i]
            total = total + ct.load(x, (0,), (4,), padding_mode=ct.PaddingMode.ZERO) * x.shape[0]
        ct.store(out, (0,), total)

    xs = [np.arange(n, dtype=np.float32) for n in (2, 3, 4)]
    out = np.zeros(4, np.float32)
    kernel[(1,)](xs, out)
    want = np.zeros(4, np.float32)
    for x in xs:
        want[: len(x)] += x * len(x)
    assert (out == want).all()


def test_advanced_indexing() -> None:
    @ct.tile_kernel
    def kernel(a, rows, out):
        at = ct.load(rows, (0,), (4,))
        t = ct.load_advanced_indexing(a, (at, ct.Slice(2, 4)), padding_mode=ct.PaddingMode.ZERO)
        ct.store_advanced_indexing(out, (ct.Slice(0, 4), ct.arange(4, dtype=ct.int32)), t + 1)

    a = np.arange(30, dtype=np.int32).reshape(5, 6)
    out = np.zeros((4, 4), np.int32)
    kernel[(1,)](a, np.array([3, -1, 0, 9], np.int32), out)
    want = np.array([a[3, 2:6], [0] * 4, a[0, 2:6], [0] * 4]) + 1
    assert (out == want).all()


def test_tuple_arguments() -> None:
    @ct.tile_kernel
    def kernel(pair, out):
        (x, factor), n = pair
        ct.store(out, (0,), ct.load(x, (0,), (4,)) * factor + n)

    out = np.zeros(4, np.float32)
    kernel[(1,)]((((x := np.arange(4, dtype=np.float32)), 2.0), 1), out)
    assert (out == x * 2 + 1).all()
    assert [p.hint for p in ir(kernel, ((x, 2.0), 1), out).params] == ["pair.0.0", "pair.0.1", "pair.1", "out"]
