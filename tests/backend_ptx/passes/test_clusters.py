"""Blocks spread over clusters: which axes are cut, when there is no cluster and why, and what the grid becomes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.decisions import told
from support.interp_cases import full_grid
from support.pass_kernels import function

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.bulk import bulk_layout, part_of_slot
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import MbarrierArrive, MbarrierInit, MbarrierWait, TmaLoad
from tilewright.backend_ptx.passes.clusters.form_clusters import form_clusters
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate_function
from tilewright.backend_ptx.targets import TARGETS, get_target
from tilewright.interp import compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.layouts.flat import OFFSET
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.cut_tiles import alike
from tilewright.tileir.plan import Hints
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

HOPPER = get_target("sm_90a")
ARRAY = "array<?x?x{}, strides=?x1, stride_div=8x1, align=16, disjoint, small>"


def kernel(
    body: str = "", m: int = 128, n: int = 64, after: str = "", out: str = "", hints: str = "num_ctas=2",
    dtype: str = "bf16",
) -> Function:
    """y = a @ b, one tile for each block; `body` stands in the loop behind the product, `after` behind the loop."""
    a, y = ARRAY.format(dtype), ARRAY.format("f32")
    acc = f"tile<{m}x{n}xf32>"
    text = f"""func @k(%a: {a}, %b: {a}, %y: {y}, %n: i32) hints({hints}) {{
  %i: i32 = block_id(axis=0)
  %j: i32 = block_id(axis=1)
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %zeros: {acc} = constant(value=0x0p+0, type={acc})
  %sum: {acc} = for(lower=%zero, upper=%n, step=%one, init=(%zeros)) .loop(%k: i32, %acc: {acc}) {{
    %ta: tile<{m}x32x{dtype}> = load(array=%a, index=(%i, %k), shape=({m}, 32), steps=({m}, 32), order=(0, 1))
    %tb: tile<32x{n}x{dtype}> = load(array=%b, index=(%k, %j), shape=(32, {n}), steps=(32, {n}), order=(0, 1))
    %next: {acc} = mma(a=%ta, b=%tb, acc=%acc)
    {body}
    yield(values=(%next))
  }}
  {after}
  store(array=%y, index=(%i, %j), value={out or '%sum'}, steps=({m}, {n}), order=(0, 1))
  return()
}}
"""
    return parse(text)


def formed(f: Function, target: str = "sm_90a") -> Function:
    form_clusters(Compilation(f, get_target(target)))
    verify(f)
    return f


def shapes(f: Function) -> list[tuple[int, ...]]:
    """Of what the products take and give."""
    [product] = [op for op in f.walk() if isinstance(op, Mma)]
    return [v.type.shape for v in (product.a, product.b, product.result)]


@pytest.mark.parametrize("m, n, ctas, parts", [
    (128, 64, 2, [(64, 32), (32, 64), (64, 64)]),
    (256, 64, 4, [(64, 32), (32, 64), (64, 64)]),
    (64, 128, 2, [(64, 32), (32, 64), (64, 64)]),
    (128, 128, 2, [(64, 32), (32, 128), (64, 128)]),  # as long: rows
    (64, 64, 8, [(64, 32), (32, 8), (64, 8)]),
    (128, 256, 2, [(128, 32), (32, 128), (128, 128)]),
    (64, 128, 16, [(64, 32), (32, 16), (64, 16)]),  # at most eight
])
def test_accumulators_are_cut_along_the_longer_axis(m: int, n: int, ctas: int, parts: list[tuple[int, ...]]) -> None:
    f = formed(kernel(m=m, n=n, hints=f"num_ctas={ctas}"))
    assert f.plan.cluster == min(ctas, 8) and shapes(f) == parts


@pytest.mark.parametrize("m, n, dtype, cluster", [
    (256, 256, "bf16", 2), (512, 128, "bf16", 2), (128, 256, "bf16", 1), (512, 256, "bf16", 1), (256, 256, "f32", 1),
])
def test_without_the_hint(m: int, n: int, dtype: str, cluster: int) -> None:
    """Where the registers of one block do not hold the accumulator and those of two do."""
    assert formed(kernel(m=m, n=n, hints="", dtype=dtype)).plan.cluster == cluster
    assert formed(kernel(m=m, n=n, hints="num_ctas=1", dtype=dtype)).plan.cluster == 1


TOP = """%top: tile<64xf32> = reduce_max(src=%sum, axes=(0))
  %line: tile<1x64xf32> = reshape(src=%top, shape=(1, 64))
  %wide: tile<128x64xf32> = broadcast(src=%line, shape=(128, 64))
  %out: tile<128x64xf32> = sub(lhs=%sum, rhs=%wide)"""
BOTH = TOP.replace("%out:", "%less:").replace("%top:", "%up:").replace("src=%top", "src=%up") + """
  %most: tile<128xf32> = reduce_max(src=%less, axes=(1))
  %column: tile<128x1xf32> = reshape(src=%most, shape=(128, 1))
  %tall: tile<128x64xf32> = broadcast(src=%column, shape=(128, 64))
  %out: tile<128x64xf32> = sub(lhs=%less, rhs=%tall)"""
READ = "%old: tile<128x64xf32> = load(array=%y, index=({}), shape=(128, 64), steps=(128, 64), order=(0, 1))\n" \
       "  %out: tile<128x64xf32> = add(lhs=%sum, rhs=%old)"
ATOMIC = """%rows: tile<128x64xi32> = constant(value=0, type=tile<128x64xi32>)
  %yes: tile<128x64xi1> = constant(value=True, type=tile<128x64xi1>)
  atomic_rmw(array=%y, indices=(%rows, %rows), value=%sum, mask=%yes, kind="add", shape=(128, 64))"""


def test_columns_where_rows_are_combined() -> None:
    f = formed(kernel(after=TOP, out="%out"))
    assert f.plan.cluster == 2 and shapes(f) == [(128, 32), (32, 32), (128, 32)]


@pytest.mark.parametrize("f, reason", [
    (kernel(after=BOTH, out="%out"), "reduce_max in line"),
    (kernel(after=READ.format("%j, %i"), out="%out"), None),
    (kernel(after=READ.format("%zero, %zero"), out="%out"), None),
    (kernel(m=64, n=8), "2 sub-tiles of an accumulator would be too small"),
    (kernel(dtype="f32"), "a matrix multiply does not use wgmma"),
    (function("transpose"), "there is no matrix multiply"),
])
def test_why_not(f: Function, reason: str | None) -> None:
    f.hints = Hints(num_ctas=2)
    formed(f)
    if reason is None:  # reads and stores of one grid of tiles are cut at the same places
        assert f.plan.cluster == 2
        return
    assert f.plan.cluster == 1 and told(f, "cluster").startswith(f"1 (num_ctas has no effect: {reason}")


def test_reads_between_the_tiles_that_are_stored() -> None:
    after = READ.format("%j, %i").replace("steps=(128, 64)", "steps=(64, 64)")
    f = formed(kernel(after=after, out="%out"))
    assert f.plan.cluster == 1 and "y is also accessed in another way" in told(f, "cluster")


@pytest.mark.parametrize("target", [name for name, t in TARGETS.items() if "wgmma" not in t.matrix_units])
def test_other_targets(target: str) -> None:
    f = formed(kernel(), target)
    assert f.plan.cluster == 1 and target in told(f, "cluster")


def test_protocol() -> None:
    f = kernel(hints="num_ctas=2, num_worker_warps=4")
    run_passes(f, HOPPER)
    a, b = (op for op in f.walk() if isinstance(op, TmaLoad))
    assert (a.array.hint, a.ctas, b.array.hint, b.ctas) == ("a", 1, "b", 2)
    full, empty = (op for op in f.walk() if isinstance(op, MbarrierInit))
    assert (full.count, empty.count) == (1, 2 * 4)
    assert {op.ctas for op in f.walk() if isinstance(op, MbarrierArrive)} == {2}


RANKED = """func @k(%n: i32) plan(cluster=2) {
  %i: i32 = block_id(axis=0)
  %two: i32 = constant(value=2, type=tile<i32>)
  %zero: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %cluster: i32 = floordiv(lhs=%i, rhs=%two)
  %rank: i32 = mod(lhs=%i, rhs=%two)
  %first: i1 = eq(lhs=%rank, rhs=%zero)
  %branch: i32 = if(cond=%first) .then { yield(values=(%zero)) } .orelse { yield(values=(%one)) }
  %count: i32 = for(lower=%zero, upper=%rank, step=%one, init=(%zero)) .loop(%k: i32, %c: i32) {
    %d: i32 = add(lhs=%c, rhs=%one)
    yield(values=(%d))
  }
  %some: i32 = for(lower=%zero, upper=%n, step=%one, init=(%cluster)) .loop(%l: i32, %e: i32) {
    %f: i32 = add(lhs=%e, rhs=%l)
    yield(values=(%f))
  }
  return()
}
"""


@pytest.mark.parametrize(("name", "same"), [
    ("n", True), ("cluster", True), ("some", True), ("f", True), ("rank", False), ("first", False),
    ("branch", False), ("count", False), ("d", False),
])
def test_what_ctas_of_a_cluster_have_alike(name: str, same: bool) -> None:
    """A branch or a trip count that the rank decides makes its results differ, though each value in it is alike."""
    f = parse(RANKED)
    values = {v.hint: v for v in (*f.params, *(r for op in f.walk() for r in op.results))}
    assert alike([values[name]], Unit(f), f.plan.cluster) is same


@pytest.mark.parametrize("shape, inner, parts, want", [
    ((64, 128), 1, 2, (64, 64)), ((64, 256), 1, 4, (64, 64)), ((64, 256), 1, 2, (64, 128)),
    ((64, 128), 0, 2, (64, 64)), ((64, 128), 0, 8, (64, 16)),
    ((64, 64), 1, 2, (32, 64)), ((8, 64), 1, 2, None),  # less than a pattern of the swizzle
    ((2, 32, 64), 2, 2, (1, 32, 64)),
])
def test_parts_of_a_slot(shape: tuple[int, ...], inner: int, parts: int, want: tuple[int, ...] | None) -> None:
    got = part_of_slot(shape, inner, 2, parts)
    assert got == want
    if got is not None:
        whole, part = (bulk_layout(s, inner, 2).bases(OFFSET) for s in (shape, got))
        assert whole[:len(part)] == part


NUMBERED = """%count: i32 = num_blocks(axis=0)
  %both: i32 = add(lhs=%i, rhs=%count)
  %number: f32 = cast(src=%both, dtype=f32)
  %all: tile<128x64xf32> = broadcast(src=%number, shape=(128, 64))
  %lane: tile<128xi32> = iota(size=128, dtype=i32)
  %lanes: tile<128xf32> = cast(src=%lane, dtype=f32)
  %column: tile<128x1xf32> = reshape(src=%lanes, shape=(128, 1))
  %tall: tile<128x64xf32> = broadcast(src=%column, shape=(128, 64))
  %more: tile<128x64xf32> = add(lhs=%sum, rhs=%all)
  %out: tile<128x64xf32> = add(lhs=%more, rhs=%tall)"""
EDGE = """%many: tile<128xi32> = iota(size=128, dtype=i32)
  %few: tile<64xi32> = iota(size=64, dtype=i32)
  %one_row: tile<1x64xi32> = reshape(src=%few, shape=(1, 64))
  %one_column: tile<128x1xi32> = reshape(src=%many, shape=(128, 1))
  %r: tile<128x64xi32> = broadcast(src=%one_column, shape=(128, 64))
  %c: tile<128x64xi32> = broadcast(src=%one_row, shape=(128, 64))
  %inside: tile<128x64xi1> = lt(lhs=%c, rhs=%r)
  %none: tile<128x64xf32> = constant(value=0x1p+0, type=tile<128x64xf32>)
  %out: tile<128x64xf32> = select(cond=%inside, lhs=%sum, rhs=%none)"""


@pytest.mark.parametrize("after", ["", TOP, READ.format("%i, %j"), NUMBERED, EDGE])
@pytest.mark.parametrize("grid", [(2, 2), (3, 1, 2)])
def test_same_results(after: str, grid: tuple[int, ...]) -> None:
    """In the interpreter after each pass, and simulated: blocks have the numbers that the launch gave them."""
    rng = np.random.default_rng(len(after))
    m, n, k = 128 * grid[0] - 56, 64 * grid[1] - 24, 72
    a, b = (rng.integers(-3, 4, s).astype(ml_dtypes.bfloat16) for s in ((m, k), (k, n)))
    start = rng.integers(-9, 9, (m, n)).astype(np.float32)
    padded = full_grid(grid)
    if len(grid) == 3 and ("array=%y" in after or after == EDGE):
        pytest.skip("two blocks would update one tile, or the numbers of blocks play no part")

    def make(hints: str) -> Function:
        return kernel(after=after, out="%out" if after else "", hints=hints)

    def interpreted(f: Function) -> Any:
        y = start.copy()
        compile_function(f).run(padded, [a, b, y, 3])
        return y

    want, seen = interpreted(make("")), set[str]()

    def look(name: str, f: Function) -> None:
        text = to_text(f)
        if text not in seen:  # where the pass found something to do
            np.testing.assert_array_equal(interpreted(parse(text)), want, err_msg=name)
        seen.add(text)

    f = make("num_ctas=2")
    run_passes(f, HOPPER, look)
    assert f.plan.cluster == 2
    y = start.copy()
    simulate_function(make("num_ctas=2"), grid, [a, b, y, 3], "sm_90a", schedule="random", seed=len(grid))
    np.testing.assert_array_equal(y, want)


def test_in_a_linear_grid() -> None:
    """Where y or z are too long for the hardware, it numbers blocks in one dimension: clusters lie along it too."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, s).astype(ml_dtypes.bfloat16) for s in ((200, 40), (40, 104)))
    want, got = np.zeros((200, 104), np.float32), np.zeros((200, 104), np.float32)
    compile_function(kernel(hints="")).run((2, 2, 1), [a, b, want, 2])
    simulate_function(kernel(hints="num_ctas=2) switches(linear_grid=true"), (2, 2), [a, b, got, 2], "sm_90a")
    np.testing.assert_array_equal(got, want)


def test_ctas_that_share_operands_need_no_fence_of_the_whole_gpu() -> None:
    """They wait until their slots are released, and not for each other, before they leave."""
    f = kernel(hints="num_ctas=2")
    run_passes(f, HOPPER)
    text = emit_function(f, HOPPER).llvm_text
    assert "multicast" in text and "barrier.cluster.arrive.release" not in text
    assert text.count("barrier.cluster.arrive.relaxed") == 1
    waits = [op for op in f.body.ops if isinstance(op, MbarrierWait)]
    [ring] = {op.buffer for op in f.walk() if isinstance(op, TmaLoad) and op.ctas > 1}
    assert [op.role for op in waits] == ["producer"] * ring.type.copies
