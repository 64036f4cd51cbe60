"""Index arithmetic that tells blocks apart, so that their accesses need no log: never where two blocks can meet."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp.affine import Form, Forms, told_apart
from tilewright.interp.checking.sharing import find_sharing
from tilewright.interp.program import bind


def contested(function: Any, grid: tuple[int, int, int], *args: Any) -> set[str]:
    """The names of the arrays whose accesses are logged."""
    kernel = tw.tile_kernel(function)
    made = kernel.lower(*args).tile_ir(passes=False)
    bound = [bind(p, a, i) for i, (p, a) in enumerate(zip(made.params, kernel.lower(*args).values, strict=True))]
    return {made.params[n].hint for n in find_sharing(made, grid, bound).contested}


def ints(*shape: int) -> Any:
    return np.zeros(shape, np.int32)


def elements(x, out):
    at = tw.bid(0) * 16 + tw.arange(16, dtype=tw.int32)
    tw.scatter(out, at, tw.gather(x, at + 1) + tw.gather(x, at))


def one_too_many(x, out):
    at = tw.bid(0) * 16 + tw.arange(32, dtype=tw.int32)
    tw.scatter(out, at, tw.gather(x, at))


def strides(x, out):
    for k in range(tw.bid(0), tw.cdiv(x.shape[0], 16), tw.num_blocks(0)):
        tw.store(out, k, tw.load(x, k, 16) + tw.load(out, k, 16))


def numbers(x, out):
    n = tw.bid(0) + tw.bid(1) * tw.num_blocks(0)
    tw.store(out, n, tw.load(x, n, 16))


def columns(x, out):
    n = tw.bid(0) + tw.bid(1) * 3
    tw.store(out, n, tw.load(x, n, 16))


def backwards(x, out):
    at = x.shape[0] - 1 - (tw.bid(0) * 16 + tw.arange(16, dtype=tw.int32))
    tw.scatter(out, at, tw.gather(x, at))


def wrapping(x, out):
    at = tw.bid(0) * (1 << 30) * 4 + tw.arange(16, dtype=tw.int32)
    tw.scatter(out, at, tw.gather(x, at))


def neighbours(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(out, i + 1, 16))


@pytest.mark.parametrize("function, grid, logged", [
    (elements, (4, 1, 1), False), (one_too_many, (4, 1, 1), True), (strides, (3, 1, 1), False),
    (numbers, (4, 2, 1), False), (columns, (3, 2, 1), False), (columns, (4, 2, 1), True), (backwards, (4, 1, 1), False),
    (wrapping, (4, 1, 1), True), (neighbours, (3, 1, 1), True), (elements, (4, 2, 1), True),
])
def test_what_is_logged(function: Any, grid: tuple[int, int, int], logged: bool) -> None:
    assert ("out" in contested(function, grid, ints(160), ints(160))) == logged


@pytest.mark.parametrize("strides", [(0,), (60,), (-60,)])
def test_outputs_whose_positions_share_elements_are_logged(strides: tuple[int, ...]) -> None:
    x, memory = ints(64), ints(1024)
    out = np.lib.stride_tricks.as_strided(memory[800:], (64,), strides)
    assert contested(elements, (4, 1, 1), x, out) == (set() if strides[0] else {"out"})
    windows = np.lib.stride_tricks.as_strided(memory, (4, 16), (60, 4))

    @tw.tile_kernel
    def rows(x, out):
        i = tw.bid(0)
        tw.store(out, (i, 0), tw.load(x, (i, 0), (1, 16)))

    [report] = rows.interpret(4, ints(4, 16), windows, check=True, on_report="collect")
    assert (report.kind, report.array, report.index and report.index[1]) == ("race", "out", 15)


def test_told_apart_is_never_wrong() -> None:
    """Against all values of random sums."""
    rng, found = random.Random(5), 0
    for _ in range(600):
        grid = rng.randint(1, 4), rng.randint(1, 3), 1
        low = rng.randint(-3, 3)
        form = Form(low, low + rng.randint(0, 4), (rng.randint(-20, 20), rng.randint(-20, 20), 0),
                    tuple((rng.randint(1, 30), rng.randint(1, 4)) for _ in range(rng.randint(0, 2))))
        blocks_of: dict[int, set[tuple[int, int]]] = {}
        turns = [range(0, step * count, step) for step, count in form.turns]
        for x, y in itertools.product(range(grid[0]), range(grid[1])):
            for rest in itertools.product(range(form.low, form.high + 1), *turns):
                blocks_of.setdefault(x * form.blocks[0] + y * form.blocks[1] + sum(rest), set()).add((x, y))
        low, high = form.bounds(grid)
        assert (min(blocks_of), max(blocks_of)) == (low, high)
        for axis in told_apart(form, grid):
            found += 1
            assert all(len({block[axis] for block in blocks}) == 1 for blocks in blocks_of.values()), (form, grid)
    assert found > 100


def test_products_with_numbers_keep_the_values() -> None:
    form = Form(1, 2, (3, 0, 0), ((5, 3),))
    for factor in (-2, 0, 3):
        made = form.times(factor)
        assert made.bounds((4, 1, 1)) == tuple(sorted(factor * v for v in form.bounds((4, 1, 1))))
        assert all(step > 0 for step, _ in made.turns)


def test_a_value_of_no_form_has_none() -> None:
    def kernel(x, out):
        tw.scatter(out, tw.load(x, tw.bid(0), 16), tw.load(x, tw.bid(0), 16))

    made = tw.tile_kernel(kernel).lower(ints(64), ints(64)).tile_ir(passes=False)
    forms = Forms(made, (4, 1, 1), [bind(p, ints(64), i) for i, p in enumerate(made.params)])
    scatter: Any
    [scatter] = [op for op in made.walk() if op.opcode == "scatter"]
    assert forms.of(scatter.indices[0]) is None
