"""Tensor maps in tables, and maps that clip slices: defects put into the code, each of which the simulator must see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from catalogue.case import Case
from catalogue.groups import cases
from support.simulator.edits import calls, drop, operand, pattern
from support.thorough import part

from tilewright.backend_ptx.abi import AbiParam, Lowered
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.backend_ptx.simulator import entry as simulator_entry

CASES = {case.name.removeprefix("hopper-"): case for case in cases()}
SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]
FENCE, LOAD, STORE, EXPECT = "fence.proxy.tensormap", "shared::cluster.global", "global.shared::cta", "expect_tx"
TRY = "mbarrier.try_wait"
Edit = Callable[[str], str]


@cache
def lowered(name: str) -> Lowered:
    case = CASES[name]
    made: Lowered = case.kernel.lower(*case.args(), target="sm_90a").lowered
    return made


def is_right(case: Case, code: Lowered, **how: Any) -> bool:
    args = case.args()
    want = case.reference(*args)
    simulate_lowered(code, case.grid, case.kernel.lower(*args).values, max_steps=50_000, **how)
    try:
        case.check(case.results(args), want, "the simulator")
    except AssertionError:
        return False
    return True


def index_of(text: str, part: str, by: str) -> str:
    """The instructions with this text take the map of another array of the list: `by` is made of the array's number."""
    address = calls(text, part)[0].group(1).split("ptr %")[1].split(",")[0]
    made = rf"(%\w+ = mul i64) (%\w+), 128(\n.*\n *%{address} = addrspacecast)"
    return pattern(text, made, rf"%other = {by}\n  \1 %other, 128\3".replace("OLD", r"\2"))


def late(text: str, part: str, position: int) -> str:
    """The same rows of the array, but those that follow the slice's end are copied too."""
    first = operand(text, part, position, "sub i32 OLD, 5").replace("%changed", "%earlier")
    return operand(first, part, position + 1, "add i32 OLD, 5")


DEFECTS: dict[str, tuple[str, Edit]] = {
    "the producer does not acquire a's map": ("grouped", partial(drop, part=FENCE)),
    "the producer does not acquire b's map": ("grouped", partial(drop, part=FENCE, which=1)),
    "nobody acquires the map of what is stored": ("grouped", partial(drop, part=FENCE, which=2)),
    "no map is acquired where the loop takes arrays": ("summed-groups", partial(drop, part=FENCE)),
    "one thread acquires what another uses": ("grouped", partial(operand, part=FENCE, position=1, by="false", which=2)),
    "acquired where the entry is the last one again": (
        "grouped", partial(operand, part=FENCE, position=1, by="xor i1 OLD, true")),
    "loads take the first array's map": ("grouped", lambda text: index_of(text, LOAD, "mul i64 OLD, 0")),
    "loads take the next array's map": ("grouped", lambda text: index_of(text, LOAD, "add i64 OLD, 1")),
    "the fence is for another array's map": ("grouped", lambda text: index_of(text, FENCE, "mul i64 OLD, 0")),
    "too few bytes announced": ("grouped", partial(operand, part=EXPECT, position=1, by="8192")),
    "too many bytes announced": ("ragged", partial(operand, part=EXPECT, position=1, by="12304")),
    "the producer waits for the other parity in a while loop": (
        "counted-down", partial(operand, part=TRY, position=1, by="xor i32 OLD, 1")),
    "consumers do not wait in a while loop": ("counted-down", partial(drop, part=TRY, which=1)),
    "a load is clipped five rows too late": ("parts-of-entries", lambda text: late(text, LOAD, 4)),
    "a store is clipped five rows too late": ("ragged", lambda text: late(text, STORE, 3)),
    "a load takes the slice to start with the array": ("ragged", partial(operand, part=LOAD, position=5, by="0")),
    "a store takes the slice to start with the array": ("ragged", partial(operand, part=STORE, position=4, by="0")),
    "a store goes a row beyond the slice": ("ragged", partial(
        operand, part=STORE, position=4, by="add i32 OLD, 1")),
    "a store is not clipped": ("ragged", partial(operand, part=STORE, position=3, by="0")),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defects_are_seen(name: str) -> None:
    which, edit = DEFECTS[name]
    code = lowered(which)
    broken = replace(code, llvm_text=edit(code.llvm_text))
    assert broken.llvm_text != code.llvm_text
    for how in part(SCHEDULES[::-1], 2):
        try:
            assert not is_right(CASES[which], broken, **how), f"missed under {how}"
        except SimError:
            continue


def test_a_table_of_another_launch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps of arrays that the list held before."""
    code, before = lowered("grouped"), CASES["grouped"].args(seed=1)
    parameter = simulator_entry._parameter

    def stale(param: AbiParam, args: Any, blocks: Any) -> Any:
        return parameter(param, before if param.kind == "map_table" and param.argument == 0 else args, blocks)

    monkeypatch.setattr(simulator_entry, "_parameter", stale)
    assert not is_right(CASES["grouped"], code)


def paths(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if "cp.async.bulk.tensor" in line)


@pytest.mark.parametrize(("name", "ranks"), [
    ("grouped", {"2d"}), ("ragged", {"3d", "4d"}), ("packed-attention", {"4d"}),
])
def test_maps_of_slices_have_two_dimensions_more(name: str, ranks: set[str]) -> None:
    """The weights of `ragged` have three axes of their own."""
    assert {found for line in paths(lowered(name).llvm_text) for found in re.findall(r"tensor\.(.d)", line)} == ranks


def test_a_slice_ends_where_its_neighbour_begins() -> None:
    """NaNs beside a slice reach nothing: they are neither loaded nor multiplied by zero."""
    case = CASES["ragged"]
    args = case.args()
    x, starts = args[0], args[2]
    x[starts[1]:] = np.nan
    simulate_lowered(lowered("ragged"), case.grid, case.kernel.lower(*args).values)
    assert np.isfinite(args[3][:starts[1]].astype(np.float32)).all()
