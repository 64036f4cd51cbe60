"""The PTX version in the record of a target is one that LLVM takes for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.llvm_floors import refusal

from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.targets import TARGETS, Target, get_target
from tilewright.tileir.diagnostics import TileInternalError


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda t: t.name)
def test_llvm_takes_the_version(target: Target) -> None:
    assert refusal(target.name, target.ptx) == ""


def test_a_wrong_version_is_an_ordinary_failure() -> None:
    """Without the question LLVM would end this process here, and with it the run of the tests."""
    wrong = replace(get_target("sm_100a"), ptx=80)
    with pytest.raises(TileInternalError, match=r"target sm_100a: LLVM refuses its PTX version 8\.0: .*is 8\.6"):
        llvm_to_ptx("", wrong)
