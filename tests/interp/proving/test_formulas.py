"""The formulas of a proof say what the interpreter computes: each rule, at every element, in every block of a launch.

A formula that says anything else, or less (a symbol of its own where the value is known), has another model.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw

z3 = pytest.importorskip("z3")

GRID = (3, 2, 1)
N, M = 5, -3  # what the kernels get as n and m

Make = Callable[[Any, Any, Any, Any], Any]
EXPRESSIONS: dict[str, Make] = {
    "add": lambda e, x, n, m: e + n,
    "sub": lambda e, x, n, m: m - e,
    "mul": lambda e, x, n, m: e * n * m,
    "min": lambda e, x, n, m: tw.minimum(e, n),
    "max": lambda e, x, n, m: tw.maximum(n, e),
    "quotient by a number": lambda e, x, n, m: (e - 4) // 3,
    "rest by a number": lambda e, x, n, m: (e - 4) % 3,
    "quotient by a negative number": lambda e, x, n, m: (e - 4) // -3,
    "rest by a negative number": lambda e, x, n, m: (e - 4) % -3,
    "quotient": lambda e, x, n, m: (e - 4) // n,
    "rest": lambda e, x, n, m: (e - 4) % n,
    "quotient by less than zero": lambda e, x, n, m: (e - 4) // m,
    "rest by less than zero": lambda e, x, n, m: (e - 4) % m,
    "cdiv by a number": lambda e, x, n, m: tw.cdiv(e, 3),
    "cdiv": lambda e, x, n, m: tw.cdiv(e, n),
    "lt": lambda e, x, n, m: tw.where(e < n, 1, 0),
    "le": lambda e, x, n, m: tw.where(e <= n, 1, 0),
    "gt": lambda e, x, n, m: tw.where(e > n, 1, 0),
    "ge": lambda e, x, n, m: tw.where(e >= n, 1, 0),
    "eq": lambda e, x, n, m: tw.where(e == n, 1, 0),
    "ne": lambda e, x, n, m: tw.where(e != n, 1, 0),
    "and of masks": lambda e, x, n, m: tw.where((e > 2) & (e < n), e, m),
    "or of masks": lambda e, x, n, m: tw.where((e < 2) | (e > n), e, m),
    "xor of masks": lambda e, x, n, m: tw.where((e < 4) ^ (e > 2), e, m),
    "equal masks": lambda e, x, n, m: tw.where((e < 4) == (e > 2), e, m),
    "and with 7": lambda e, x, n, m: (e * m) & 7,
    "and with 0": lambda e, x, n, m: e & 0,
    "and with 1": lambda e, x, n, m: (e - 9) & 1,
    "shl": lambda e, x, n, m: (e - 4) << 3,
    "shr": lambda e, x, n, m: (e - 9) >> 2,
    "select of masks": lambda e, x, n, m: tw.where(tw.where(e < n, e > 1, e > 6), 1, 2),
    "cast": lambda e, x, n, m: (e.astype(tw.int8) * 3).astype(tw.int32),
    "cast of a mask": lambda e, x, n, m: (e > n).astype(tw.int32) + 4,
    "cast to a mask": lambda e, x, n, m: tw.where((e - 3).astype(tw.bool_), 7, 8),
    "cast from mask to mask": lambda e, x, n, m: tw.where((e > 3).astype(tw.bool_), 7, 8),
    "blocks": lambda e, x, n, m: e + tw.bid(0) * 10 + tw.bid(1) * 100 + tw.num_blocks(0) * 1000 + tw.num_blocks(1),
    "extents": lambda e, x, n, m: e + x.shape[0] * 10 + x.shape[1],
    "extents of a slice": lambda e, x, n, m: e + x.slice(0, 1, n).shape[0] * 10 + x.slice(0, 1, n).shape[1],
    "a promise": lambda e, x, n, m: e + tw.assume_divisible_by(tw.bid(0) * 4, 4),
    "broadcast": lambda e, x, n, m: tw.reshape(e[None, :] * 10 + tw.arange(4, dtype=tw.int32)[:, None], (32,)),
    "permute": lambda e, x, n, m: tw.reshape(tw.permute(tw.reshape(tw.arange(32, dtype=tw.int32), (2, 4, 4)),
                                                        (2, 0, 1)), (32,)),
    "reshape": lambda e, x, n, m: tw.reshape(tw.reshape(tw.arange(32, dtype=tw.int32), (8, 4))
                                             + tw.arange(4, dtype=tw.int32)[None, :] * 100, (32,)),
    "axes of length 1": lambda e, x, n, m: tw.reshape(tw.reshape(e, (1, 8, 1)) * n, (8,)),
    "extract": lambda e, x, n, m: tw.reshape(
        tw.extract(tw.reshape(tw.arange(32, dtype=tw.int32), (4, 8)), (1, 1), (2, 4)), (8,)),
}


def kernel_of(make: Make) -> Any:
    @tw.tile_kernel
    def run(x, out, n: int, m: int):
        t = make(tw.arange(8, dtype=tw.int32), x, n, m)
        tw.store(out, (tw.bid(0), tw.bid(1), 0), tw.reshape(t, (1, 1, t.shape[0])))
    return run


class Launch:
    """A launch of a kernel with arguments (x, out, n, m), and the formulas of its values."""

    def __init__(self, kernel: Any, x: Any, out: Any) -> None:
        from tilewright.interp.proving import rules  # noqa: F401
        from tilewright.interp.proving.accesses import accesses
        from tilewright.interp.proving.world import World

        self.out = out
        kernel.interpret(GRID, x, out, N, M)
        function = kernel.lower(x, out, N, M).tile_ir(passes=False, facts=False)
        self.world = World(function)
        self.uses = accesses(function)
        array, _, n, m = function.params
        self.chosen = [self.world.scalar(n) == N, self.world.scalar(m) == M]
        self.chosen += [size == blocks for size, blocks in zip(self.world.grid, GRID, strict=True)]
        self.chosen += [self.world.extent(array, axis) == size for axis, size in enumerate(x.shape)]

    def terms(self) -> Any:
        from tilewright.interp.proving.terms import Terms

        return Terms(self.world, "block")

    def can(self, terms: Any, block: tuple[int, ...], *formulas: Any) -> bool:
        """Can these hold in a block of this launch?"""
        at = [number == n for number, n in zip(terms.block, block, strict=True)]
        return possible([*self.world.limits, *terms.limits, *self.chosen, *at, *formulas])


def possible(formulas: list[Any]) -> bool:
    solver = z3.Solver()
    solver.add(*formulas)
    found = solver.check()
    assert found != z3.unknown
    return bool(found == z3.sat)


def blocks() -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, GRID)))


def numbers(at: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(z3.IntVal(i) for i in at)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_formulas_are_what_is_computed(name: str) -> None:
    kernel = kernel_of(EXPRESSIONS[name])
    length = 32 if name in ("broadcast", "permute", "reshape") else 8
    launch = Launch(kernel, np.zeros((6, 9), np.float32), np.full((*GRID[:2], length), -99, np.int32))
    [store] = [use.op for use in launch.uses if use.writes]
    terms = launch.terms()
    formulas = [terms.at(store.value, numbers((0, 0, i))) for i in range(length)]
    for block in blocks():
        want = launch.out[block[:2]].tolist()
        assert launch.can(terms, block)
        assert not launch.can(terms, block, z3.Or(*(f != w for f, w in zip(formulas, want, strict=True)))), block
    assert not terms.opaque


def branches(x, out, n, m):
    i, j = tw.bid(0), tw.bid(1)
    if (i + j) % 2 == 0:
        if j < 1:
            tw.store(out, (i, j, 0), 1)
        else:
            tw.store(out, (i, j, 1), 2)
    else:
        tw.store(out, (i, j, 2), 3)


def loops(x, out, n, m):
    """Loops that begin at the block's number, end before n, go by 2, and may not run at all."""
    i, j = tw.bid(0), tw.bid(1)
    at, down, more = i * 3, j, i + n
    same = j + 1
    for k in range(i + 2, n - j, 2):
        tw.store(out, (i, j, k), at + same * 10 + down * 1000)
        at = more + at
        down = down + (j - m * 2)
    tw.store(out, (i, j, 6), same)


def steps(x, out, n, m):
    """Loops by a step that is no number."""
    i, j = tw.bid(0), tw.bid(1)
    for k in range(j, n, n - 2):
        tw.store(out, (i, j, k), k * 10)


def picked(x, out, n, m):
    i, j = tw.bid(0), tw.bid(1)
    if i > j:
        value, place = i * 10, n
    else:
        value, place = j * 10 + 1, 2
    tw.store(out, (i, j, place), value)


@pytest.mark.parametrize("function", [branches, loops, steps, picked], ids=lambda f: f.__name__)
def test_blocks_reach_what_they_execute_and_no_more(function: Any) -> None:
    """Stores of one element each. One of them can write value v to element e of a block just if the launch has."""
    annotated = {"n": int, "m": int}
    function.__annotations__.update(annotated)
    launch = Launch(tw.tile_kernel(function), np.zeros((6, 9), np.float32), np.full((*GRID[:2], 8), -99, np.int32))
    stores = [use.op for use in launch.uses if use.writes]
    for block in blocks():
        want = {(k, int(v)) for k, v in enumerate(launch.out[block[:2]]) if v != -99}
        element, number = z3.Int("element"), z3.Int("number")
        wanted = {pair: z3.And(element == pair[0], number == pair[1]) for pair in want}
        found = set()
        for store in stores:
            terms = launch.terms()
            place, value = terms.at(store.index[2]), terms.at(store.value, numbers((0, 0, 0)))
            formulas = [*terms.reaches(store), element == place, number == value]
            found |= {pair for pair, formula in wanted.items() if launch.can(terms, block, *formulas, formula)}
            assert not launch.can(terms, block, *formulas, z3.Not(z3.Or(*wanted.values()))), block
        assert found == want, block


@pytest.mark.parametrize("size, launched", [(0, False), (1, True), (2**31 - 1, True), (2**31, False)])
def test_grids_that_can_be_launched(size: int, launched: bool) -> None:
    """A grid has a block along each axis, and numbers of blocks that int32 holds."""
    from tilewright.interp.proving.world import World

    @tw.tile_kernel
    def kernel(out):
        tw.store(out, tw.bid(0), 1)

    world = World(kernel.lower(tw.spec("i32[?]")).tile_ir(passes=False, facts=False))
    assert possible([*world.limits, world.grid[1] == size]) == launched
