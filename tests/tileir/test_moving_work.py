"""What passes of the backend have Tile IR do: tiles cut for several blocks, ops that run elsewhere or early."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.interp import compile_function
from tilewright.tileir.analysis.axes import Axes
from tilewright.tileir.analysis.recurrences import computed, find_recurrence
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.arith import Mul
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.cut_tiles import alike, cut_tiles, unshare
from tilewright.tileir.passes.load_ahead import load_ahead
from tilewright.tileir.passes.sinking import reload, sink, used_late
from tilewright.tileir.passes.start_early import start_early
from tilewright.tileir.verifier import verify

SCALED = """
func @scaled(%x: array<?x?xf32, strides=?x1>, %y: array<?x?xf32, strides=?x1>) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %i: i32 = block_id(axis=0)
  %n: i32 = num_blocks(axis=0)
  %count: tile<8xi32> = iota(size=8, dtype=i32)
  %rows: tile<8x1xi32> = reshape(src=%count, shape=(8, 1))
  %all: tile<8x4xi32> = broadcast(src=%rows, shape=(8, 4))
  %blocks: tile<8x4xi32> = broadcast(src=%n, shape=(8, 4))
  %sum: tile<8x4xi32> = add(lhs=%all, rhs=%blocks)
  %f: tile<8x4xf32> = cast(src=%sum, dtype=f32)
  %t: tile<8x4xf32> = load(array=%x, index=(%i, %zero), shape=(8, 4), steps=(8, 4), order=(0, 1))
  %v: tile<8x4xf32> = mul(lhs=%t, rhs=%f)
  store(array=%y, index=(%i, %zero), value=%v, steps=(8, 4), order=(0, 1))
  return()
}
"""


def op_named(function: Function, name: str) -> Op:
    return next(op for op in function.walk() if op.results and op.result.hint == name)


def value_named(function: Function, name: str) -> Value:
    values = (v for op in function.walk() for v in (*op.results, *(p for block in op.blocks for p in block.params)))
    return next(v for v in values if v.hint == name)


def no_gather(value: Value) -> Op:
    raise AssertionError(f"{value} is no partial result")


@pytest.mark.parametrize("axis", [0, 1])
def test_several_blocks_compute_what_one_did(axis: int) -> None:
    x = np.arange(60, dtype=np.float32).reshape(15, 4)  # the last tile is cut by the edge, too
    whole, parts = np.zeros_like(x), np.zeros_like(x)
    compile_function(parse(SCALED)).run((2, 1, 1), [x, whole])
    function = parse(SCALED)
    unshare(function)
    nodes = Axes(function, 2).component((op_named(function, "v").result, axis))
    cut_tiles(Unit(function), dict(nodes), 2, no_gather)
    verify(function)
    assert op_named(function, "t").result.type.shape == ((4, 4) if axis == 0 else (8, 2))
    compile_function(function).run((4, 1, 1), [x, parts])
    np.testing.assert_array_equal(parts, whole)
    load = op_named(function, "t")
    assert isinstance(load, Load)
    assert [alike([index], Unit(function), 2) for index in load.index] == [axis == 1, axis == 0]


LATE = """
func @late(%x: array<?xf32, strides=1>, %w: array<?xf32, strides=1>, %y: array<?xf32, strides=1>) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %a: tile<16xf32> = load(array=%x, index=(%zero), shape=(16), steps=(16), order=(0))
  %b: tile<16xf32> = load(array=%w, index=(%zero), shape=(16), steps=(16), order=(0))
  %n: tile<16xf32> = neg(src=%b)
  %s: f32 = reduce_sum(src=%a, axes=(0))
  %t: tile<16xf32> = broadcast(src=%s, shape=(16))
  %u: tile<16xf32> = mul(lhs=%t, rhs=%n)
  store(array=%y, index=(%zero), value=%u, steps=(16), order=(0))
  return()
}
"""


def names(ops: list[Op]) -> list[str]:
    return [op.result.hint if op.results else op.opcode for op in ops]


def test_ops_sink_below_a_reduction_to_their_first_user() -> None:
    function = parse(LATE)
    block, step, reductions = function.body, dict[Op, int](), 0
    for op in block.ops:
        reductions += isinstance(op, Reduction)
        step[op] = reductions
    assert not used_late(block, step, [op_named(function, "zero")])  # the loads above the reduction read it
    late = used_late(block, step, [op_named(function, name) for name in "bn"])
    assert late == {op_named(function, "b"), op_named(function, "n")}
    sink(block, late)
    verify(function)
    assert names(block.ops) == ["zero", "a", "s", "t", "b", "n", "u", "store", "return"]


def test_a_block_loads_again_what_was_loaded_outside() -> None:
    function = parse(LOOP)
    loop = next(op for op in function.walk() if isinstance(op, For))
    outside = op_named(function, "w")
    made = reload(loop.loop, [outside.result], [outside])
    verify(function)
    assert [type(op) for op in made] == [Load] and loop.loop.ops[0] in made
    assert outside.result not in Unit(function).uses


LOOP = """
func @loop(%x: array<?xf32, strides=1>, %y: array<?xf32, strides=1>, %n: i32, %d: i32) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %w: tile<16xf32> = load(array=%x, index=(%zero), shape=(16), steps=(16), order=(0))
  %r: i32 = for(lower=%zero, upper=%n, step=%one, init=(%zero)) .loop(%k: i32, %p: i32) {
    %q: i32 = floordiv(lhs=%p, rhs=%d)
    %next: i32 = add(lhs=%p, rhs=%k)
    %place: i32 = mul(lhs=%next, rhs=%one)
    %other: i32 = add(lhs=%q, rhs=%one)
    store(array=%y, index=(%place), value=%w, steps=(16), order=(0))
    yield(values=(%next))
  }
  return()
}
"""


def test_what_computes_an_index_and_what_it_takes() -> None:
    function = parse(LOOP)
    body = next(op for op in function.walk() if isinstance(op, For)).loop
    found = computed(body, [value_named(function, "place")], lambda op: True)
    assert found is not None
    assert (names(list(found.ops)), [p.hint for p in found.params]) == (["next", "place"], ["k", "p"])
    division, other = op_named(function, "q"), value_named(function, "other")
    assert computed(body, [other], lambda op: op is not division) is None
    known = computed(body, [other], lambda op: op is not division, lambda value, op: op is division)
    assert known is not None and names(list(known.ops)) == ["other"] and not known.params


def test_the_values_of_the_next_iteration() -> None:
    function = parse(LOOP)
    loop = next(op for op in function.walk() if isinstance(op, For))
    found = find_recurrence(loop, loop.loop.params, lambda op: True)
    assert found is not None and found.condition is None and not found.head
    assert ([v.hint for v in found.state], names(list(found.steps))) == (["p"], ["next"])
    assert find_recurrence(loop, loop.loop.params, lambda op: False) is None


def test_the_next_iteration_of_a_while_loop() -> None:
    function = parse("""
func @rows(%y: array<?xf32, strides=1>, %n: i32) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %r: i32 = while(init=(%zero)) .before(%i: i32) {
    %more: i1 = lt(lhs=%i, rhs=%n)
    %twice: i32 = add(lhs=%i, rhs=%i)
    condition(cond=%more, values=(%twice))
  } .after(%j: i32) {
    %next: i32 = add(lhs=%j, rhs=%one)
    yield(values=(%next))
  }
  return()
}
""")
    loop = next(op for op in function.walk() if isinstance(op, While))
    found = find_recurrence(loop, loop.after.params, lambda op: True)
    assert found is not None and found.condition is value_named(function, "more")
    assert ([v.hint for v in found.state], names(list(found.head))) == (["i"], ["more", "twice"])
    assert names(list(found.steps)) == ["next"]
    compared = op_named(function, "more")
    late = find_recurrence(loop, loop.after.params, lambda op: op is not compared)
    assert late is not None and late.condition is None and names(list(late.head)) == ["twice"]


EARLY = """
func @early(%a: f32, %b: f32) {
  %s: f32 = mul(lhs=%a, rhs=%b)
  %p: f32 = add(lhs=%s, rhs=%a)
  %sum: f32 = add(lhs=%p, rhs=%p)
  %t: f32 = mul(lhs=%b, rhs=%b)
  %d: f32 = add(lhs=%p, rhs=%t)
  %e: f32 = sub(lhs=%d, rhs=%a)
  %y: f32 = mul(lhs=%p, rhs=%b)
  %z: f32 = mul(lhs=%d, rhs=%b)
  return()
}
"""


def test_what_starts_early_leaves_before_it_what_a_later_one_needs() -> None:
    function = parse(EARLY)
    assert start_early(function.body, lambda op: isinstance(op, Mul))
    verify(function)
    # t needs nothing of s and passes by all. y waits for s: z follows it at once, before what neither needs.
    assert names(function.body.ops) == ["s", "t", "p", "d", "y", "z", "sum", "e", "return"]
    assert not start_early(function.body, lambda op: isinstance(op, Mul))


def recurrence(place: str = "%k", written: str = "%y", view: str = "%x", checked: str = "true") -> Function:
    """h = h * x[k] + x[k] over as many rows as the grid's second axis has blocks, less one."""
    return parse(f"""
func @recurrence(%x: array<?x4xf32, strides=4x1>, %y: array<?x4xf32, strides=4x1>) {{
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %blocks: i32 = num_blocks(axis=1)
  %n: i32 = sub(lhs=%blocks, rhs=%one)
  %acc: tile<1x4xf32> = constant(value=0x1p-1, type=tile<1x4xf32>)
  %r: tile<1x4xf32>, %c: i32 = for(lower=%zero, upper=%n, step=%one, init=(%acc, %zero))
      .loop(%k: i32, %h: tile<1x4xf32>, %q: i32) {{
    %d: i32 = mul(lhs={place}, rhs=%one)
    %z: array<?x4xf32, strides=4x1> = slice_array(
        array=%x, axis=0, start=%d, stop=%n, type=array<?x4xf32, strides=4x1>)
    %t: tile<1x4xf32> = load(array={view}, index=(%d, %zero), shape=(1, 4), steps=(1, 4), order=(0, 1), padding="zero",
                             check_bounds={checked})
    %p: tile<1x4xf32> = mul(lhs=%h, rhs=%t)
    %s: tile<1x4xf32> = add(lhs=%p, rhs=%t)
    %e: i32 = add(lhs=%q, rhs=%one)
    yield(values=(%s, %e))
  }}
  store(array={written}, index=(%zero, %zero), value=%r, steps=(1, 4), order=(0, 1))
  return()
}}
""")


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_iterations_load_for_the_next_one(count: int) -> None:
    """To the same bits, also where there is no iteration, and where the last one is the array's last row."""
    x = np.random.default_rng(7).standard_normal((7, 4)).astype(np.float32)
    out = [np.ones((1, 4), np.float32) for _ in range(2)]
    function = recurrence()
    compile_function(function).run((1, count + 1, 1), [x, out[0]])
    load_ahead(Unit(function))
    verify(function)
    compile_function(function).run((1, count + 1, 1), [x, out[1]])
    [loop] = [op for op in function.walk() if isinstance(op, For)]
    assert len(loop.results) == 3
    assert [sum(isinstance(op, Load) for op in block.ops) for block in (loop.loop, function.body)] == [1, 1]
    np.testing.assert_array_equal(out[0], out[1])


@pytest.mark.parametrize(("function", "most"), [
    (recurrence("%q"), 1), (recurrence(written="%x"), 1), (recurrence("%one"), 1), (recurrence(), 0),
    (recurrence(view="%z"), 1), (recurrence(checked="false"), 1)])
def test_loads_that_wait_for_the_iteration_stay(function: Function, most: int) -> None:
    """Of a place that is carried, of an array that the kernel writes, of one place, of more registers, of a view that
    has moved, and those that promise to be inside."""
    load_ahead(Unit(function), most)
    [loop] = [op for op in function.walk() if isinstance(op, For)]
    assert len(loop.results) == 2
