"""Operands of 8 bits that threads turn while an MMA runs, in loops whose iterations wait for their MMAs: an mbarrier
hands them on to all warpgroups, and weights stay in the registers in which their sums were."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalogue.hopper_kernels import ZERO

import tilewright as tw
from tilewright.backend_ptx.passes.pipelining import depth, pipeline_loops
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.tileir.engines import THREADS

SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]
KEYS, DEPTH = 150, 32
ARRIVAL = '"@$1 mbarrier.arrive.shared::cta.b64 _, [$0];"'
FENCE = '  call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"()\n'


@tw.tile_kernel
def weighted(q, k, v, out, m: tw.Constant[int], n: tw.Constant[int], d: tw.Constant[int]):
    """Sums that shrink and grow by turns, so that no MMA can add to what the one before has left."""
    rows = tw.load(q, (0, 0), (m, d))
    acc = tw.zeros((m, d), tw.float32)
    for j in range(tw.cdiv(k.shape[0], n)):
        key = tw.load(k, (j, 0), (n, d), padding_mode=ZERO)
        weight = tw.maximum(tw.mma(rows, key.transpose(), tw.zeros((m, n), tw.float32), use_fast_acc=True), 0.0)
        left = 1.0 - tw.max(weight, axis=1, keepdims=True)
        value = tw.load(v, (0, j, 0), (1, n, d), padding_mode=ZERO).reshape((n, d))
        acc = tw.mma(weight.astype(v.dtype), value, acc * left, use_fast_acc=True)
    tw.store(out, (0, 0), acc)


def arrays() -> list[Any]:
    """Small integers, exact in every dtype."""
    rng = np.random.default_rng(5)
    few = (rng.random((128 + KEYS, DEPTH)) < 0.1).astype(ml_dtypes.float8_e4m3fn)
    values = rng.integers(-3, 4, (1, KEYS, DEPTH)).astype(ml_dtypes.float8_e4m3fn)
    return [few[:128], few[128:], values, np.zeros((128, DEPTH), np.float32)]


@cache
def lowered() -> Any:
    return weighted.replace_hints(num_worker_warps=8).lower(*arrays(), 128, 64, DEPTH, target="sm_90a").lowered


def result_of(code: Any, **how: Any) -> np.ndarray:
    given = arrays()
    simulate_lowered(code, (1, 1), weighted.lower(*given, 128, 64, DEPTH).values, max_steps=100_000, **how)
    return given[-1]


@pytest.mark.parametrize("how", SCHEDULES)
def test_weights_find_the_turned_values(how: dict[str, Any]) -> None:
    q, k, v, want = (x.astype(np.float32) for x in arrays())
    for j in range(0, KEYS, 64):
        weight = q @ k[j:j + 64].T
        want = weight @ v[0, j:j + 64] + want * (1 - weight.max(1, keepdims=True))
    np.testing.assert_array_equal(result_of(lowered(), **how), want)


def parts_of(code: Any) -> tuple[str, str, str]:
    """The text before the first store of a turned operand, from there to the first MMA that reads it, and the rest."""
    text: str = code.llvm_text
    first, last = text.index("stmatrix"), text.index("wgmma.mma_async.sync.aligned.m64n32k32")
    return text[:first], text[first:last], text[last:]


def test_warpgroups_alternate_without_meeting() -> None:
    """Weights go from one MMA to the other in registers: the stores are those of values; each warpgroup waits for its
    turn, and for no other barrier."""
    part = parts_of(lowered())[1]
    assert part.count("stmatrix") == 1 and not re.findall("store <\\d+ x i8>", part)
    assert part.count("bar.sync") == 1


def test_a_slot_is_free_when_threads_have_read_it() -> None:
    """They do not wait for their turn before."""
    start, part, _ = parts_of(lowered())
    assert start.rindex("ldmatrix") < start.rindex(FENCE) < start.rindex(ARRIVAL)
    assert part.count(FENCE) == part.count(ARRIVAL) == 1


def test_the_turn_is_passed_when_the_first_mma_has_started() -> None:
    text = "".join(parts_of(lowered())[1:])
    places = [text.index(word) for word in ("bar.sync", "k32.f32.e4m3.e4m3", "bar.arrive", "m64n32k32")]
    assert places == sorted(places)


@pytest.mark.parametrize(("which", "pending"), [(0, 1), (1, 1), (2, 2), (3, 1)])
def test_a_wait_that_leaves_more_is_caught(which: int, pending: int) -> None:
    """An iteration waits for the MMA of the one before, and at its end for the next one's first MMA alone."""
    text: str = lowered().llvm_text
    places = list(re.finditer(r"(?<=wait_group\.sync\.aligned )\d", text))
    assert [place[0] for place in places] == ["0", "0", "1", "0"]
    changed = text[:places[which].start()] + str(pending) + text[places[which].end():]
    for how in SCHEDULES:
        with pytest.raises(SimError):
            result_of(replace(lowered(), llvm_text=changed), **how)


def test_two_slots_need_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A warp may store where an MMA still reads that the next iteration waits for, unless there are three slots."""
    monkeypatch.setitem(depth.APPETITES, THREADS, depth.Appetite(2, 2))
    for least, caught in ((2, True), (pipeline_loops.LATE_SLOTS, False)):
        monkeypatch.setattr(pipeline_loops, "LATE_SLOTS", least)
        code = weighted.replace_hints(num_worker_warps=8).lower(*arrays(), 128, 64, DEPTH, target="sm_90a").lowered
        with pytest.raises(SimError) if caught else nullcontext():
            np.testing.assert_array_equal(result_of(code, **SCHEDULES[1]), result_of(lowered()))


def without_wait(part: str) -> str:
    """Nobody waits for the values."""
    lines = part.splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if "mbarrier.try_wait" in line)
    return "".join(lines[:last] + lines[last + 1:])


def of_half(start: str) -> str:
    """Half of the warps complete a phase of the newest mbarriers."""
    head, *rest = start.rsplit("i32 8)", 3)
    return "i32 4)".join((head, *rest))


DEFECTS: dict[str, tuple[int, Callable[[str], str]]] = {
    "no fence": (1, lambda part: part.replace(FENCE, "", 1)),
    "no arrival": (1, lambda part: part.replace(ARRIVAL, '"// $0 $1"', 1)),
    "no wait": (1, without_wait),
    "half of the warps": (0, of_half),
}


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_of_the_handing_on_is_caught(name: str, how: dict[str, Any]) -> None:
    parts = list(parts_of(lowered()))
    place, edit = DEFECTS[name]
    changed = edit(parts[place])
    assert changed != parts[place]
    parts[place] = changed
    with pytest.raises(SimError):
        result_of(replace(lowered(), llvm_text="".join(parts)), **how)
