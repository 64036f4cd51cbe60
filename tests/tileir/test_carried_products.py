"""Loops that carry a tile in the order of its axes in which they use it, what they add in the next iteration, or what
that begins with."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilewright.interp import compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.arith import Add, Mul
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute, Reshape
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.add_late import add_late
from tilewright.tileir.passes.carry_permuted import carry_permuted
from tilewright.tileir.passes.start_ahead import start_ahead
from tilewright.tileir.verifier import verify

HEAD = """
func @sums(%x: array<?x?xf32, strides=?x1>, %y: array<?x?xf32, strides=?x1>) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %n: i32 = constant(value=3, type=tile<i32>)
  %acc: tile<8x4xf32> = constant(value=0x0p+0, type=tile<8x4xf32>)
"""
BOUNDS = "lower=%zero, upper=%n, step=%one"
TAIL = """
  store(array=%y, index=(%zero, %zero), value=%last, steps=(8, 4), order=(0, 1))
  return()
}
"""


def loop(name: str, init: str, back: str = "(1, 0)", uses: str = "") -> str:
    """%name = init + the sum of three tiles of x, which is added up with the axes swapped."""
    return f"""
  %{name}: tile<8x4xf32> = for({BOUNDS}, init=(%{init})) .loop(%k{name}: i32, %a{name}: tile<8x4xf32>) {{
    %t{name}: tile<8x4xf32> = load(array=%x, index=(%k{name}, %zero), shape=(8, 4), steps=(8, 4), order=(0, 1))
    %u{name}: tile<4x8xf32> = permute(src=%t{name}, axes=(1, 0))
    %p{name}: tile<4x8xf32> = permute(src=%a{name}, axes=(1, 0)){uses}
    %s{name}: tile<4x8xf32> = add(lhs=%p{name}, rhs=%u{name})
    %b{name}: tile<8x4xf32> = permute(src=%s{name}, axes={back})
    yield(values=(%b{name}))
  }}"""


def nested() -> str:
    inner = loop("inner", "whole").replace("\n", "\n  ")
    return f"""
  %last: tile<8x4xf32> = for({BOUNDS}, init=(%acc)) .loop(%j: i32, %whole: tile<8x4xf32>) {{{inner}
    yield(values=(%inner))
  }}"""


def result(function: Function) -> np.ndarray:
    x = np.arange(96, dtype=np.float32).reshape(24, 4)
    out = np.zeros((8, 4), np.float32)
    compile_function(function).run((1, 1, 1), [x, out])
    return out


@pytest.mark.parametrize(("text", "left"), [
    (loop("last", "acc"), 0), (loop("first", "acc") + loop("last", "first"), 0), (nested(), 0),
    (loop("last", "acc", uses="\n    %w: tile<8x4xf32> = mul(lhs=%alast, rhs=%alast)"), 1),
])
@pytest.mark.parametrize("reshaped", [False, True])
def test_what_loops_carry(text: str, left: int, reshaped: bool) -> None:
    """Loops after and around others as well; a use in another order or shape leaves a loop as it is."""
    if reshaped:
        text = re.sub(r"permute\(src=%(a\w+), axes=\(1, 0\)\)", r"reshape(src=%\1, shape=(4, 8))", text)
        text = re.sub(r"permute\(src=%(s\w+), axes=\(1, 0\)\)", r"reshape(src=%\1, shape=(8, 4))", text)
    function = parse(HEAD + text + TAIL)
    before = result(function)
    carry_permuted(Unit(function))
    verify(function)
    loops = [op for op in function.walk() if isinstance(op, For)]
    assert [op.loop.params[1].type.shape for op in loops] == [(8, 4) if left else (4, 8)] * len(loops)
    inside = [op for op in loops[-1].loop.ops if isinstance(op, Permute | Reshape)]
    assert len(inside) == 1 + 2 * left, "that of what is loaded"
    np.testing.assert_array_equal(result(function), before)


ADDED = """
func @added(%x: array<?x4xf32, strides=4x1>, %y: array<?x4xf32, strides=4x1>) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %n: i32 = num_blocks(axis=1)
  %acc: tile<8x4xf32> = constant(value=-0x0p+0, type=tile<8x4xf32>)
  %last: tile<8x4xf32> = for(lower=%one, upper=%n, step=%one, init=(%acc)) .loop(%k: i32, %a: tile<8x4xf32>) {
    %t: tile<8x4xf32> = load(array=%x, index=(%k, %zero), shape=(8, 4), steps=(8, 4), order=(0, 1))
    %part: tile<8x4xf32> = mul(lhs=%t, rhs=%t)
    %s: tile<8x4xf32> = add(lhs=%a, rhs=%part)
    yield(values=(%s))
  }""" + TAIL


@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_parts_are_added_in_the_next_iteration(iterations: int) -> None:
    """To the same bits: those of -0.0 where there is no iteration, too."""
    x = np.random.default_rng(5).standard_normal((40, 4)).astype(np.float32)
    out = [np.ones((8, 4), np.float32) for _ in range(2)]
    function = parse(ADDED)
    grid = (1, iterations + 1, 1)
    compile_function(function).run(grid, [x, out[0]])
    [loop] = [op for op in function.walk() if isinstance(op, For)]
    add_late(Unit(function), [loop], lambda op: isinstance(op, Mul))
    verify(function)
    compile_function(function).run(grid, [x, out[1]])
    assert [type(op) for op in loop.loop.ops[1:3]] == [Add, Mul]
    np.testing.assert_array_equal(out[0].view(np.int32), out[1].view(np.int32))


def part(name: str, bounds: str, init: str, square: str = "%t", rest: str = "") -> str:
    """%name = a loop whose iterations multiply twice, the first time what they load."""
    return f"""
  %{name}: tile<8x4xf32> = for({bounds}, step=%one, init=(%{init})) .loop(%k: i32, %a: tile<8x4xf32>) {{
    %t: tile<8x4xf32> = load(array=%x, index=(%k, %zero), shape=(8, 4), steps=(8, 4), order=(0, 1), padding="zero")
    %p: tile<8x4xf32> = mul(lhs=%t, rhs={square}){rest}
    %e: tile<8x4xf32> = sub(lhs=%p, rhs=%a)
    %s: tile<8x4xf32> = mul(lhs=%e, rhs=%p)
    yield(values=(%s))
  }}"""


def two_parts(**second: str) -> Function:
    """[0, m) and [m, n), m and n given by the grid."""
    return parse("""
func @parts(%x: array<?x4xf32, strides=4x1>, %y: array<?x4xf32, strides=4x1>) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %rows: i32 = num_blocks(axis=1)
  %layers: i32 = num_blocks(axis=2)
  %m: i32 = sub(lhs=%rows, rhs=%one)
  %n: i32 = sub(lhs=%layers, rhs=%one)
  %acc: tile<8x4xf32> = constant(value=0x1p-1, type=tile<8x4xf32>)""" + part(
        "first", "lower=%zero, upper=%m", "acc") + part("last", "lower=%m, upper=%n", "first", **second) + TAIL)


@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 2), (2, 2), (1, 3), (3, 1)])
@pytest.mark.parametrize(("rest", "loads"), [("", 3), ("\n    %w: tile<8x4xf32> = neg(src=%t)", 2)])
def test_iterations_begin_the_next_one(m: int, n: int, rest: str, loads: int) -> None:
    """To the same bits, also where a part is empty. The second part begins with what the first one ended with; it
    stays as it is where it needs what it loads for something else."""
    x = np.random.default_rng(5).standard_normal((40, 4)).astype(np.float32)
    out = [np.ones((8, 4), np.float32) for _ in range(2)]
    function = two_parts(rest=rest)
    compile_function(function).run((1, m + 1, n + 1), [x, out[0]])
    loops = [op for op in function.walk() if isinstance(op, For)]
    changed = start_ahead(Unit(function), loops, lambda op: isinstance(op, Mul), lambda op: True)
    verify(function)
    compile_function(function).run((1, m + 1, n + 1), [x, out[1]])
    assert changed == set(loops[:loads - 1])
    assert sum(isinstance(op, Load) for op in function.walk()) == 3
    assert loads == 2 or loops[1].init[1] is loops[0].results[1]
    np.testing.assert_array_equal(out[0], out[1])


def test_iterations_that_need_the_one_before_stay() -> None:
    """And those whose load could do harm where there is no iteration."""
    function = two_parts(square="%a")
    loops = [op for op in function.walk() if isinstance(op, For)]
    unit = Unit(function)
    assert not start_ahead(unit, loops[1:], lambda op: isinstance(op, Mul), lambda op: True)
    assert not start_ahead(unit, loops[:1], lambda op: isinstance(op, Mul), lambda op: False)
    assert [len(loop.results) for loop in loops] == [1, 1]
