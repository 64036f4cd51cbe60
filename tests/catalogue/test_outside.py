"""Tiles outside of their arrays, which the language does not allow: all executors give padding, and store nothing."""

from __future__ import annotations

import pytest
from catalogue import outside
from catalogue.case import Case
from catalogue.test_gpu import on_device

from tilewright.backend_ptx.simulator import simulate

CASES = list(outside.cases())


@pytest.mark.parametrize("mode", ["chunked", "single"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_interpreter_gives_padding(case: Case, mode: str) -> None:
    args = case.args()
    case.kernel.interpret(case.grid, *args, mode=mode)
    case.check(case.results(args), case.reference(*case.args()), "the interpreter")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_generated_code_gives_padding(case: Case, target: str) -> None:
    args = case.args()
    simulate(case.kernel, case.grid, args, target)
    case.check(case.results(args), case.reference(*case.args()), f"the code for {target}")


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_gpu_gives_padding(case: Case) -> None:
    args = on_device(case.args())
    case.kernel[case.grid](*args)
    case.check([a.to_host() for a in case.results(args)], case.reference(*case.args()), "the GPU")
