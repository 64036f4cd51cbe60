"""Rows that fill the registers: what moves behind reductions, and what stays of a parked row."""

from __future__ import annotations

import pytest
from support.decisions import told
from support.pass_kernels import FOLDER

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.layout import KeepRegisters
from tilewright.backend_ptx.pipeline import PIPELINE
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.parser import parse

Changes = list[tuple[str, str]]


def after(step: str, kernel: str, changes: Changes) -> Function:
    text = (FOLDER / f"{kernel}.tile").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    function = parse(text)
    c = Compilation(function, get_target("sm_90a"))
    for each in PIPELINE:
        each(c)
        if each.__name__ == step:
            break
    return function


def before_the_reduction(function: Function) -> list[str]:
    """The arrays whose tiles are loaded before the row is reduced."""
    end = next(i for i, op in enumerate(function.body.ops) if isinstance(op, Reduction))
    return [op.array.hint for op in function.body.ops[:end] if isinstance(op, Load)]


NARROW = ("16384", "256")  # one warp: its reduction is no exchange, but what waits takes registers as well


@pytest.mark.parametrize(("changes", "expected"), [
    ([], ["x"]),
    ([NARROW], ["x"]),
    ([("array=%bias, index=(%z)", "array=%bias, index=(%i)")], ["x", "bias"]),
    ([("%wf: tile", "store(array=%bias, index=(%z), value=%w, steps=(16384), order=(0))\n  %wf: tile")], ["x", "bias"]),
    ([("reduce_max(src=%f", "reduce_max(src=%fb"),
      ("%s: tile<1xf32>", "%fb: tile<1x16384xf32> = add(lhs=%f, rhs=%b2)\n  %s: tile<1xf32>")], ["x", "bias"]),
], ids=["what all blocks read moves", "in one warp too", "what a block reads for itself stays", "what is written too",
        "and what the reduction needs"])
def test_loads_that_move(changes: Changes, expected: list[str]) -> None:
    assert before_the_reduction(after("sink_loads", "scaled_rows", changes)) == expected


WIDEST = ("32768", "65536")
ALONE = (", disjoint>) {", ", disjoint>) hints(num_ctas=1) {")  # two blocks would share so wide a row


@pytest.mark.parametrize(("changes", "expected"), [
    ([], [16]),  # two blocks of 512 threads: 64 registers each
    ([WIDEST, ALONE], [80]),  # one block: 128 registers
    ([WIDEST, ALONE, ("exp2(src=%d)", "add(lhs=%d, rhs=%d)")], []),  # an addition costs less than what it would keep
], ids=["two blocks", "one block", "cheap to compute again"])
def test_registers_that_stay(changes: Changes, expected: list[int]) -> None:
    function = after("rematerialize_from_shared", "wide_rows", changes)
    assert [op.count for op in function.walk() if isinstance(op, KeepRegisters)] == expected
    assert ("registers of e stay" in told(function, "rematerialized")) == bool(expected)
