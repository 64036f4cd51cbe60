"""Every catalogue kernel: the generated code, executed by the simulator, gives what NumPy gives.

`make simulate` takes every case; without it some of each kernel's dtypes, and of kernels for Hopper's warpgroups every
third only as what LLVM makes of its code.
"""

from __future__ import annotations

import pytest
from catalogue.all import all_cases, some_per_kernel
from catalogue.case import Case
from support.thorough import THOROUGH, part

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate, simulate_optimised
from tilewright.backend_ptx.simulator.launch import Options

TARGETS = ("sm_80", "sm_90a")
CASES = some_per_kernel(all_cases())
AFTER_LLVM = part([c for k, c in enumerate(all_cases()) if "hopper" in c.tags or k % 3 == 1], 3)
AS_LOWERED = [k for k, c in enumerate(CASES) if THOROUGH or not ("hopper" in c.tags and c in AFTER_LLVM)]


def target_of(index: int, case: Case) -> str:
    """Each case for one of two targets in turn; products of warpgroups for the one that has them."""
    if "hopper" in case.tags:
        return "sm_90a"
    return TARGETS[index % 2] if TARGETS[index % 2] in case.targets else case.targets[-1]


@pytest.mark.parametrize("index", AS_LOWERED, ids=[CASES[k].name for k in AS_LOWERED])
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


@pytest.mark.parametrize("case", AFTER_LLVM, ids=lambda c: c.name)
def test_after_llvm(case: Case) -> None:
    """LLVM finds nothing undefined to drop, and moves nothing over the waits and fences of products and copies that
    must stay before or behind them."""
    args = case.args()
    lowered = case.kernel.lower(*args, target="sm_90a").lowered
    simulate_optimised(lowered, case.grid, case.kernel.lower(*args).values, "sm_90a", schedule="random", seed=1)
    case.check(case.results(args), case.reference(*case.args()), "what LLVM made of the code")
