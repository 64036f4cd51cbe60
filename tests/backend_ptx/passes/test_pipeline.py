"""The software pipeline on loops of several kinds: what it makes of them; nothing changes what they compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.pass_kernels import function

from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

FOLDER = Path(__file__).with_name("golden") / "pipeline"
TARGET = get_target("sm_80")


def _floats(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    return rng.integers(-4, 5, shape).astype(dtype)


def running_sum(r: np.random.Generator, rounds: int) -> list[Any]:
    return [_floats(r, 6, 3000), np.zeros((8, 256), np.float32), 1, 1 + 2 * rounds, 2]


def stencil(r: np.random.Generator, rounds: int) -> list[Any]:
    return [_floats(r, 71, 60), np.zeros((64 * 6, 16), np.float32), rounds]


def chained_products(r: np.random.Generator, rounds: int) -> list[Any]:
    tiles = [_floats(r, n, 32, dtype=np.float16) for n in (100, 230, 230)]
    return [*tiles, np.zeros((100, 32), np.float32), rounds]


def gemm(r: np.random.Generator, rounds: int) -> list[Any]:
    a, b = _floats(r, 100, 152, dtype=ml_dtypes.bfloat16), _floats(r, 152, 72, dtype=ml_dtypes.bfloat16)
    return [a, b, np.zeros((100, 72), np.float32), rounds]


# Inputs are small integers, so that sums are exact in any order.
LOOPS: dict[str, tuple[tuple[int, int, int], Callable[[np.random.Generator, int], list[Any]]]] = {
    "running_sum": ((2, 1, 1), running_sum), "stencil": ((1, 1, 1), stencil),
    "chained_products": ((2, 1, 1), chained_products), "gemm": ((2, 2, 1), gemm),
}
ROUNDS = [0, 1, 2, 3, 5]


def arguments(name: str, rounds: int) -> list[Any]:
    return LOOPS[name][1](np.random.default_rng(rounds), rounds)


def interpreted(f: Function, name: str, rounds: int) -> list[Any]:
    args = arguments(name, rounds)
    compile_function(f).run(LOOPS[name][0], args)
    return args


def same(got: list[Any], wanted: list[Any], context: str) -> None:
    for a, b in zip(got, wanted, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a.astype(float), b.astype(float), err_msg=context)


@pytest.mark.parametrize("name", LOOPS)
def test_golden(name: str, update_golden: bool) -> None:
    f = function(name)
    run_passes(f, TARGET, until="pipeline_loops")
    path = FOLDER / f"{name}.tile"
    if update_golden:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(to_text(f))
    assert to_text(f) == path.read_text()


@pytest.mark.parametrize("name", LOOPS)
def test_every_dump_runs_to_the_same_result(name: str) -> None:
    texts: dict[str, str] = {}
    run_passes(function(name), TARGET, lambda step, f: texts.__setitem__(step, to_text(f)))
    for rounds in ROUNDS:
        wanted = interpreted(function(name), name, rounds)
        for step in ("pipeline_loops", "insert_barriers"):
            again = parse(texts[step])
            assert to_text(again) == texts[step]
            same(interpreted(again, name, rounds), wanted, f"{rounds} rounds, after {step}:\n{texts[step]}")


@pytest.mark.parametrize("name", LOOPS)
def test_simulated_code_agrees_with_the_interpreter(name: str) -> None:
    from tilewright.backend_ptx.simulator import simulate_lowered
    from tilewright.backend_ptx.simulator.entry import lower_function

    lowered = lower_function(function(name), TARGET)
    assert "cp.async.cg" in lowered.llvm_text
    for rounds in ROUNDS:
        args = arguments(name, rounds)
        simulate_lowered(lowered, LOOPS[name][0], args, schedule="random", seed=rounds)
        same(args, interpreted(function(name), name, rounds), f"{rounds} rounds")


def test_the_function_given_stays_as_it_is() -> None:
    f = function("stencil")
    before = to_text(f)
    run_passes(clone_function(f), TARGET)
    assert to_text(f) == before
