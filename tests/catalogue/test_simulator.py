"""Every catalogue kernel: the generated code, executed by the simulator, gives what NumPy gives."""

from __future__ import annotations

import os

import pytest
from catalogue.all import all_cases
from catalogue.case import Case

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate, simulate_optimised
from tilewright.backend_ptx.simulator.launch import Options

TARGETS = ("sm_80", "sm_90a")
CASES = all_cases()


def target_of(index: int, case: Case) -> str:
    """Each case for one of two targets in turn; products of warpgroups for the one that has them."""
    if "hopper" in case.tags:
        return "sm_90a"
    return TARGETS[index % 2] if TARGETS[index % 2] in case.targets else case.targets[-1]


@pytest.mark.parametrize("index", range(len(CASES)), ids=[c.name for c in CASES])
def test_generated_code_equals_reference(index: int) -> None:
    case = CASES[index]
    target = target_of(index, case)
    args = case.args()
    # Every third case runs its warps one at a time, in a random order.
    how: Options = {"schedule": "random", "seed": index} if index % 3 == 0 else {}
    try:
        simulate(case.kernel, case.grid, args, target, **how)
    except tw.TileUnsupportedFeatureError as error:
        assert target in str(error)
        pytest.skip(f"refused on {target}")
    case.check(case.results(args), case.reference(*case.args()), f"the code for {target}")


# A third of them, or with TILEWRIGHT_THOROUGH all.
STEP = 1 if os.environ.get("TILEWRIGHT_THOROUGH") else 3
AFTER_LLVM = [c for k, c in enumerate(CASES) if "hopper" in c.tags or k % 3 == 1][::STEP]


@pytest.mark.parametrize("case", AFTER_LLVM, ids=lambda c: c.name)
def test_after_llvm(case: Case) -> None:
    """LLVM finds nothing undefined to drop, and moves nothing over the waits and fences of products and copies that
    must stay before or behind them."""
    args = case.args()
    lowered = case.kernel.lower(*args, target="sm_90a").lowered
    simulate_optimised(lowered, case.grid, case.kernel.lower(*args).values, "sm_90a", schedule="random", seed=1)
    case.check(case.results(args), case.reference(*case.args()), "what LLVM made of the code")
