"""Which loads start early: those that may, and only where few blocks share a multiprocessor."""

from __future__ import annotations

import pytest
from support.decisions import told
from support.pass_kernels import FOLDER

from tilewright.backend_ptx.ops.async_copy import AsyncLoad
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse

TEXT = (FOLDER / "scaled_rows.tile").read_text()
BIAS = "load(array=%bias, index=(%z)"


def passed(*changes: tuple[str, str], target: str = "sm_90a") -> Function:
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    function = parse(text)
    run_passes(function, get_target(target))
    return function


def started(function: Function) -> list[str]:
    return [op.array.hint for op in function.walk() if isinstance(op, AsyncLoad)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_all_loads_behind_the_exchange(target: str) -> None:
    function = passed(target=target)
    assert started(function) == ["weight", "bias"]
    assert told(function, "prefetched") == "weight and bias, 64 KiB (no more than 2 CTAs per SM)"


def test_shared_memory_of_the_target_limits_them() -> None:
    assert started(passed(target="sm_86")) == ["weight"]  # 100 KiB for two blocks


@pytest.mark.parametrize(("changes", "expected"), [
    ([("16384", "4096")], []),
    ([(f'{BIAS}, shape=(16384), steps=(16384), order=(0), padding="zero"',
       f'{BIAS}, shape=(16384), steps=(16384), order=(0), padding="nan"')], ["weight"]),
    ([("%wf: tile", "store(array=%bias, index=(%z), value=%w, steps=(16384), order=(0))\n  %wf: tile")], ["weight"]),
    ([("%weight: array<?xbf16, strides=1, align=16", "%weight: array<?xbf16, strides=1, align=2")], ["bias"]),
    ([("%j: i32 = sub(lhs=%one, rhs=%one)",
       "%p: tile<1xi32> = load(array=%places, index=(%i), shape=(1), steps=(1), order=(0))\n"
       "  %j: i32 = reshape(src=%p, shape=())"),
      ("%y: array", "%places: array<?xi32, strides=1, disjoint>, %y: array")], ["bias"]),
], ids=["narrow rows leave room for many blocks", "padding that copies do not know", "written elsewhere",
        "no 16 bytes together", "a place that is loaded"])
def test_what_stays(changes: list[tuple[str, str]], expected: list[str]) -> None:
    assert started(passed(*changes)) == expected
