"""A matrix unit that the compiler has never heard of goes through all passes and the simulator, with right results.

It is declared in tests/support/made_up_unit.py alone. Waits, barriers, proxy fences, intervals, rings and roles follow
from its records; without any of them the simulator finds the defect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from catalogue import hopper_kernels as kernels
from support.made_up_unit import ENGINE, TARGET, made_up_unit

import tilewright as tw
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.lower.function import emit_function
from tilewright.backend_ptx.ops.matmul import Product, left_outstanding
from tilewright.backend_ptx.ops.units import UNITS
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.resources.shared import find_intervals
from tilewright.backend_ptx.simulator import (
    InFlight,
    PendingCopy,
    Race,
    SimError,
    Unfenced,
    simulate_lowered,
    simulate_optimised,
)
from tilewright.backend_ptx.targets import Target
from tilewright.interp import compile_function
from tilewright.tileir.core import OPS, Block, Function, Op
from tilewright.tileir.verifier import verify

BF16, F32 = ml_dtypes.bfloat16, np.float32
SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}, {"schedule": "random", "seed": 2}]
ZERO = tw.PaddingMode.ZERO


class Run(NamedTuple):
    """A kernel with its grid and arguments; `want` is the result, and the last argument that is an array."""

    kernel: Any
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    want: np.ndarray

    @property
    def out(self) -> np.ndarray:
        arrays = [a for a in self.args if isinstance(a, np.ndarray)]
        return arrays[-1]


@tw.tile_kernel
def added(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c += a @ b: accumulators start from memory."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.load(c, (i, j), (tm, tn))
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        left = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small integers: sums of their products are exact."""
    return rng.integers(-3, 4, shape).astype(BF16)


def runs() -> dict[str, Run]:
    rng = np.random.default_rng(5)
    a, b, d = numbers(rng, 64, 96), numbers(rng, 96, 64), numbers(rng, 64, 32)
    exact = a.astype(F32) @ b.astype(F32)
    start = rng.integers(-9, 9, (64, 64)).astype(F32)
    twos = np.full(64, 2, F32)
    tile = 64, 64, 32
    short, hidden = (a[:, :32], b[:32]), np.maximum(a[:, :32].astype(F32) @ b[:32].astype(F32), 0).astype(BF16)

    def zeros(columns: int = 64) -> np.ndarray:
        return np.zeros((64, columns), F32)

    return {
        "loads": Run(kernels.product, (1, 1), (a, b, zeros(), *tile), exact),
        "many loads": Run(kernels.product, (2, 2), (a, b, zeros(), 32, 32, 16), exact),
        "memory": Run(added, (1, 1), (a, b, start.copy(), *tile), exact + start),
        "computed A": Run(kernels.dequantised, (1, 1), (a, twos, b, zeros(), *tile), 2 * exact),
        "computed B": Run(kernels.dequantised_right, (1, 1), (a, b, twos, zeros(), *tile), 2 * exact),
        "two": Run(kernels.chained, (1,), (*short, d, zeros(32), 64, 32, 32), hidden.astype(F32) @ d.astype(F32)),
    }


NAMES = ("loads", "many loads", "memory", "computed A", "computed B", "two")


@pytest.fixture(scope="module")
def unit() -> Iterator[type[Product]]:
    with made_up_unit() as mma:
        yield mma
    assert mma.opcode not in OPS and mma.unit.name not in UNITS, "it is gone afterwards"


def compiled(run: Run, target: Target = TARGET) -> Function:
    function = run.kernel.lower(*run.args, target="sm_90a").tile_ir()
    run_passes(function, target)
    verify(function)
    return function


def simulate(function: Function, run: Run, **how: Any) -> None:
    simulate_lowered(emit_function(function, TARGET), run.grid, run.kernel.lower(*run.args).values, **how)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_code_computes_what_numpy_does(unit: type[Product], name: str, schedule: dict[str, Any]) -> None:
    run = runs()[name]
    function = compiled(run)
    assert any(isinstance(op, unit) for op in function.walk())
    assert all(op.unit is unit.unit for op in function.walk() if isinstance(op, Product))
    simulate(function, run, **schedule)
    np.testing.assert_array_equal(run.out, run.want)


@pytest.mark.parametrize("name", NAMES)
def test_the_interpreter_runs_it(unit: type[Product], name: str) -> None:
    run = runs()[name]
    grid: Any = (*run.grid, 1, 1)[:3]
    compile_function(compiled(run)).run(grid, run.kernel.lower(*run.args).values)
    np.testing.assert_array_equal(run.out, run.want)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_operands_that_threads_copy(unit: type[Product], schedule: dict[str, Any]) -> None:
    """Without TMA, cp.async brings them to where the unit reads: a wait, a proxy fence, a barrier, then the MMA."""
    run = runs()["loads"]
    function = compiled(run, replace(TARGET, has_tma=False))
    [body] = blocks_with(function, unit)
    codes = [op.opcode for op in body.ops]
    steps = [codes.index(code) for code in ("async_wait", "proxy_fence", "barrier", "made_up_mma", "async_load")]
    assert steps == sorted(steps)
    simulate(function, run, **schedule)
    np.testing.assert_array_equal(run.out, run.want)


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_as_far_as_ptx(unit: type[Product], name: str) -> None:
    """What LLVM's passes leave of the code computes the same; the assembler alone would refuse the instructions."""
    run = runs()[name]
    lowered = emit_function(compiled(run), TARGET)
    assert "made.up.mma" in llvm_to_ptx(lowered.llvm_text, TARGET)[0]
    simulate_optimised(lowered, run.grid, run.kernel.lower(*run.args).values, "sm_90a", schedule="random", seed=3)
    np.testing.assert_array_equal(run.out, run.want)


# ---- what follows from the records ----------------------------------------------------------------------------------


def blocks_with(function: Function, kind: type[Op]) -> list[Block]:
    every = [function.body, *(b for op in function.walk() for b in op.blocks)]
    return [b for b in every if any(isinstance(op, kind) for op in b.ops)]


def test_accumulators_stay_outstanding_through_the_loop(unit: type[Product]) -> None:
    """They enter before the loop, are waited for and fetched behind it, and threads meet between wait and fetch."""
    function = compiled(runs()["loads"])
    top = [op.opcode for op in function.body.ops]
    loop = top.index("for")
    assert top.index("made_up_enter") < loop < top.index("made_up_fetch")
    between = top[loop + 1 : top.index("made_up_fetch")]
    assert between.index("made_up_wait") < between.index("barrier")
    [body] = blocks_with(function, unit)
    waits = [left for op in body.ops if (left := left_outstanding(op)) is not None]
    assert waits and all(left > 0 for left in waits), "MMAs of an iteration run on into the next"


def test_loads_become_rings_of_a_producer(unit: type[Product]) -> None:
    function = compiled(runs()["loads"])
    assert [role.name for role in function.plan.roles] == ["consumer", "producer"]
    assert any(op.opcode == "tma_load" for op in function.walk())


def test_computed_operands_go_to_shared_memory_behind_a_fence(unit: type[Product]) -> None:
    for name in ("computed A", "computed B"):
        [body] = blocks_with(compiled(runs()[name]), unit)
        codes = [op.opcode for op in body.ops]
        between = codes[codes.index("shared_store") : codes.index("made_up_mma")]
        assert "proxy_fence" in between and "barrier" in between


def test_buffers_live_until_the_wait(unit: type[Product]) -> None:
    """Of an MMA in a loop that a wait follows behind the loop, the operands live until then."""
    function = compiled(runs()["loads"])
    order = {op: n for n, op in enumerate(function.walk(), 1)}
    read = {s.memory for op in function.walk() for s in op.effects().starts if s.engine is ENGINE and not s.writes}
    views = [v.op for v in read]
    rings = {view.buffer for view in views if view is not None and "buffer" in view.fields}  # type: ignore[attr-defined]
    wait = max(order[op] for op in function.walk() if left_outstanding(op) == 0)
    lives = {interval.op.result: interval for interval in find_intervals(function)}
    assert rings and all(lives[ring].last >= wait for ring in rings)


# ---- seeded defects -------------------------------------------------------------------------------------------------


def without(function: Function, *opcodes: str) -> Function:
    """Take ops away; what they hand on comes from their operands."""
    for block in [function.body, *(b for op in function.walk() for b in op.blocks)]:
        gone = [op for op in block.ops if op.opcode in opcodes]
        new = {result: value for op in gone for result, value in zip(op.results, op.operands, strict=False)}
        block.ops = [op for op in block.ops if op not in gone]
        for op in function.walk():
            op.replace_operands(new)
    assert not any(op.opcode in opcodes for op in function.walk())
    return function


def outcome(name: str, seed: Callable[[Function], Function]) -> set[type[SimError]]:
    """The errors that the simulator finds under some schedules of the code with a defect."""
    found = set()
    for schedule in SCHEDULES:
        run = runs()[name]
        try:
            simulate(seed(compiled(run)), run, **schedule)
        except SimError as error:
            found.add(type(error))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_wait_is_found(unit: type[Product], name: str) -> None:
    assert outcome(name, lambda f: without(f, "made_up_wait")) & {InFlight, PendingCopy}


@pytest.mark.parametrize("name", NAMES)
def test_a_wait_that_leaves_one_more_outstanding_is_found(unit: type[Product], name: str) -> None:
    def later(function: Function) -> Function:
        for op in function.walk():
            if left_outstanding(op) is not None:
                op.pending += 1  # type: ignore[attr-defined]
        return function

    assert outcome(name, later)


@pytest.mark.parametrize("name", ["loads", "memory", "computed A", "two"])
def test_a_missing_barrier_is_found(unit: type[Product], name: str) -> None:
    assert outcome(name, lambda f: without(f, "barrier")) & {InFlight, Race, PendingCopy}


@pytest.mark.parametrize("name", ["computed A", "computed B"])
def test_a_missing_proxy_fence_is_found(unit: type[Product], name: str) -> None:
    assert Unfenced in outcome(name, lambda f: without(f, "proxy_fence"))
