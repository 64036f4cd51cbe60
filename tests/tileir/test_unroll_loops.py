"""Which short loops become straight code, in which order it gathers, and that no bit of a result changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp import compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.unroll_loops import MOST_ITERATIONS, unroll_loops

ROWS, COLUMNS = 4, 32


def row(x, r, c, d):
    return tw.gather(x, (r, c + d), padding_value=0.5)


def short(x, taps, r, c, acc):
    for k in range(4):
        acc = acc * 0.5 + row(x, r, c, k - 3)
    return acc


def nested(x, taps, r, c, acc):
    for i in range(3):
        for j in range(0, 6, 2):
            acc += tw.load(taps, i, ()) * row(x, r + i, c, j)
    return acc


def carried_twice(x, taps, r, c, acc):
    other = acc
    for k in range(3):
        acc, other = other + row(x, r, c, k), acc * 2.0
    return acc - other


def no_iteration(x, taps, r, c, acc):
    for k in range(1, 1):
        acc += row(x, r, c, k)
    return acc


def many(x, taps, r, c, acc):
    for k in range(MOST_ITERATIONS + 1):
        acc += row(x, r, c, k)
    return acc


def as_the_launch_says(x, taps, r, c, acc):
    for k in range(taps.shape[0]):
        acc += row(x, r, c, k)
    return acc


def far_away(x, taps, r, c, acc):
    """No iteration has elements of another one."""
    for k in range(4):
        acc += row(x, r, c, COLUMNS * k)
    return acc


def between(x, taps, r, c, acc):
    """Even columns, then odd ones."""
    for k in range(4):
        acc += row(x, r, 2 * c, k % 2) + row(x, r, 2 * c, 1 + 4 * 0)
    return acc


def tiles(x, taps, r, c, acc):
    """Loads of tiles are prefetched."""
    for k in range(4):
        acc += row(x, r, c, k) + tw.load(x, (k, 0), (ROWS, COLUMNS))
    return acc


def looked_up(x, taps, r, c, acc):
    for k in range(4):
        acc += tw.gather(x, (r, row(x, r, c, k).astype(tw.int32)))
    return acc


CASES: dict[Callable[..., Any], int] = {
    short: 0, nested: 0, carried_twice: 0, no_iteration: 0, many: 1, as_the_launch_says: 1, far_away: 1, between: 1,
    tiles: 1, looked_up: 0,
}


def made(body: Callable[..., Any]) -> tuple[Function, Function]:
    """The kernel before and after the pass."""

    @tw.tile_kernel
    def kernel(x, taps, out):
        r = (tw.bid(0) * ROWS + tw.arange(ROWS, dtype=tw.int32))[:, None]
        c = tw.arange(COLUMNS, dtype=tw.int32)[None, :]
        tw.store(out, (tw.bid(0), 0), body(x, taps, r, c, tw.zeros((ROWS, COLUMNS), tw.float32)))

    text = kernel.ir(*(tw.spec(spec) for spec in ("f32[?,?]", "f32[?]", "f32[?,?]")))
    before, after = parse(text), parse(text)
    unroll_loops(Unit(after))
    return before, after


@pytest.mark.parametrize("body", CASES, ids=lambda body: body.__name__)
def test_loops(body: Callable[..., Any]) -> None:
    before, after = made(body)
    assert sum(isinstance(op, For) for op in after.walk()) == CASES[body]
    rng = np.random.default_rng(4)
    x, taps = rng.integers(0, 9, (10, 40)).astype(np.float32), rng.normal(size=5).astype(np.float32)
    results = []
    for function in (before, after):
        results.append(np.zeros((12, COLUMNS), np.float32))
        compile_function(function).run((3, 1, 1), [x, taps, results[-1]])
    assert results[0].tobytes() == results[1].tobytes()


def test_vectors_are_first() -> None:
    """Of indices from -3 to 0 on, the last ones lie side by side and aligned."""

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.arange(64, dtype=tw.int32)
        acc = tw.zeros((64,), tw.float32)
        for k in range(4):
            acc += tw.gather(x, i + (k - 3))
        tw.store(out, 0, acc)

    f = parse(kernel.ir(tw.spec("f32[?]"), tw.spec("f32[?]")))
    unroll_loops(Unit(f))
    runs = [Unit(f).runs[op.indices[0]][0].rises for op in f.walk() if isinstance(op, Gather)]
    assert runs == [64, 2, 1, 1]


def test_arrays_that_are_written() -> None:
    """Elements may have changed from one iteration to the next."""

    @tw.tile_kernel
    def kernel(x):
        i = tw.arange(64, dtype=tw.int32)
        for k in range(4):
            tw.scatter(x, i, tw.gather(x, i + k) + 1.0)

    f = parse(kernel.ir(tw.spec("f32[?]")))
    unroll_loops(Unit(f))
    assert any(isinstance(op, For) for op in f.walk())


def test_gathers_stay_behind_stores() -> None:

    @tw.tile_kernel
    def kernel(x, y, out):
        i = tw.arange(64, dtype=tw.int32)
        acc = tw.gather(y, i + 1)
        tw.scatter(y, i, acc * 2.0)
        acc += tw.gather(y, i)
        for k in range(4):
            acc += tw.gather(x, i + k)
        tw.store(out, 0, acc)

    f = parse(kernel.ir(*[tw.spec("f32[?]")] * 3))
    unroll_loops(Unit(f))
    kinds = [op.opcode for op in f.walk() if op.opcode in ("gather", "scatter")]
    assert kinds == ["gather", "scatter", *["gather"] * 5]


def from_what_is_stored(p, y, i):
    tw.store(p, 0, tw.load(p, 1, ()) + 3)
    return tw.gather(y, i + 4 * tw.load(p, 0, ()))


def counted(p, y, i):
    tw.store(p, 0, 5)
    return tw.gather(y, i + 4 * tw.atomic_add(p, 0, 1))


def in_a_branch(p, y, i):
    shift = 8 * tw.load(p, 1, ())
    shift = shift * 2 if tw.load(p, 2, ()) > 0 else shift
    if tw.load(p, 3, ()) > 0:
        shift = shift + 4 * tw.load(p, 1, ())
    return tw.gather(y, i + shift * 4)


@pytest.mark.parametrize("place", [from_what_is_stored, counted, in_a_branch])
def test_indices_that_cannot_move(place: Callable[..., Any]) -> None:
    """Vectors stay behind what writes the numbers that say where they are, or chooses them."""

    @tw.tile_kernel
    def kernel(x, p, y, out):
        i = tw.arange(64, dtype=tw.int32)
        acc = tw.gather(y, i + 1)
        acc += place(p, y, i)
        for k in range(4):
            acc += tw.gather(x, i + k)
        tw.store(out, 0, acc)

    x, y = (np.arange(n, dtype=np.float32) ** 2 for n in (80, 300))
    want, got = np.zeros(64, np.float32), np.zeros(64, np.float32)
    kernel.interpret((1,), x, np.array([0, 1, 1, 1], np.int32), y, want)
    kernel.simulate((1,), x, np.array([0, 1, 1, 1], np.int32), y, got)
    assert want.any() and (want == got).all()
