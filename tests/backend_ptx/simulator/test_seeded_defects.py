"""Defects put into code that the backend printed: each must be caught, as an error or as a wrong result."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import SimError, simulate_lowered


@tw.tile_kernel
def transpose(x, out, m: tw.Constant[int], n: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (m, n))))


@tw.tile_kernel(num_worker_warps=4)
def softmax(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    row = tw.load(x, (i, 0), (1, n), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(row - tw.max(row, axis=1, keepdims=True))
    tw.store(out, (i, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def turn_in_place(x, steps, m: tw.Constant[int]):
    for _ in range(steps):
        tw.store(x, (0, 0), tw.transpose(tw.load(x, (0, 0), (m, m))) + 1)


@tw.tile_kernel
def turned_sum(x, out, m: tw.Constant[int], n: tw.Constant[int]):
    acc = tw.zeros((n, m), dtype=tw.float32)
    for k in range(tw.cdiv(x.shape[1], n)):
        acc = acc + tw.transpose(tw.load(x, (0, k), (m, n), padding_mode=tw.PaddingMode.ZERO))
    tw.store(out, (0, 0), acc)


@tw.tile_kernel
def difference_sum(x, y, out, rounds, n: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((1, n), dtype=tw.float32)
    for k in range(rounds):
        acc = acc + (tw.load(x, (i, k), (1, n)) - tw.load(y, (i, k), (1, n)))
    tw.store(out, (i, 0), acc)


@tw.tile_kernel
def product(a, b, out, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((m, n), dtype=tw.float32)
    for step in range(tw.cdiv(a.shape[1], k)):
        left = tw.load(a, (i, step), (m, k), padding_mode=tw.PaddingMode.ZERO)
        right = tw.load(b, (step, j), (k, n), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(left, right, acc)
    tw.store(out, (i, j), acc)


@dataclass(frozen=True)
class Program:
    """A kernel with arguments; the array `result` is compared."""

    kernel: Any
    grid: tuple[int, ...]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    result: int


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def half(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float16)


PROGRAMS = {
    "transpose": Program(
        transpose, (3, 2), lambda r: (normal(r, 70, 100), np.zeros((100, 72), np.float32)[:, :70], 32, 64), 1),
    "whole": Program(transpose, (1, 1), lambda r: (normal(r, 32, 64), np.zeros((64, 32), np.float32), 32, 64), 1),
    "softmax": Program(softmax, (3,), lambda r: (normal(r, 3, 1000), np.zeros((3, 1000), np.float32), 1024), 1),
    "ring": Program(turned_sum, (1,), lambda r: (normal(r, 60, 300), np.zeros((32, 64), np.float32), 64, 32), 1),
    "own rings": Program(difference_sum, (2,), lambda r: (
        normal(r, 2, 5000)[:, :4998], normal(r, 2, 5000)[:, :4998], np.zeros((2, 1024), np.float32), 5, 1024), 2),
    "product": Program(product, (2, 1), lambda r: (
        half(r, 100, 152), half(r, 152, 56), np.zeros((100, 56), np.float32), 64, 64, 32), 2),
    "in place": Program(turn_in_place, (1,), lambda r: (normal(r, 32, 32), 3, 32), 0),
}


@cache
def lowered(name: str) -> Any:
    program = PROGRAMS[name]
    return program.kernel.lower(*program.make(np.random.default_rng(5)), target="sm_80").lowered


def result_of(name: str, text: str | None = None) -> np.ndarray:
    program = PROGRAMS[name]
    args = program.make(np.random.default_rng(5))
    code = lowered(name)
    given = program.kernel.lower(*args).values
    simulate_lowered(code if text is None else replace(code, llvm_text=text), program.grid, given, max_steps=20_000)
    return np.array(args[program.result])


def caught(name: str, text: str) -> bool:
    try:
        got = result_of(name, text)
    except SimError:
        return True
    return not np.array_equal(got, result_of(name), equal_nan=True)


def edit(text: str, pattern: str, by: str | Callable[[re.Match[str]], str], which: int = 0) -> str:
    """The text with the `which`-th match replaced; a pattern that is not there is an error of this test."""
    found = list(re.finditer(pattern, text, re.M))
    assert found, f"nothing matches {pattern}"
    match = found[which]
    new = by if isinstance(by, str) else by(match)
    return text[: match.start()] + match.expand(new) + text[match.end() :]


def other_accumulator(match: re.Match[str]) -> str:
    """The last of a product's accumulators in place of the first."""
    values = match.group(2).split(", ")
    return match.group(1) + ", ".join([values[-1], *values[1:]]) + ")"


MMA = r"(mma\.sync.*\(i32 %\w+, i32 %\w+, i32 %\w+, i32 %\w+, i32 %\w+, i32 %\w+, )([^)]*)\)"
NUMBER = r"%[\w.]+"
# The first two elements of a vector that is put together.
LANES = rf"(insertelement <. x float> poison, float )({NUMBER})(, i32 0\n.*, float )({NUMBER})(?=, i32 1)"
BARRIER = r'^ *call void asm sideeffect "bar.sync 0;".*$'
WAIT = r'^ *call void asm sideeffect "cp.async.wait_group 2;".*$'
COMMIT = r'^ *call void asm sideeffect "cp.async.commit_group;".*$'
SLOT, AHEAD = -1, 0
# What is wrong: (program, pattern, replacement, which match).
DEFECTS: dict[str, tuple[str, str, str | Callable[[re.Match[str]], str], int]] = {
    "no barrier between store and load of shared memory": ("transpose", BARRIER, "", 0),
    "no barrier in a reduction across warps": ("softmax", BARRIER, "", 0),
    "no barrier around a loop's own memory": ("in place", BARRIER, "", 0),
    "mask one element too wide": ("transpose", rf"icmp slt i32 ({NUMBER}), ({NUMBER})", r"icmp sle i32 \1, \2", 0),
    "mask of the wrong axis": ("transpose", rf"and i1 ({NUMBER}), ({NUMBER})$", r"and i1 \1, \1", -1),
    "edge code skipped": ("transpose", rf"br i1 {NUMBER}, label %(whole\w*), label %edge\w*", r"br label %\1", 0),
    "swizzle of the store differs from the load's": ("whole", rf"(xor i32 {NUMBER}), 32$", r"\1, 16", 0),
    "swapped lanes": ("whole", LANES, r"\1\4\3\2", 0),
    "wrong shuffle distance": ("softmax", r'("=r,r,r"\(i32 %\w+, i32) 4\)', r"\1 2)", 0),
    "wrong kind of shuffle": ("softmax", r"shfl\.sync\.bfly", "shfl.sync.idx", 0),
    "results of two warps stored to one place": (
        "softmax", r"(and i32 %\w+, 96\n.*lshr i32 %\w+), 3$", r"\1, 4", 0),
    "stride taken for a constant": ("transpose", r"sext i32 %p3 to i64$", "add i64 0, 64", 0),
    "vector access that is not aligned": (
        "whole", r"(getelementptr i8, ptr addrspace\(1\) %p0), i64 %\w+", r"\1, i64 4", 0),
    "wrong padding": (
        "softmax", r'("=r,=r,=r,=r,l,b,.*), float \w+\)$', r"\1, float 0x41DDCD6500000000)", -1),
    "wrong axis of the grid": ("transpose", r"sreg\.ctaid\.y\(\)$", "sreg.ctaid.x()", -1),
    "shared memory read that nothing wrote": ("softmax", r"^ *store <1 x float> .*addrspace\(3\).*$", "", 0),
    # The software pipeline: three groups of copies before the loop, one in it; 4 slots.
    "no barrier in a round of the ring": ("ring", BARRIER, "", 0),
    "no wait for the copies": ("ring", WAIT, "", 0),
    "no wait for a thread's own copies": ("own rings", WAIT, "", 0),
    "one group too many in flight": ("ring", r"cp\.async\.wait_group 2;", "cp.async.wait_group 3;", 0),
    "one own group too many in flight": ("own rings", r"cp\.async\.wait_group 2;", "cp.async.wait_group 3;", 0),
    "a group before the loop not closed": ("ring", COMMIT, "", 0),
    "the last group before the loop not closed": ("own rings", COMMIT, "", 2),
    "no group closed in the loop": ("ring", COMMIT, "", 3),
    "copies before the loop go to the wrong slot": (
        "ring", rf"add i32 ({NUMBER}), 8192$", r"add i32 \1, 0", 0),
    "copies in the loop go to the slot that is read": ("ring", rf"add i32 ({NUMBER}), 3$", r"add i32 \1, 4", SLOT),
    "copies in the loop go one slot too far back": ("own rings", rf"add i32 ({NUMBER}), 3$", r"add i32 \1, 2", SLOT),
    "the slot does not come round": ("ring", rf"icmp eq i32 ({NUMBER}), 3$", r"icmp eq i32 \1, 9", -1),
    "the wrong round is loaded ahead": ("own rings", rf"add i32 ({NUMBER}), 3$", r"add i32 \1, 2", AHEAD),
    "a copy reads beyond the array": ("own rings", r'(\], 16, \$2;".*), i32 %\w+\)', r"\1, i32 16)", -1),
    "the edge inside a copy is not seen": ("own rings", r"(smin\.i32\(.*), i32 4\)$", r"smin.i32(i32 4, i32 4)", -1),
    # Tensor cores: fragments by ldmatrix from rings.
    "no barrier in a round of a product": ("product", BARRIER, "", 0),
    "a matrix that is not turned": ("product", r"x4\.trans\.shared", "x4.shared", 0),
    "a matrix that is turned": ("product", r"x4\.shared", "x4.trans.shared", 0),
    "rows of a matrix from the wrong bank": ("product", rf"(xor i32 {NUMBER}), 32$", r"\1, 16", -1),
    "registers of a fragment exchanged": ("product", r'("ldmatrix[^"]* \{)\$0, \$1', r"\1$1, $0", 0),
    "registers of a product exchanged": (
        "product", rf"(mma\.sync.*\()(i32 {NUMBER}), (i32 {NUMBER})", r"\1\3, \2", 0),
    "the same step of k twice": ("product", rf"(xor i32 {NUMBER}), 32$", r"\1, 0", 1),
    "copies of a product go to the slot that is read": ("product", rf"add i32 ({NUMBER}), 3$", r"add i32 \1, 4", 1),
    "one group of a product too many in flight": ("product", r"wait_group 2;", "wait_group 3;", 0),
    "the accumulator of another tile": ("product", MMA, other_accumulator, 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right_as_they_are(name: str) -> None:
    assert not caught(name, lowered(name).llvm_text)


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_is_caught(defect: str) -> None:
    name, pattern, by, which = DEFECTS[defect]
    assert caught(name, edit(lowered(name).llvm_text, pattern, by, which))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_barrier_is_needed(name: str) -> None:
    text = lowered(name).llvm_text
    for which in range(len(re.findall(BARRIER, text, re.M))):
        assert caught(name, edit(text, BARRIER, "", which)), f"barrier {which} of {name} can go"


def test_shared_memory_that_is_too_small() -> None:
    code = lowered("transpose")
    args = PROGRAMS["transpose"].make(np.random.default_rng(5))
    with pytest.raises(SimError, match="of shared memory"):
        simulate_lowered(replace(code, shared_bytes=code.shared_bytes - 16), (3, 2), args[:2])
