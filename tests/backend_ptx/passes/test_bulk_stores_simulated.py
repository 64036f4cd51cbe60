"""Pieces that leave by TMA, simulated: results are right, in every schedule, after each pass and after LLVM."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from catalogue.hopper_kernels import walked
from support.bulk_products import (
    BF16,
    F32,
    PROGRAMS,
    SCHEDULES,
    TARGET,
    Program,
    batched_product,
    function_of,
    passed,
    product,
    result_of,
    stores_of,
    turned_product,
)
from support.interp_cases import full_grid
from support.thorough import THOROUGH

from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate_lowered, simulate_optimised
from tilewright.interp import compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

# Each program in one order of its warps, in turn; with TILEWRIGHT_THOROUGH in both.
ORDERED = [(name, how) for k, name in enumerate(PROGRAMS) for how in (SCHEDULES if THOROUGH else SCHEDULES[k % 2:][:1])]


@pytest.mark.parametrize(("name", "how"), ORDERED)
def test_simulated(name: str, how: dict[str, Any]) -> None:
    program = PROGRAMS[name]
    function = passed(program)
    assert stores_of(function) and not [op for op in function.walk() if isinstance(op, Store)]
    for got, want in zip(result_of(program, function, **how), program.wanted(program.arrays()), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["four pieces", "persistent", "turned"])
def test_simulated_after_llvm(name: str) -> None:
    program = PROGRAMS[name]
    [got] = result_of(program, passed(program), partial(simulate_optimised, target="sm_90a"), schedule="random", seed=2)
    np.testing.assert_array_equal(got, program.wanted(program.arrays())[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_dump_runs_to_the_same_result(name: str) -> None:
    program = PROGRAMS[name]
    function, done = function_of(program, program.arrays()), []

    def observe(step: str, now: Function) -> None:
        if step not in ("split_stores", "insert_barriers"):
            return
        text = to_text(now)
        again = parse(text)
        assert to_text(again) == text
        arrays = program.arrays()
        compile_function(again).run(full_grid(program.grid), arrays)
        for got, want in zip(arrays[2:], program.wanted(program.arrays()), strict=True):
            np.testing.assert_array_equal(got.astype(F32), want)
        done.append(step)

    run_passes(function, TARGET, observe)
    assert done == ["split_stores", "insert_barriers"]


def test_tiles_with_an_axis_of_one() -> None:
    program = Program(batched_product, (2, 2, 2))
    a, b, c = program.arrays()
    out = np.full((2, *c.shape), 7, BF16)
    function = function_of(program, [a, b, out])
    run_passes(function, TARGET)
    assert {(op.box, op.warps) for op in stores_of(function)} == {((1, 16, 64), 4)}
    simulate_lowered(emit_function(function, TARGET), program.grid, [a, b, out])
    for got in out:
        np.testing.assert_array_equal(got.astype(F32), program.wanted([a, b])[0])


CLUSTERS = {
    "plain": Program(product, (1, 2), tile=(128, 128, 32)),
    "persistent": Program(walked, (2,), rows=500, tile=(128, 128, 32)),
    "turned": Program(turned_product, (1, 1), tile=(128, 256, 32)),
}


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("name", CLUSTERS)
def test_blocks_of_a_cluster_store_their_parts(name: str, how: dict[str, Any]) -> None:
    program = CLUSTERS[name]
    function = passed(program, num_ctas=2)
    assert function.plan.cluster == 2 and stores_of(function)
    [got] = result_of(program, function, **how)
    np.testing.assert_array_equal(got, program.wanted(program.arrays())[0])
