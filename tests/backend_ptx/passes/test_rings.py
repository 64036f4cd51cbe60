"""Rings of TMA: what producer and consumers walk through, which loads get them and why others do not, their slots."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from catalogue import hopper
from catalogue.case import Case
from support.decisions import told
from support.interp_cases import full_grid
from support.pass_kernels import function

from tilewright.backend_ptx.ops.bulk import MbarrierExpect, TmaLoad
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.ops.warpgroup import Stage, Wgmma
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.roles import CONSUMER, PRODUCER, plan_roles
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.interp.lowering import HANDLERS, Entry
from tilewright.tileir.core import Function, Op
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops.control import For, If
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.passes.project import project
from tilewright.tileir.plan import Hints

CASES = {case.name.removeprefix("hopper-"): case for case in hopper.cases()}
TARGET = get_target("sm_90a")
WITH_RINGS = ("latency-2-2", "walked", "chained", "attention-causal", "dequantised", "branches", "rounds", "gathered",
              "squared", "running-top", "scaled-parts")
Visit = tuple[int, int]  # slot, parity


def compiled(case: Case) -> Function:
    made = case.kernel.lower(*case.args(), target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    return made


class Recorder:
    """Handlers of the interpreter that note the visits to slots; blocks must run one at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: dict[tuple[str, Any], list[Visit]] = defaultdict(list)
        monkeypatch.setitem(HANDLERS, "mbarrier_wait", Entry(lambda op, low: self._noting("wait", op), False))
        monkeypatch.setitem(HANDLERS, "mbarrier_arrive", Entry(lambda op, low: self._noting("arrive", op), False))

    def _noting(self, what: str, op: Any) -> Any:
        def note(barriers: Any, slot: Any, last: Any = 1) -> None:
            if getattr(op, "again", False):
                return
            if what == "wait" or np.all(last):
                self.seen[what, op.barriers].append((int(np.max(slot)), int(np.max(last))))
        return note


def visits(part: Function, case: Case, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Visit]]]:
    """What a role does at each set of mbarriers, in the order of their allocation."""
    recorder = Recorder(monkeypatch)
    args = case.args()
    compile_function(part).run(full_grid(case.grid), case.kernel.lower(*args).values, ExecutionOptions(mode="single"))
    order = [op.result for op in part.walk() if isinstance(op, SharedAlloc) and op.type.copies > 1]
    return [(what, recorder.seen[what, b]) for b in order for what in ("wait", "arrive") if (what, b) in recorder.seen]


@pytest.mark.parametrize("name", WITH_RINGS)
def test_both_roles_visit_the_same_slots(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    whole = compiled(case)
    filled = visits(project(whole, PRODUCER), case, monkeypatch)
    used = visits(project(whole, CONSUMER), case, monkeypatch)
    waits, releases = ([v for what, v in used if what == w] for w in ("wait", "arrive"))
    assert filled and len(filled) == len(waits) == len(releases)
    for produced, consumed, released in zip((v for _, v in filled), waits, releases, strict=True):
        # The producer waits for the phase before: of the other parity.
        assert [(slot, 1 - parity) for slot, parity in produced] == consumed
        assert [slot for slot, _ in released] == [slot for slot, _ in consumed]
        assert len(consumed) > 1


@pytest.mark.parametrize("name", WITH_RINGS)
def test_slots_come_round(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slot by slot, the parity changes when the first comes again."""
    case = CASES[name]
    part = project(compiled(case), CONSUMER)
    slots = {op.result: op.type.copies for op in part.walk() if isinstance(op, SharedAlloc)}
    recorder = Recorder(monkeypatch)
    one = (1, 1, 1)  # one block, from its start
    compile_function(part).run(one, case.kernel.lower(*case.args()).values, ExecutionOptions(mode="single"))
    for (what, barriers), seen in recorder.seen.items():
        if what == "wait":
            count = slots[barriers]
            assert seen == [(n % count, n // count % 2) for n in range(len(seen))]


@pytest.mark.parametrize("name", WITH_RINGS)
def test_roles_share_the_work(name: str) -> None:
    whole = compiled(CASES[name])
    producer, consumer = project(whole, PRODUCER), project(whole, CONSUMER)

    def count(part: Function, *kinds: type[Op]) -> int:
        return sum(isinstance(op, kinds) for op in part.walk())

    for kind in (TmaLoad, MbarrierExpect):
        assert count(producer, kind) == count(whole, kind) > 0
        assert count(consumer, kind) == 0
    for kind in (Wgmma, Store):
        assert count(consumer, kind) == count(whole, kind)
        assert count(producer, kind) == 0
    held = [v for op in producer.walk() for v in op.results if getattr(v.type, "shape", ()) and v.op not in
            [a for a in producer.walk() if isinstance(a, SharedAlloc)] and v.type.size > 1]
    assert not held, "the producer holds tiles"
    assert count(producer, For, If) <= count(whole, For, If)


# ---- which loads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "reason"), [
    ("latency-1-4", "ta stays a load: latency=1"),
    ("no-tma", "ta stays a load: allow_tma=False"),
    ("updated", "ta stays a load: the kernel writes its array, or waits for others that may"),
    ("odd-columns", "b stays a load: the stride of axis 0 is not known to be a multiple of 16 bytes"),
    ("sliced", "ta stays a load: its array is sliced along the axis along which its elements are contiguous"),
    ("gathered", "rows stays a load: only 128 bytes"),
    ("until-large", "ta stays a load: whether its iteration executes depends on what other threads compute"),
])
def test_reasons_against_a_ring(name: str, reason: str) -> None:
    what, _, why = reason.partition(": ")
    assert f"{what} ({why})" in told(compiled(CASES[name]), "rings")


@pytest.mark.parametrize(("name", "slots"), [
    ("bfloat16-kn", [6, 6]), ("latency-2-2", [2, 2]), ("latency-3-8", [8, 8]), ("latency-1-4", [4]),
    ("attention", [1, 6, 6]), ("squared", [6, 6]), ("until-large", []), ("odd-strides", []), ("scaled-parts", [6] * 3),
])
def test_slots(name: str, slots: list[int]) -> None:
    """Of each ring of tiles. Loops that follow each other share rings: attention has two loops with two loads, and its
    queries come once."""
    made = compiled(CASES[name])
    filled = dict.fromkeys(op.buffer for op in made.walk() if isinstance(op, TmaLoad))
    assert [buffer.type.copies for buffer in filled] == slots


def test_a_small_tile_comes_with_the_operands() -> None:
    """It has no mbarriers of its own, and is read where it is used."""
    made = compiled(CASES["scaled-parts"])
    copies = [op for op in made.walk() if isinstance(op, TmaLoad)]
    assert [op.array.hint for op in copies] == ["a", "b", "scales"]
    assert len({op.barriers for op in copies}) == 1
    [expected] = [op.bytes for op in made.walk() if isinstance(op, MbarrierExpect)]
    assert expected == sum(op.buffer.type.bytes for op in copies)
    body = next(list(op.loop.ops) for op in made.walk() if isinstance(op, For))
    read = next(i for i, op in enumerate(body) if isinstance(op, SharedLoad))
    assert any(isinstance(op, Wgmma) for op in body[:read])


def with_tiles(m: int, n: int, k: int, **hints: Any) -> Function:
    """The product kernel of the golden files with other tiles, after the passes."""
    text = str(function("gemm"))
    for old, new in (("64x32xbf16", f"{m}x{k}xbf16"), ("32x64xbf16", f"{k}x{n}xbf16"), ("64x64xf32", f"{m}x{n}xf32"),
                     ("(64, 32)", f"({m}, {k})"), ("(32, 64)", f"({k}, {n})"), ("(64, 64)", f"({m}, {n})")):
        text = text.replace(old, new)
    from tilewright.tileir.parser import parse

    made = parse(text)
    made.hints = Hints(**hints)
    run_passes(made, TARGET)
    return made


def test_as_many_slots_as_fit() -> None:
    def slots(made: Function) -> set[int]:
        return {op.buffer.type.copies for op in made.walk() if isinstance(op, TmaLoad)}

    assert slots(with_tiles(128, 256, 64)) == {4}  # 48 KiB each
    assert slots(with_tiles(256, 128, 128)) == {2}
    assert slots(with_tiles(128, 128, 64)) == {6}
    assert slots(with_tiles(128, 128, 64, occupancy=2)) == {3}  # half of the shared memory
    assert slots(with_tiles(128, 256, 64, occupancy=4)) == {4}  # one slot would be no ring: rather fewer blocks


def test_no_ring_where_two_slots_do_not_fit() -> None:
    made = with_tiles(128, 256, 256)
    assert told(made, "rings").startswith("no ring (two slots of 192 KiB do not fit")
    assert not [op for op in made.walk() if isinstance(op, (TmaLoad, Stage))]
    assert made.plan.shared_bytes >= 192 * 1024


def test_tiles_that_fit_nowhere() -> None:
    with pytest.raises(TileValueError, match=r"needs .* KiB of shared memory") as caught:
        with_tiles(256, 256, 256, num_ctas=1)
    assert caught.value.hints == ["use smaller tiles"]


# ---- roles -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("warps", "occupancy"), [(4, None), (8, None), (8, 1), (12, None), (16, None), (8, 2), (4, 2)])
def test_registers_of_roles_fit_the_file(warps: int, occupancy: int | None) -> None:
    (_, consumers, more), (_, producers, less) = plan_roles(warps, occupancy, TARGET)
    assert consumers == warps
    if producers == 1:
        assert less is more is None
        return
    assert less is not None and more is not None
    assert less % 8 == more % 8 == 0 and 24 <= less < more <= 240
    entry = TARGET.registers_per_sm // (32 * (warps + producers) * (occupancy or 1)) // 8 * 8
    assert 32 * (producers * less + warps * more) <= 32 * (warps + producers) * entry
    assert less < entry < more or more == entry


@pytest.mark.parametrize(("warps", "ease", "registers"), [
    (16, True, (104, 40)), (16, False, (112, 24)), (8, True, (232, 40)), (8, False, (240, 24))])
def test_what_a_producer_can_do_without(warps: int, ease: bool, registers: tuple[int, int]) -> None:
    assert tuple(role.registers for role in plan_roles(warps, None, TARGET, ease=ease)) == registers
