"""Moves of numbers to registers that hold them already leave the PTX; all others stay."""

from __future__ import annotations

import pytest

from tilewright.backend_ptx.llvm.repeated_moves import without_repeats

ZEROS = [f"\tmov.b32 \t%r{i}, %r1;" for i in range(2, 34)]
FIRST = ["\tmov.b32 \t%r1, 0f00000000;", *ZEROS, "\t@%p1 bra \t$L__BB0_2;"]


def text(*lines: str) -> str:
    return "\n".join(["$L__BB0_1:", *lines, "$L__BB0_2:", "\tret;", ""])


def test_registers_are_set_once() -> None:
    more = "\tmov.b32 \t%r50, 0;"
    assert without_repeats(text(*FIRST, FIRST[0], more, *ZEROS)) == text(*FIRST, more)


@pytest.mark.parametrize("between", [
    "\tadd.s32 \t%r2, %r60, 1;", "\t@%p2 mov.b32 \t%r2, %r60;", "\tmov.b32 \t%r2, %r60;", "\tmov.b32 \t%r2, 7;",
    "\t{ wgmma.mma_async {%r70, %r2}, %rd1; }",
])
def test_a_register_that_has_changed_is_set_again(between: str) -> None:
    assert without_repeats(text(*FIRST, between, *ZEROS)) == text(*FIRST, between, ZEROS[0])


def test_registers_behind_a_label_are_set() -> None:
    whole = text(*FIRST, "$L__BB0_3:", FIRST[0], *ZEROS)
    assert without_repeats(whole) == whole
