"""Products of warpgroups with their rings: every op that orders threads, copies and products is needed."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import pytest
from catalogue import hopper
from catalogue.case import Case

import tilewright as tw
from tilewright.backend_ptx.lower import warpgroup
from tilewright.backend_ptx.lower.function import emit_function
from tilewright.backend_ptx.ops.bulk import MbarrierArrive, MbarrierExpect, MbarrierWait
from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.backend_ptx.ops.warpgroup import ProxyFence, Wgmma, WgmmaWait
from tilewright.backend_ptx.passes.layouts import lower_conversions
from tilewright.backend_ptx.passes.matmul import select_instructions, wait_for_mmas
from tilewright.backend_ptx.passes.pipelining import depth
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Block, Function, Op, clone_function
from tilewright.tileir.engines import THREADS

CASES = {case.name.removeprefix("hopper-"): case for case in hopper.cases()}
TARGET = get_target("sm_90a")
SYNCHRONISES = (MbarrierWait, MbarrierArrive, MbarrierExpect, WgmmaWait, ProxyFence, Barrier)
NO_RING = depth.Appetite(3, 3, least=1000)
# A kernel, the slots that its staged operands may have, and how many of its ops could go: where a round waits for all
# products before it stages B again, they need no wait before A's slot is released.
# What threads stage has passed a proxy fence, as have their reads of the slot: its release needs no other.
KERNELS = [("latency-2-2", NO_RING, 0), ("dequantised", NO_RING, 0)]
if os.environ.get("TILEWRIGHT_THOROUGH"):
    KERNELS += [("dequantised-right", depth.Appetite(3, 3), 1), ("dequantised-right", depth.Appetite(2, 2), 1),
                ("dequantised-right", NO_RING, 2)]
SEEDS = 3


def compiled(case: Case) -> Function:
    function = case.kernel.lower(*case.args(), target="sm_90a").tile_ir()
    run_passes(function, TARGET)
    return function


def is_caught(case: Case, function: Function) -> bool:
    """Whether some order of the warps shows a defect."""
    lowered = emit_function(function, TARGET)
    for seed in range(SEEDS):
        args = case.args()
        try:
            how: Any = {"schedule": "random", "seed": seed} if seed else {}
            simulate_lowered(lowered, case.grid, case.kernel.lower(*args).values, max_steps=20_000, **how)
            case.check(case.results(args), case.reference(*case.args()), "the simulator")
        except (SimError, AssertionError):
            return True
    return False


def places(block: Block) -> Iterator[tuple[Block, Op]]:
    for op in block.ops:
        yield block, op
        for inner in op.blocks:
            yield from places(inner)


def orders(block: Block, op: Op, function: Function) -> bool:
    """Whether an op orders something that no other does. A slot released where no loop follows is not used again."""
    if isinstance(op, WgmmaWait):
        return not is_covered(block, op)
    if isinstance(op, MbarrierArrive) and block is function.body:
        return False
    return isinstance(op, SYNCHRONISES) and not getattr(op, "again", False)


def is_covered(block: Block, wait: WgmmaWait) -> bool:
    """Whether another wait, with no product between, waits for as much."""
    at = block.ops.index(wait)
    for part in (block.ops[at + 1 :], block.ops[:at][::-1]):
        near = itertools.takewhile(lambda op: not (isinstance(op, (Wgmma, Barrier)) or op.blocks), part)
        if any(isinstance(op, WgmmaWait) and op.pending <= wait.pending for op in near):
            return True
    return False


def without(function: Function, number: int) -> tuple[Function, Op]:
    """The function without its synchronising op of this number."""
    out = clone_function(function)
    block, op = [(b, o) for b, o in places(out.body) if orders(b, o, out)][number]
    block.ops.remove(op)
    if isinstance(op, WgmmaWait):
        back = dict(zip(op.results, op.accs, strict=True))
        for other in out.walk():
            other.replace_operands(back)
    return out, op


@pytest.mark.parametrize(("name", "slots", "spare"), KERNELS)
def test_every_synchronisation_is_needed(
    name: str, slots: depth.Appetite, spare: int, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(depth.APPETITES, THREADS, slots)
    monkeypatch.setattr(select_instructions, "_computed", lambda *_: None)  # B stays B
    case, function = CASES[name], compiled(CASES[name])
    assert not is_caught(case, function)
    count = sum(orders(block, op, function) for block, op in places(function.body))
    assert count >= 6
    needless = []
    for number in range(count):
        changed, op = without(function, number)
        if not is_caught(case, changed):
            needless.append(str(op))
    assert len(needless) == spare, f"{name} is right without {needless}"


def test_registers_of_a_in_flight_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_for_mmas, "_writers", lambda *_: [])
    assert is_caught(CASES["dequantised"], compiled(CASES["dequantised"]))


def test_parts_of_a_in_flight_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that is cast before that part of the last iteration has ended."""
    tied = warpgroup._tied
    monkeypatch.setattr(warpgroup, "_tied", lambda ctx, pending, found: tied(ctx, 7 if pending else 0, found))
    function = compiled(CASES["dequantised"])
    assert any(isinstance(op, Wgmma) and op.wide is not None for op in function.walk())
    assert is_caught(CASES["dequantised"], function)


def test_a_staged_operand_waits_for_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(depth.APPETITES, THREADS, NO_RING)
    monkeypatch.setattr(lower_conversions, "still_read", lambda function: set())
    monkeypatch.setattr(select_instructions, "_computed", lambda *_: None)
    assert is_caught(CASES["dequantised-right"], compiled(CASES["dequantised-right"]))


@pytest.mark.parametrize(("name", "products"), [
    ("bfloat16-kn", 2), ("tile-128x64x64", 8), ("8-warps", 2), ("tile-128x256x16", 1), ("float8_e5m2-nk", 2),
    ("tf32-nk", 2), ("dequantised", 2),
])
def test_instructions_of_a_round(name: str, products: int) -> None:
    """For each 64 rows of a warpgroup, one for each step of k; none for tiles that other warpgroups hold."""
    text = emit_function(compiled(CASES[name]), TARGET).llvm_text
    assert text.count("wgmma.mma_async") == products
    assert text.count("wgmma.commit_group") == (2 if name == "dequantised" else 1), "a group, or one for each part"


@pytest.mark.parametrize(("extra", "halved", "parts"), [(0, False, 1), (1, False, 4), (1, True, 1)])
def test_parts_by_what_threads_compute(extra: int, halved: bool, parts: int) -> None:
    """A quarter of the time of the MMAs: four instructions for each element of A, where there are 256 columns. None of
    an MMA whose result the iteration reads, and awaits."""

    @tw.tile_kernel
    def product(a, s, b, c):
        acc, squares = tw.zeros((128, 256), tw.float32), tw.zeros((128, 64), tw.float32)
        for k in range(tw.num_tiles(a, 1, (128, 64))):
            x = tw.load(a, (0, k), (128, 64)).astype(tw.float32)
            if extra:
                squares = squares + x * x
            x = x * tw.load(s, k, 64)[None, :]
            acc = tw.mma(x.astype(b.dtype), tw.load(b, (k, 0), (64, 256)), acc)
            if halved:
                acc = acc * 0.5
        tw.store(c, (0, 0), acc * (1.0 + tw.sum(squares, axis=1, keepdims=True)))

    a, b, c = (tw.spec(text) for text in ("bf16[128,4096]", "bf16[4096,256]", "f32[128,256]"))
    function = product.lower(a, tw.spec("f32[4096]"), b, c, target="sm_90a").tile_ir()
    run_passes(function, TARGET)
    [found] = [op for op in function.walk() if isinstance(op, Wgmma)]
    assert len(found.parts) == parts
    assert emit_function(function, TARGET).llvm_text.count("wgmma.commit_group") == parts


def test_accumulators_from_zero_are_not_read() -> None:
    """The scores of attention start from nothing: scale-d is 0, and no register is cleared for them."""
    case = CASES["attention"]
    function = compiled(case)
    assert sum(isinstance(op, Wgmma) for op in function.walk()) == 4
    assert emit_function(function, TARGET).llvm_text.count("poison, float poison") >= 2
