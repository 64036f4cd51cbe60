"""Compiled kernels with warp roles, and defects put into their code: each must be caught under every schedule."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from catalogue.hopper_kernels import product, tf32_product, walked
from support.simulator.edits import (
    LEADING,
    OF_A,
    OF_B,
    STRIDE,
    SWIZZLE,
    calls,
    descriptor,
    drop,
    one_call,
    operand,
    pattern,
)
from support.thorough import THOROUGH, part

import tilewright as tw
from tilewright.backend_ptx.simulator import SimError, Unsupported, simulate_lowered

ZERO = tw.PaddingMode.ZERO
SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 1}]
Edit = Callable[[str], str]


@tw.tile_kernel
def doubled_product(a, b, out, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """The right operand is computed, so threads put it into shared memory."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (i, s), (m, k), padding_mode=ZERO)
        right = tw.load(b, (s, j), (k, n), padding_mode=ZERO) * 2
        acc = tw.mma(left, tw.astype(right, b.dtype), acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def converted_product(a, b, out, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """The left operand is computed: it stays in the registers of the threads that have read it."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (i, s), (m, k), padding_mode=ZERO) * 2
        acc = tw.mma(tw.astype(left, a.dtype), tw.load(b, (s, j), (k, n), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def running_product(a, b, out, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    """Each iteration waits for its MMA; the only tiles on the way are those that threads read."""
    i, j = tw.bid(0), tw.bid(1)
    left = tw.load(a, (i, 0), (m, k), padding_mode=ZERO)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for s in range(tw.cdiv(b.shape[0], k)):
        right = tw.load(b, (s, j), (k, n), padding_mode=ZERO) * 2
        acc = tw.mma(left, tw.astype(right, b.dtype), acc * 0.5)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def attention(q, keys, values, out, m: tw.Constant[int], n: tw.Constant[int], d: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((m, d), dtype=tw.float32)
    top = tw.full((m, 1), -1e30, dtype=tw.float32)
    total = tw.zeros((m, 1), dtype=tw.float32)
    rows = tw.load(q, (i, 0), (m, d), padding_mode=ZERO)
    for s in range(tw.cdiv(keys.shape[0], n)):
        turned = tw.transpose(tw.load(keys, (s, 0), (n, d), padding_mode=ZERO))
        scores = tw.mma(rows, turned, tw.zeros((m, n), dtype=tw.float32))
        column = s * n + tw.arange(n, dtype=tw.int32)[None, :]
        scores = tw.where(column < keys.shape[0], scores, -1e30)
        higher = tw.maximum(top, tw.max(scores, axis=1, keepdims=True))
        weights = tw.exp(scores - higher)
        shrink = tw.exp(top - higher)
        total = total * shrink + tw.sum(weights, axis=1, keepdims=True)
        part = tw.load(values, (s, 0), (n, d), padding_mode=ZERO)
        acc = tw.mma(tw.astype(weights, q.dtype), part, acc * shrink)
        top = higher
    tw.store(out, (i, 0), acc / total)


@dataclass(frozen=True)
class Program:
    """A kernel, its grid, arrays (the last is the result) and tile sizes; what NumPy computes."""

    kernel: Any
    grid: tuple[int, ...]
    shapes: tuple[tuple[int, int], ...]
    sizes: tuple[int, int, int]
    reference: Callable[..., np.ndarray]

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(5)
        *inputs, result = self.shapes
        return [*(_rows(rng.standard_normal(s)) for s in inputs), np.zeros(result, np.float32)]


def _rows(x: np.ndarray) -> np.ndarray:
    """float16, rows of a multiple of 16 bytes."""
    wide = np.zeros((x.shape[0], -(-x.shape[1] // 8) * 8), np.float16)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(a.astype("f4") @ b.astype("f4"))


def _running(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`running_product` with k = 64."""
    acc = np.zeros((a.shape[0], b.shape[1]))
    for first in range(0, b.shape[0], 64):
        part = b[first : first + 64]
        acc = acc / 2 + 2 * _product(a[:, : len(part)], part)
    return acc


def _attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    scores = _product(q, keys.T)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return _product(weights / weights.sum(axis=1, keepdims=True), values)


SHAPES = ((64, 980), (980, 30), (64, 30))  # 16 rounds: twice round the ring and more
PROGRAMS = {
    "product": Program(product, (1, 1), SHAPES, (64, 32, 64), _product),
    "groups": Program(
        product.replace_hints(num_worker_warps=8), (1, 1), ((120, 596), (596, 120), (120, 120)), (128, 128, 64),
        _product),
    "narrow": Program(product, (1, 1), ((64, 200), (200, 8), (64, 8)), (64, 8, 64), _product),  # rows of 16 bytes
    "staged": Program(doubled_product, (1, 1), SHAPES, (64, 32, 64), lambda a, b: 2 * _product(a, b)),
    "converted": Program(converted_product, (1, 1), SHAPES, (64, 32, 64), lambda a, b: 2 * _product(a, b)),
    "running": Program(running_product, (1, 1), ((64, 64), (980, 30), (64, 30)), (64, 32, 64), _running),
    "persistent": Program(walked, (2,), ((250, 600), (600, 32), (250, 32)), (64, 32, 64), _product),
    "pair": Program(
        product.replace_hints(num_ctas=2), (1, 1), ((120, 596), (596, 30), (120, 30)), (128, 32, 64), _product),
    "attention": Program(attention, (1,), ((60, 64), (600, 64), (600, 64), (60, 64)), (64, 64, 64), _attention),
}


@cache
def lowered(name: str) -> Any:
    program = PROGRAMS[name]
    return program.kernel.lower(*program.arrays(), *program.sizes, target="sm_90a").lowered


def result_of(name: str, code: Any = None, **how: Any) -> np.ndarray:
    program = PROGRAMS[name]
    arrays = program.arrays()
    given = program.kernel.lower(*arrays, *program.sizes).values
    simulate_lowered(code or lowered(name), program.grid, given, max_steps=50_000, **how)
    return arrays[-1]


@cache
def right_result(name: str) -> np.ndarray:
    return result_of(name)


def missed(name: str, code: Any) -> list[dict[str, Any]]:
    """The schedules under which the code gives the right result without an error."""
    out = []
    for how in SCHEDULES:
        try:
            got = result_of(name, code, **how)
        except Unsupported:
            raise
        except SimError:
            continue
        if np.array_equal(got, right_result(name), equal_nan=True):
            out.append(how)
    return out


@pytest.mark.parametrize("how", part(SCHEDULES[::-1], 2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right(name: str, how: dict[str, Any]) -> None:
    program = PROGRAMS[name]
    text = lowered(name).llvm_text
    assert "wgmma.mma_async" in text and "cp.async.bulk.tensor" in text
    want = program.reference(*program.arrays()[:-1])
    np.testing.assert_allclose(result_of(name, **how), want, atol=2e-2, rtol=5e-3)


def test_rings_leave_room_for_staged_operands() -> None:
    """wgmma reads tfloat32 along k only, so threads turn b; beside the staged tiles no ring of two slots fits."""
    a, b, out = (np.zeros(s, np.float32) for s in ((128, 256), (256, 128), (128, 128)))
    code = tf32_product.replace_hints(num_worker_warps=8).lower(a, b, out, 128, 128, 128, target="sm_90a").lowered
    assert code.shared_bytes <= 227 << 10 and "wgmma.mma_async" in code.llvm_text


def unreleased(text: str) -> str:
    """Slots are released from the first round on, before a product has read them."""
    arrive = one_call(text, "mbarrier.arrive.shared", 0)
    predicate = arrive.group(1).split(", ")[1].split()[-1]
    return pattern(text, rf"^( *{predicate} = and i1 (%\w+)), %\w+$", r"\1, \2")


def _before(text: str, part: str, next_part: str) -> int:
    """Which of the calls with `part` is the last one above the first with `next_part`."""
    return text[: text.index(f'"@$1 {next_part}')].count(part) - 1


TRY, EXPECT, ARRIVE, INIT = "mbarrier.try_wait", "arrive.expect_tx", "mbarrier.arrive.shared", "mbarrier.init"
COPY, WAIT, TOGETHER, SHARE = "cp.async.bulk.tensor", "wgmma.wait_group", "barrier.cluster", "multicast"
OWN_FENCE = '"wgmma.fence'  # not one in the text of a product
NEXT_SLOT = r"add i32 (%\w+), 1(\n.*select i1 %\w+, i32 0, i32 %\w+)$"
EMPTY = r"(mbarrier\.init.*i32) 4\)"

DEFECTS: dict[str, tuple[str, Edit]] = {
    "slots are released before the product is done": ("product", partial(drop, part=WAIT)),
    "slots are released a round early": ("product", unreleased),
    "another slot is released": ("product", partial(operand, part=ARRIVE, position=0, by="add i32 OLD, 8")),
    "every lane releases": ("product", partial(operand, part=ARRIVE, position=1, by="true")),
    "one product too many runs on": ("product", partial(pattern, old=r"(wait_group\.sync\.aligned) 1;", new=r"\1 2;")),
    "consumers do not wait for a slot": ("product", partial(drop, part=TRY, which=1)),
    "the producer does not wait for a slot": ("product", partial(drop, part=TRY)),
    "consumers wait for the other parity": (
        "product", partial(operand, part=TRY, position=1, by="xor i32 OLD, 1", which=1)),
    "the producer waits for the other parity": ("product", partial(operand, part=TRY, position=1, by="xor i32 OLD, 1")),
    "consumers' parity never flips": ("product", partial(operand, part=TRY, position=1, by="0", which=1)),
    "the producer's parity never flips": ("product", partial(operand, part=TRY, position=1, by="1")),
    "too few bytes announced": ("product", partial(operand, part=EXPECT, position=1, by="4096")),
    "too many bytes announced": ("product", partial(operand, part=EXPECT, position=1, by="12304")),
    "an arrival too few": ("product", partial(pattern, old=EMPTY, new=r"\1 3)")),
    "an arrival too many": ("product", partial(pattern, old=EMPTY, new=r"\1 5)")),
    "the producer's slot does not advance": ("product", partial(pattern, old=NEXT_SLOT, new=r"add i32 \1, 0\2")),
    "consumers' slot does not advance": ("product", partial(pattern, old=NEXT_SLOT, new=r"add i32 \1, 0\2", which=1)),
    "a copy goes to the wrong place": ("product", partial(operand, part=COPY, position=0, by="add i32 OLD, 1024")),
    "a copy arrives on another barrier": ("product", partial(operand, part=COPY, position=2, by="add i32 OLD, 8")),
    "a copy starts one element too far": ("product", partial(operand, part=COPY, position=3, by="add i32 OLD, 1")),
    "a copy takes the other array": (
        "product", partial(pattern, old=r"ptr %p15, (i32 .*)$", new=r"ptr %p16, \1", which=-1)),
    "half the stride in A's descriptor": ("product", lambda text: descriptor(text, STRIDE, lambda x: x // 2, OF_A)),
    "twice the stride in B's descriptor": ("product", lambda text: descriptor(text, STRIDE, lambda x: x * 2, OF_B)),
    "half the leading offset": ("groups", lambda text: descriptor(text, LEADING, lambda x: x // 2, OF_B)),
    "another swizzle in A's descriptor": ("product", lambda text: descriptor(text, SWIZZLE, lambda x: 2, OF_A)),
    "another swizzle in B's descriptor": ("product", lambda text: descriptor(text, SWIZZLE, lambda x: 1, OF_B)),
    "one step of k twice": ("product", partial(pattern, old=r"(add i64 %\w+), 2$", new=r"\1, 0")),
    "no fence before a product": ("product", partial(drop, part=OWN_FENCE)),
    "products not committed": ("product", partial(drop, part="wgmma.commit")),
    "no wait for the last product": ("product", partial(drop, part=WAIT, which=-1)),
    "barriers not visible to copies": (
        "product", lambda text: drop(drop(text, "fence.mbarrier_init"), "fence.proxy.async")),
    "barriers used before they are initialised": ("product", partial(drop, part="bar.sync 0;")),
    "no proxy fence after a staged operand": ("staged", partial(drop, part="fence.proxy.async", which=-2)),
    "no proxy fence before a slot that threads read is released": (
        "converted", lambda text: drop(text, "fence.proxy.async", _before(text, "fence.proxy.async", ARRIVE))),
    "no barrier after a staged operand": ("staged", partial(drop, part="bar.sync $0", which=-1)),
    "a staged operand overwritten too early": ("staged", partial(drop, part=WAIT)),
    "the last slot of a tile is not released": ("persistent", partial(drop, part=ARRIVE, which=-1)),
    "registers that nobody has given": (
        "groups", lambda text: re.sub(r"inc\.sync\.aligned\.u32 \d+", "inc.sync.aligned.u32 248", text)),
    "blocks of a cluster start apart": ("pair", partial(drop, part=TOGETHER)),
    "blocks of a cluster leave when they are done": ("pair", partial(drop, part=TOGETHER, which=-1)),
    "slots are released in one block of two": ("pair", partial(operand, part=ARRIVE, position=1, by="0")),
    "arrivals of one block expected": ("pair", partial(pattern, old=r"(mbarrier\.init.*i32) 8\)", new=r"\1 4)")),
    "bytes of the own part expected": ("pair", partial(operand, part=EXPECT, position=1, by="10240")),
    "a part comes to one block": ("pair", partial(operand, part=SHARE, position=5, by="1")),
    "parts of a shared operand swapped": ("pair", partial(operand, part=SHARE, position=0, by="xor i32 OLD, 2048")),
    "both blocks bring the same part": ("pair", partial(operand, part=SHARE, position=4, by="and i32 OLD, -64")),
    "scores used before their product is done": ("attention", partial(drop, part=WAIT)),
    "accumulators scaled after the fence": (
        "attention", partial(pattern, old=r"(setp.*) wgmma\.fence\.sync\.aligned;", new=r"\1", which=-1)),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_is_caught(defect: str) -> None:
    name, edit = DEFECTS[defect]
    code = lowered(name)
    text = edit(code.llvm_text)
    assert text != code.llvm_text
    assert missed(name, replace(code, llvm_text=text)) == []


def test_a_tensor_map_with_another_swizzle_is_caught() -> None:
    code = lowered("product")
    params = tuple(
        p if p.tensor_map is None else replace(p, tensor_map=replace(p.tensor_map, swizzle=0)) for p in code.abi.params
    )
    assert missed("product", replace(code, abi=replace(code.abi, params=params))) == []


# Instructions of the protocol, and how many of each a program can do without: an empty slot that nobody waits for any
# more, one of two fences of which either would do, a barrier before each warp stages its rows of the result where rows
# of an operand were that it alone has read. The part of attention's loop that has the mask runs once here: nobody waits
# for its slots to be free, and nothing but its own MMA has touched the accumulators of its scores. A pair of CTAs stays
# until each slot has been released: arrivals come in the order in which a warp makes them here, so that the last tells.
STEPS = ("mbarrier.init", TRY, ARRIVE, EXPECT, COPY, "bar.sync", TOGETHER, OWN_FENCE, "wgmma.commit", WAIT)
SPARE = {("product", ARRIVE): 1, ("pair", TRY): 5, ("groups", ARRIVE): 1, ("staged", ARRIVE): 1, ("staged", TRY): 1,
         ("attention", "bar.sync"): 1, ("attention", ARRIVE): 2, ("attention", OWN_FENCE): 1}


# A pair of CTAs takes longer than these together, and attention than all of them: with TILEWRIGHT_THOROUGH.
PROTOCOLS = ("product", "staged", *(("pair", "attention") if THOROUGH else ()))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_step_of_the_protocol_is_needed(name: str) -> None:
    code = lowered(name)
    for step in STEPS:
        spare = 0
        for which in range(len(calls(code.llvm_text, step))):
            spare += bool(missed(name, replace(code, llvm_text=drop(code.llvm_text, step, which))))
        assert spare == SPARE.get((name, step), 0), f"{name} can do without {spare} of {step}"
