"""Control flow whose conditions and trip counts differ by block, against plain Python; chunked and single agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.interp_cases import assert_same, compile_function

from tilewright.interp import ExecutionOptions
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.parser import parse

HEAD = """
func @kernel(%in: array<?xi32, strides=?>, %out: array<?xi32, strides=?>, %log: array<?xi32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %two: i32 = constant(value=2, type=tile<i32>)
  %three: i32 = constant(value=3, type=tile<i32>)
  %t: tile<1xi32> = load(array=%in, index=(%b), shape=(1), steps=(1), order=(0))
  %n: i32 = reshape(src=%t, shape=())
"""
TAIL = """
  %o: tile<1xi32> = reshape(src=%result, shape=(1))
  store(array=%out, index=(%b), value=%o, steps=(1), order=(0))
  return()
}
"""
COLLATZ = """
  %last: i32, %result: i32 = while(init=(%n, %zero))
  .before(%x: i32, %c: i32) {
    %go: i1 = gt(lhs=%x, rhs=%one)
    condition(cond=%go, values=(%x, %c))
  }
  .after(%y: i32, %d: i32) {
    %r: i32 = mod(lhs=%y, rhs=%two)
    %even: i1 = eq(lhs=%r, rhs=%zero)
    %z: i32 = if(cond=%even)
    .then {
      %h: i32 = floordiv(lhs=%y, rhs=%two)
      yield(values=(%h))
    }
    .orelse {
      %m: i32 = mul(lhs=%y, rhs=%three)
      %p: i32 = add(lhs=%m, rhs=%one)
      yield(values=(%p))
    }
    %e: i32 = add(lhs=%d, rhs=%one)
    yield(values=(%z, %e))
  }
"""
# sum of k * b for k in range(0, n, 2), logging from inside the loop; a uniform carried value counts iterations
TRIANGLE = """
  %result: i32, %count: i32, %same: i32 = for(lower=%zero, upper=%n, step=%two, init=(%zero, %zero, %three))
  .loop(%k: i32, %sum: i32, %i: i32, %s: i32) {
    %kb: i32 = mul(lhs=%k, rhs=%b)
    %next: i32 = add(lhs=%sum, rhs=%kb)
    %i1: i32 = add(lhs=%i, rhs=%one)
    %mark: tile<1xi32> = reshape(src=%i1, shape=(1))
    store(array=%log, index=(%b), value=%mark, steps=(1), order=(0))
    yield(values=(%next, %i1, %s))
  }
"""
# lower bound and step vary too
FROM_BLOCK = """
  %step: i32 = add(lhs=%b, rhs=%one)
  %result: i32 = for(lower=%b, upper=%n, step=%step, init=(%zero))
  .loop(%k: i32, %sum: i32) {
    %next: i32 = add(lhs=%sum, rhs=%k)
    yield(values=(%next))
  }
"""
# a uniform inner loop in a divergent branch, one side stores, the other yields what it captured
NESTED = """
  %big: i1 = gt(lhs=%n, rhs=%three)
  %result: i32 = if(cond=%big)
  .then {
    %s: i32 = for(lower=%zero, upper=%three, step=%one, init=(%n))
    .loop(%k: i32, %a: i32) {
      %c: i1 = gt(lhs=%a, rhs=%k)
      %a2: i32 = if(cond=%c)
      .then {
        %q: i32 = add(lhs=%a, rhs=%b)
        yield(values=(%q))
      }
      .orelse { yield(values=(%k)) }
      yield(values=(%a2))
    }
    %mark: tile<1xi32> = reshape(src=%s, shape=(1))
    store(array=%log, index=(%b), value=%mark, steps=(1), order=(0))
    yield(values=(%s))
  }
  .orelse { yield(values=(%b)) }
"""


def collatz(b: int, n: int, log: list[int]) -> int:
    c = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else n * 3 + 1
        c += 1
    return c


def triangle(b: int, n: int, log: list[int]) -> int:
    for i, _ in enumerate(range(0, n, 2)):
        log[b] = i + 1
    return sum(k * b for k in range(0, n, 2))


def from_block(b: int, n: int, log: list[int]) -> int:
    return sum(range(b, n, b + 1))


def nested(b: int, n: int, log: list[int]) -> int:
    if n <= 3:
        return b
    for k in range(3):
        n = n + b if n > k else k
    log[b] = n
    return n


KERNELS = {"collatz": (COLLATZ, collatz), "triangle": (TRIANGLE, triangle), "from_block": (FROM_BLOCK, from_block),
           "nested": (NESTED, nested)}
PROGRAMS = {name: compile_function(parse(HEAD + body + TAIL)) for name, (body, _) in KERNELS.items()}


def run_both(program: Any, values: list[int], python: Callable[[int, int, list[int]], int]) -> None:
    log = [-1] * len(values)
    want = np.array([python(b, n, log) for b, n in enumerate(values)], np.int32)
    for how in ("chunked", "single"):
        out, marks = np.full(len(values), -7, np.int32), np.full(len(values), -1, np.int32)
        program.run((len(values), 1, 1), [np.array(values, np.int32), out, marks], ExecutionOptions(mode=how))
        assert_same(out, want)
        assert marks.tolist() == log


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.one_of(st.integers(-3, 40), st.just(27)), min_size=1, max_size=40))
def test_divergent_control_flow(name: str, values: list[int]) -> None:
    run_both(PROGRAMS[name], values, KERNELS[name][1])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("value", [-1, 0, 1, 5])
def test_all_blocks_agree(name: str, value: int) -> None:
    run_both(PROGRAMS[name], [value] * 9, KERNELS[name][1])


TILES = """
func @tiles(%in: array<?xi32, strides=?>, %src: array<?x?xf32, strides=?x?>, %out: array<?x?xf32, strides=?x?>) {
  %b: i32 = block_id(axis=0)
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %t: tile<1xi32> = load(array=%in, index=(%b), shape=(1), steps=(1), order=(0))
  %n: i32 = reshape(src=%t, shape=())
  %acc0: tile<1x8xf32> = constant(value=0x0p+0, type=tile<1x8xf32>)
  %acc: tile<1x8xf32> = for(lower=%zero, upper=%n, step=%one, init=(%acc0))
  .loop(%k: i32, %a: tile<1x8xf32>) {
    %x: tile<1x8xf32> = load(array=%src, index=(%k, %zero), shape=(1, 8), steps=(1, 8), order=(0, 1))
    %m: i32 = mod(lhs=%k, rhs=%n)
    %odd: i1 = eq(lhs=%m, rhs=%one)
    %a1: tile<1x8xf32> = if(cond=%odd)
    .then {
      %s: tile<1x8xf32> = sub(lhs=%a, rhs=%x)
      yield(values=(%s))
    }
    .orelse {
      %p: tile<1x8xf32> = add(lhs=%a, rhs=%x)
      yield(values=(%p))
    }
    yield(values=(%a1))
  }
  store(array=%out, index=(%b, %zero), value=%acc, steps=(1, 8), order=(0, 1))
  return()
}
"""


def test_tiles_are_carried_through_divergent_loops() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 12, 50).astype(np.int32)
    source = rng.standard_normal((12, 8)).astype(np.float32)
    want = np.zeros((50, 8), np.float32)
    for b, n in enumerate(counts):
        for k in range(n):
            want[b] = want[b] - source[k] if k % n == 1 else want[b] + source[k]
    program = compile_function(parse(TILES))
    for how in ("chunked", "single"):
        out = np.zeros_like(want)
        program.run((50, 1, 1), [counts, source, out], ExecutionOptions(mode=how))
        assert_same(out, want)


CHOOSE = """
func @choose(%in: array<?xi32, strides=?>, %x: array<?xi32, strides=?>, %y: array<?xi32, strides=?>,
             %out: array<?xi32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %three: i32 = constant(value=3, type=tile<i32>)
  %t: tile<1xi32> = load(array=%in, index=(%b), shape=(1), steps=(1), order=(0))
  %n: i32 = reshape(src=%t, shape=())
  %big: i1 = gt(lhs=%n, rhs=%three)
  %a: array<?xi32, strides=?> = if(cond=%big)
  .then {
    %v: array<?xi32, strides=?> = slice_array(array=%x, start=%three, stop=%n, axis=0, type=array<?xi32, strides=?>)
    yield(values=(%v))
  }
  .orelse { yield(values=(%y)) }
  %extent: i32 = extent(array=%a, axis=0)
  %e: tile<1xi32> = reshape(src=%extent, shape=(1))
  %zero: i32 = constant(value=0, type=tile<i32>)
  %first: tile<1xi32> = load(array=%a, index=(%zero), shape=(1), steps=(1), order=(0))
  %s: tile<1xi32> = add(lhs=%e, rhs=%first)
  store(array=%out, index=(%b), value=%s, steps=(1), order=(0))
  return()
}
"""


def test_a_branch_may_choose_between_arrays() -> None:
    values = np.array([1, 9, 5, 2, 4, 3, 7], np.int32)
    x, y = np.arange(100, 120, dtype=np.int32), np.arange(500, 505, dtype=np.int32)
    want = [n - 3 + 103 if n > 3 else 505 for n in values]
    program = compile_function(parse(CHOOSE))
    for how in ("chunked", "single"):
        out = np.zeros(7, np.int32)
        program.run((7, 1, 1), [values, x, y, out], ExecutionOptions(mode=how))
        assert out.tolist() == want


def test_a_step_of_zero_is_an_error_with_a_place() -> None:
    text = (HEAD + TRIANGLE + TAIL).replace("step=%two", "step=%zero")
    program = compile_function(parse(text))
    with pytest.raises(TileValueError, match="step of this range is 0"):
        program.run((2, 1, 1), [np.ones(2, np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32)])
