"""Every catalogue kernel becomes PTX that the pinned ptxas accepts for every target, or is refused with its name."""

from __future__ import annotations

import pytest
from catalogue.all import one_per_kernel
from catalogue.case import Case

import tilewright as tw
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import get_target

CASES = one_per_kernel()


def assembles(case: Case, target: str) -> None:
    """The kernel becomes PTX that ptxas accepts as it should be, or is refused with the target's name."""
    try:
        ptx = case.kernel.ptx(*case.args(), target=target)
    except tw.TileUnsupportedFeatureError as error:
        assert target in str(error)
        return
    assembled = assemble(ptx, get_target(target))
    assert assembled.spills == 0, f"{case.name} for {target}: {assembled.spills} bytes spilled"
    assert "serialized" not in assembled.log, f"{case.name} for {target}: products do not overlap: {assembled.log}"


@pytest.mark.parametrize("index", range(len(CASES)), ids=[c.name for c in CASES])
def test_ptx_assembles(index: int) -> None:
    case = CASES[index]
    for target in case.targets:
        assembles(case, target)
