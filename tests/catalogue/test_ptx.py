"""Every catalogue kernel becomes PTX that the pinned ptxas accepts for every target, or is refused with its name.

`make assemble` goes through all kernels and targets; without it some of each kernel's dtypes are assembled for sm_90a,
every second one for one more target, in turn.
"""

from __future__ import annotations

import pytest
from catalogue.all import one_per_kernel, some_per_kernel
from catalogue.case import Case
from support.thorough import THOROUGH

import tilewright as tw
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import get_target

CASES = some_per_kernel(one_per_kernel())

# Bytes of a thread, at most: two weights of 32768 columns stand beside a row where no cluster shares it.
# With a row that a cluster shares, ptxas takes 80 registers if left alone, as three CTAs per SM could have.
WIDE, SHARED = (f"persistent {kind} of 3 rows of 32000 columns" for kind in ("layer norm", "softmax"))
SPILLED = dict.fromkeys([(WIDE, "sm_86"), (WIDE, "sm_89"), (WIDE, "sm_120a"), (SHARED, "sm_90a")], 16)


def assembles(case: Case, target: str) -> None:
    """The kernel becomes PTX that ptxas accepts as it should be, or is refused with the target's name."""
    try:
        ptx = case.kernel.ptx(*case.args(), target=target)
    except tw.TileUnsupportedFeatureError as error:
        assert target in str(error)
        return
    assembled = assemble(ptx, get_target(target))
    allowed = SPILLED.get((case.name, target), 0)
    assert assembled.spills <= allowed, f"{case.name} for {target}: {assembled.spills} bytes spilled"
    assert "serialized" not in assembled.log, f"{case.name} for {target}: products do not overlap: {assembled.log}"


@pytest.mark.parametrize("index", range(len(CASES)), ids=[c.name for c in CASES])
def test_ptx_assembles(index: int) -> None:
    case = CASES[index]
    others = [target for target in case.targets if target != "sm_90a"]
    chosen = {"sm_90a", *others[index // 2 % max(len(others), 1) :][:index % 2]}
    for target in case.targets:
        if THOROUGH or target in chosen:
            assembles(case, target)
