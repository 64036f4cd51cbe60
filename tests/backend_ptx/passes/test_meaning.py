"""No pass changes what a function computes: interpreted after each pass, and simulated as LLVM IR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.interp_cases import full_grid
from support.pass_kernels import KERNELS, function

from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import Hints
from tilewright.tileir.printer import to_text

TARGET = get_target("sm_90a")


def arguments(name: str) -> list[Any]:
    return KERNELS[name].arguments(np.random.default_rng(len(name)))


def interpreted(f: Function, name: str) -> list[Any]:
    args = arguments(name)
    compile_function(f).run(full_grid(KERNELS[name].grid), args)
    return args


def check(name: str, got: list[Any], wanted: list[Any], context: str) -> None:
    for a, b in zip(got, wanted, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=KERNELS[name].tolerance, err_msg=context)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("warps", [None, 1, 8])
def test_every_dump_runs_to_the_same_result(name: str, warps: int | None) -> None:
    wanted, seen = interpreted(function(name), name), set[str]()

    def observe(step: str, f: Function) -> None:
        text = to_text(f)
        if text in seen:
            return  # the pass found nothing to do
        seen.add(text)
        again = parse(text)
        assert to_text(again) == text
        check(name, interpreted(again, name), wanted, f"after {step}:\n{text}")

    f = function(name)
    if warps is not None:
        f.hints = Hints(num_worker_warps=warps)
    run_passes(f, TARGET, observe)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("warps", [None, 1, 8])
def test_simulated_code_agrees_with_the_interpreter(name: str, warps: int | None) -> None:
    from tilewright.backend_ptx.simulator import simulate_function

    f = function(name)
    if warps is not None:
        f.hints = Hints(num_worker_warps=warps)
    args = arguments(name)
    simulate_function(f, KERNELS[name].grid, args, "sm_90a", schedule="random", seed=3)
    check(name, args, interpreted(function(name), name), "simulated")
