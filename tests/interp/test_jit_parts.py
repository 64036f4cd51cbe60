"""The loop around the elements, by itself: shapes and strides of all kinds, several results, numbers, folded rows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tilewright.interp.jit.loops import OUTER, FastLoop, _merged, may_write


def offsets(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    return [sum(i * s for i, s in zip(at, strides, strict=True)) for at in itertools.product(*map(range, sizes))]


@pytest.mark.parametrize("rows", [False, True])
def test_axes_are_merged_where_all_operands_go_on_in_equal_steps(rows: bool) -> None:
    """The same elements in the same order; and no two neighbours are left that could be one (but the last of rows)."""
    pick = random.Random(3)
    for _ in range(400):
        rank = pick.randrange(5)
        sizes = [pick.choice((2, 3)) for _ in range(rank)]
        plain = [int(np.prod(sizes[i + 1:])) for i in range(rank)]
        strides = [pick.choice((plain, [0] * rank, [pick.choice((0, 1, 2, 6, 4 * n)) for n in plain]))
                   for _ in range(2)]
        merged, found = _merged(list(sizes), [list(s) for s in strides], rows)
        for old, new in zip(strides, found, strict=True):
            assert offsets(merged, new) == offsets(sizes, old)
        last = len(merged) - 1 if rows else len(merged)
        assert all(any(s[i] != s[i + 1] * merged[i + 1] for s in found) for i in range(last - 1))
        assert not rows or not sizes or merged[-1] == sizes[-1]


def views(pick: random.Random, shape: tuple[int, ...], dtype: Any) -> Any:
    """An operand that broadcasts to a shape, of any strides."""
    own = tuple(1 if pick.random() < 0.2 else n for n in shape)[pick.choice((0, 0, 0, 1)):]
    wide = np.arange(int(np.prod([2 * n for n in own])) or 1, dtype=dtype).reshape([2 * n for n in own])
    cut = tuple(pick.choice((slice(0, n), slice(n, 2 * n), slice(None, None, 2), slice(2 * n - 1, n - 1, -1)))
                for n in own)
    view = wide[cut]
    assert view.shape == own
    order = list(range(len(own)))
    pick.shuffle(order)
    return view.transpose(order).copy().transpose(np.argsort(order)) if pick.random() < 0.3 else view


SHAPES = [(), (1,), (7,), (1, 5), (5, 1), (3, 4), (2, 3, 4), (2, 1, 3), (2, 3, 2, 4), (2, 2, 3, 2, 3)]


def both(names: Sequence[str]) -> tuple[list[str], list[str], str]:
    x, y, first, second = names
    return ([f"  %sum = fadd float {x}, {y}", f"  %wide = fpext float {x} to double",
             f"  %less = sub i64 {first}, {second}",
             "  %extra = sitofp i64 %less to double", "  %other = fadd double %wide, %extra",
             f"  %odd = fcmp olt float {y}, -1.0"], ["%sum", "%other"], "%odd")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loops_of_any_shape(shape: tuple[int, ...]) -> None:
    pick = random.Random(str(shape))
    loop = FastLoop(("float", "float", "float", "double"), ("f4", "f4", "f4", "f8"), 2, both, {}, numbers=2)
    for _ in range(12):
        x, y = views(pick, shape, np.float32), views(pick, shape, np.float32)
        found = loop(shape, [x, y], (7, 2))
        assert found is not None
        sums, others = found
        assert sums.shape == others.shape == shape and (sums.dtype, others.dtype) == (np.float32, np.float64)
        assert np.array_equal(sums, np.broadcast_to(x + y, shape))
        assert np.array_equal(others, np.broadcast_to(x.astype(np.float64) + 5, shape))


def test_one_element_in_doubt_is_enough() -> None:
    loop = FastLoop(("float", "float", "float", "double"), ("f4", "f4", "f4", "f8"), 2, both, {}, numbers=2)
    shape = (2, 3, 4)
    for at in itertools.product(*map(range, shape)):
        y = np.zeros(shape, np.float32)
        y[at] = -2
        assert loop(shape, [np.ones(shape, np.float32), y], (0, 0)) is None
    assert loop(shape, [np.ones(shape, np.float32), np.zeros(shape, np.float32)], (0, 0)) is not None


def test_results_go_where_they_shall() -> None:
    def body(names: Sequence[str]) -> tuple[list[str], list[str], str]:
        return [f"  %r = add i32 {names[0]}, {names[1]}"], ["%r"], "false"

    loop = FastLoop(("i32", "i32", "i32"), ("i4", "i4", "i4"), 2, body, {})
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for goal in (np.zeros((2, 3, 4), np.int32), np.zeros((2, 6, 4), np.int32)[:, ::2],
                 np.zeros((2, 3, 9), np.int32)[..., 5:]):
        assert may_write(goal)
        assert loop((2, 3, 4), [x, np.full((1, 1, 1), 5, np.int32)], (), (goal,)) is not None
        assert np.array_equal(goal, x + 5)


@pytest.mark.parametrize("out, may", [
    (np.zeros(4, np.int32), True), (np.zeros(1, np.int32), False), (np.zeros(8, np.int32)[::2], False),
    (np.zeros((4, 4), np.int32).T, False), (np.zeros((2,) * (OUTER + 1), np.int32), True),
    (np.zeros((2,) * (OUTER + 2), np.int32), False), (np.zeros((3, 8), np.int32)[:, 2:6], True)])
def test_what_a_loop_may_write(out: Any, may: bool) -> None:
    assert may_write(out) == may
