"""While loops, and indices that loops carry: tiles of later iterations start early here too, for every trip count."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.decisions import told

import tilewright as tw
from tilewright.backend_ptx.ops.async_copy import AsyncCopy
from tilewright.backend_ptx.simulator import SimError, simulate
from tilewright.tileir.core import Function

ZERO = tw.PaddingMode.ZERO
BF16 = ml_dtypes.bfloat16
Array = np.ndarray[Any, Any]


@tw.tile_kernel
def stepped(x, out, n: int, step: int, tm: tw.Constant[int], tn: tw.Constant[int]):
    """The sum of every `step`-th tile of rows."""
    acc = tw.zeros((tm, tn), tw.float32)
    i = 0
    while i < n:
        acc += tw.load(x, (i, 0), (tm, tn), padding_mode=ZERO)
        i += step
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def halved(x, out, n: int, tm: tw.Constant[int], tn: tw.Constant[int]):
    """Tiles n, n // 2, n // 4, ..., while they are above 0."""
    acc = tw.zeros((tm, tn), tw.float32)
    i = n
    while i > 0:
        acc += tw.load(x, (i, 0), (tm, tn), padding_mode=ZERO)
        i = i // 2
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def jumping(x, out, n: int, tm: tw.Constant[int], tn: tw.Constant[int]):
    """A counted loop whose index is carried."""
    acc = tw.zeros((tm, tn), tw.float32)
    i = 1
    for k in range(n):
        acc += tw.load(x, (i, 0), (tm, tn), padding_mode=ZERO)
        i = (5 * i + k) % 7
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def until_full(x, out, limit: float, tm: tw.Constant[int], tn: tw.Constant[int]):
    """Whether an iteration comes, only sums decide: copies start before that is known, and check bounds."""
    acc = tw.zeros((tm, tn), tw.float32)
    i = 0
    while tw.max(acc) < limit:
        acc += tw.load(x, (i, 0), (tm, tn), padding_mode=ZERO)
        i += 1
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def product(arrays, c, n: int, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """arrays[0] @ arrays[1] over n tiles of k; TMA has no map of an array in a list."""
    a, b = arrays[0], arrays[1]
    acc = tw.zeros((tm, tn), tw.float32)
    k = 0
    while k < n:
        ta = tw.load(a, (0, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, 0), (tk, tn), padding_mode=ZERO), acc)
        k += 1
    tw.store(c, (0, 0), acc, allow_tma=False)


@tw.tile_kernel
def picked(table, rows, out, n: int, tr: tw.Constant[int], tc: tw.Constant[int]):
    """Rows of a table whose numbers are computed from what the loop carries."""
    column = tw.arange(tc, dtype=tw.int32)[None, :]
    acc = tw.zeros((tr, tc), tw.float32)
    i = 0
    while i < n:
        row = (3 * i + tw.arange(tr, dtype=tw.int32)[:, None]) % 30
        acc += tw.gather(table, (row, column))
        i += 2
    tw.store(out, (0, 0), acc)


def machine(kernel: Any, args: list[Any], target: str) -> Function:
    """The function right after the pass."""
    seen: dict[str, Function] = {}
    copies: list[int] = []

    def look(name: str, function: Function) -> None:
        if name == "pipeline_loops":
            copies.append(sum(isinstance(op, AsyncCopy) for op in function.walk()))
        seen[name] = function

    kernel.lower(*args, target=target).machine_ir(look)
    assert (copies[0] > 1) == ("slots of" in told(seen["pipeline_loops"], "pipeline"))
    return seen["pipeline_loops"]


def slots(kernel: Any, args: list[Any], target: str) -> int:
    """Of the pipeline's ring, 0 where there is none."""
    stages = machine(kernel, args, target).plan.stages
    return max(stages, default=0)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    """Small integers, so that all sums are exact."""
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)


TARGETS = ("sm_80", "sm_90a")
SIZE = (8, 512)


def tile(x: Array, i: int) -> Array:
    out = np.zeros(SIZE, np.float32)
    part = x[i * SIZE[0]:(i + 1) * SIZE[0]] if i >= 0 else x[:0]
    out[:len(part)] = part
    return out


def counts(deepest: int) -> list[int]:
    """None, one, and around the number of slots."""
    return [0, 1, deepest - 1, deepest, deepest + 1, 2 * deepest + 1]


@pytest.mark.parametrize("target", TARGETS)
def test_counted_by_hand(target: str) -> None:
    x = numbers(100, SIZE[1])
    deepest = slots(stepped, [x, np.zeros(SIZE, np.float32), 3, 1, *SIZE], target)
    assert deepest == 4
    for trips in counts(deepest):
        for step in (1, 2):
            out = np.zeros(SIZE, np.float32)
            n = trips * step
            simulate(stepped, (1,), [x, out, n, step, *SIZE], target, schedule="random", seed=trips)
            assert np.array_equal(out, sum((tile(x, i) for i in range(0, n, step)), np.zeros(SIZE)))


@pytest.mark.parametrize("target", TARGETS)
def test_a_state_that_is_divided(target: str) -> None:
    x = numbers(100, SIZE[1])
    assert slots(halved, [x, np.zeros(SIZE, np.float32), 3, *SIZE], target) == 4
    for n in (-3, 0, 1, 2, 5, 11, 40):
        out = np.zeros(SIZE, np.float32)
        simulate(halved, (1,), [x, out, n, *SIZE], target, schedule="random", seed=1)
        places = [n >> k for k in range(8) if n >> k > 0]
        assert np.array_equal(out, sum((tile(x, i) for i in places), np.zeros(SIZE)))


@pytest.mark.parametrize("target", TARGETS)
def test_a_carried_index_of_a_counted_loop(target: str) -> None:
    x = numbers(56, SIZE[1])
    deepest = slots(jumping, [x, np.zeros(SIZE, np.float32), 3, *SIZE], target)
    assert deepest == 4
    for trips in counts(deepest):
        out, want, i = np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32), 1
        for k in range(trips):
            want += tile(x, i)
            i = (5 * i + k) % 7
        simulate(jumping, (1,), [x, out, trips, *SIZE], target, schedule="random", seed=trips)
        assert np.array_equal(out, want)


@pytest.mark.parametrize("target", TARGETS)
def test_copies_start_before_the_condition_is_known(target: str) -> None:
    x = np.ones((40, SIZE[1]), np.float32)  # five tiles; what lies behind them is never read
    assert slots(until_full, [x, np.zeros(SIZE, np.float32), 3.0, *SIZE], target) == 4
    for trips in range(6):
        out = np.zeros(SIZE, np.float32)
        simulate(until_full, (1,), [x, out, float(trips), *SIZE], target, schedule="random", seed=trips)
        assert np.array_equal(out, np.full(SIZE, trips))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [(64, 64, 32), (64, 32, 64)], ids=str)
def test_products(target: str, size: tuple[int, int, int]) -> None:
    tm, tn, tk = size
    a, b = numbers(tm, 12 * tk, dtype=BF16), numbers(12 * tk, tn, dtype=BF16)
    deepest = slots(product, [[a, b], np.zeros((tm, tn), np.float32), 3, *size], target)
    assert deepest >= 3
    for trips in counts(deepest):
        c = np.zeros((tm, tn), np.float32)
        simulate(product, (1,), [[a, b], c, trips, *size], target, schedule="random", seed=trips)
        k = trips * tk
        assert np.array_equal(c, a[:, :k].astype(np.float32) @ b[:k].astype(np.float32))


@pytest.mark.parametrize("target", TARGETS)
def test_gathers(target: str) -> None:
    table, size = numbers(30, 256), (16, 256)
    args = [table, np.zeros(4, np.int32), np.zeros(size, np.float32)]
    deepest = slots(picked, [*args, 3, *size], target)
    assert deepest >= 3
    for trips in counts(deepest):
        args[2] = np.zeros(size, np.float32)
        simulate(picked, (1,), [*args, 2 * trips, *size], target, schedule="random", seed=trips)
        rows = [(3 * i + np.arange(16)) % 30 for i in range(0, 2 * trips, 2)]
        assert np.array_equal(args[2], sum((table[r] for r in rows), np.zeros(size)))


def test_reasons() -> None:
    @tw.tile_kernel
    def chased(x, where, out, n: int, tm: tw.Constant[int], tn: tw.Constant[int]):
        acc = tw.zeros((tm, tn), tw.float32)
        i = 0
        while i < n:
            acc += tw.load(x, (i, 0), (tm, tn), padding_mode=ZERO)
            i = tw.load(where, (i,), ())
        tw.store(out, (0, 0), acc)

    @tw.tile_kernel
    def written(x, n: int, tm: tw.Constant[int], tn: tw.Constant[int]):
        i = 0
        while i < n:
            tw.store(x, (i + 1, 0), tw.load(x, (i, 0), (tm, tn), padding_mode=ZERO) + 1)
            i += 1

    @tw.tile_kernel
    def unchecked(x, out, limit: float, tm: tw.Constant[int], tn: tw.Constant[int]):
        acc = tw.zeros((tm, tn), tw.float32)
        i = 0
        while tw.max(acc) < limit:
            acc += tw.load(x, (i, 0), (tm, tn), check_bounds=False)
            i += 1
        tw.store(out, (0, 0), acc)

    x, out, rows = numbers(100, SIZE[1]), np.zeros(SIZE, np.float32), np.zeros(9, np.int32)

    def reason(kernel: Any, *args: Any) -> str:
        return told(machine(kernel, [*args, *SIZE], "sm_90a"), "pipeline")

    assert "its index is carried from one iteration to the next" in reason(chased, x, rows, out, 3)
    assert "the loop writes its array" in reason(written, x, 3)
    assert "whether its iteration executes is not known early enough" in reason(unchecked, x, out, 3.0)


def test_the_simulator_sees_a_copy_of_the_wrong_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lead must go on by one iteration with each group of copies."""
    from tilewright.tileir.iterations import Lead

    monkeypatch.setattr(Lead, "step", lambda self, b, mapping: None)
    x, out = numbers(100, SIZE[1]), np.zeros(SIZE, np.float32)
    try:
        simulate(stepped, (1,), [x, out, 5, 1, *SIZE], "sm_90a", schedule="random", seed=1)
    except SimError:
        return
    assert not np.array_equal(out, sum((tile(x, i) for i in range(5)), np.zeros(SIZE)))
