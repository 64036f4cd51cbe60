"""Loops that only run another loop become one with it, and iterations come in the order in which they came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.frontend import ir
from support.interp_cases import full_grid

import tilewright as tw
from tilewright.backend_ptx.ops.async_copy import AsyncGather
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For
from tilewright.tileir.passes import run_pipeline

N = 64
ROWS, COLUMNS = 200, 160


def tile(x, i, j):
    return tw.load(x, (i, j), (N, N), padding_mode=tw.PaddingMode.ZERO)


@tw.tile_kernel
def two(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        for j in range(n):
            acc = acc * 0.5 + tile(x, i, j)
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def three(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        for j in range(-1, 2):
            for k in range(n):
                acc = acc * 0.5 + tile(x, i + j, k)
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def known_steps(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(5, -2, -3):
        for j in range(1, 9, 3):
            acc = acc * 0.5 + tile(x, i, j) * (m + n)
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def gathered(x, out, m: int, n: int):
    acc, place = tw.zeros((N, N), tw.float32), tw.arange(N, dtype=tw.int32)
    for i in range(m):
        for j in range(n):
            acc = acc * 0.5 + tw.gather(x, ((3 - place * i + m)[:, None], (j * N + place)[None, :]))
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def two_carried(x, out, m: int, n: int):
    acc, count = tw.zeros((N, N), tw.float32), 0
    for i in range(m):
        for j in range(n):
            acc, count = acc * 0.5 + tile(x, i, j), count + i * j
    tw.store(out, (0, 0), acc + count)


@tw.tile_kernel
def little_work(x, out, m: int, n: int):
    acc = tw.zeros((8, N), tw.float32)
    for i in range(m):
        for j in range(n):
            acc = acc * 0.5 + tw.load(x, (i, j), (8, N), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def work_between(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        for j in range(n):
            acc = acc * 0.5 + tile(x, i, j)
        acc = acc + i
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def start_kept(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        before = acc
        for j in range(n):
            acc = acc * 0.5 + tile(x, i, j) + before
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def triangle(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        for j in range(i + n):
            acc = acc * 0.5 + tile(x, i, j)
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def stores_between(x, out, m: int, n: int):
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        tw.store(out, (0, 0), acc)
        for j in range(n):
            acc = acc * 0.5 + tile(x, i, j)
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def exponentials(x, out, m: int, n: int):
    """An iteration of the inner loop would compute them, too."""
    acc = tw.zeros((N, N), tw.float32)
    for i in range(m):
        shift = tw.exp(-(tw.arange(N, dtype=tw.int32) * i).astype(tw.float32))
        for j in range(n):
            acc = acc * 0.5 + tile(x, i, j) * shift
    tw.store(out, (0, 0), acc)


@pytest.mark.parametrize(("kernel", "loops"), [
    (two, 1), (three, 1), (known_steps, 1), (gathered, 1), (two_carried, 1), (little_work, 2), (work_between, 2),
    (start_kept, 2), (triangle, 2), (stores_between, 2), (exponentials, 2),
], ids=lambda p: getattr(p, "__name__", ""))
def test_what_is_joined(kernel: Any, loops: int) -> None:
    x = np.random.default_rng(3).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    f = ir(kernel, x, np.zeros((N, N), np.float32), 0, 0)
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="join_loops")
    assert sum(isinstance(op, For) for op in f.walk()) == loops
    run = compile_function(f)
    for m, n in ((3, 2), (1, 3), (0, 2), (2, 0), (-1, -1)):
        wanted, got = np.zeros((2, N, N), np.float32)
        kernel[(1,)](x, wanted, m, n)
        run.run(full_grid((1,)), [x, got, m, n])
        assert (got == wanted).all()


@tw.tile_kernel
def convolved(x, w, out, m: int, n: int):
    place, acc = tw.arange(N, dtype=tw.int32), tw.zeros((N, N), tw.float32)
    row = place % out.shape[0]
    for i in range(m):
        for j in range(n):
            t = tw.gather(x, ((row + i - 1)[:, None], (j * N + place)[None, :]))
            acc = tw.mma(t, tw.load(w, (j, i), (N, N), padding_mode=tw.PaddingMode.ZERO), acc)
    tw.scatter(out, (row[:, None], place[None, :]), acc)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_rings_go_on(target: str) -> None:
    """Rows of a gather are known for iterations to come: conversions of what they are made of stay above the loop."""
    made: list[Function] = []
    specs = [tw.spec(text) for text in (f"f16[{ROWS},{COLUMNS}]", "f16[192,192]", "f32[?,64]", "i32", "i32")]
    convolved.lower(*specs, target=target).machine_ir(lambda name, f: made.append(f))
    [loop] = [op for op in made[-1].walk() if isinstance(op, For)][:1]
    assert any(isinstance(op, AsyncGather) for op in loop.loop.ops)
    rng = np.random.default_rng(4)
    x, w = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((ROWS, COLUMNS), (192, 192)))
    wanted, got = np.zeros((2, N, N), np.float32)
    convolved[(1,)](x, w, wanted, 2, 3)
    convolved.simulate((1,), x, w, got, 2, 3, target=target)
    assert (got == wanted).all()
