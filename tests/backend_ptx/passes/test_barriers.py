"""Barriers stand where, and only where, another thread's access must come first."""

from __future__ import annotations

import pytest

from tilewright.backend_ptx.ops.shared import Barrier
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse

ARRAY = "array<?x?xf32, strides=?x1, stride_div=4x1, align=16, disjoint>"
TILE = "tile<64x64xf32>"
AT = "shape=(64, 64), steps=(64, 64), order=(0, 1)"
TO = "steps=(64, 64), order=(0, 1)"


def lowered(body: str, warps: int = 4) -> Function:
    f = parse(f"""
func @k(%a: {ARRAY}, %b: {ARRAY}, %n: i32) hints(num_worker_warps={warps}) {{
  %z: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  {body}
  return()
}}
""")
    run_passes(f, get_target("sm_90a"))
    return f


def barriers(f: Function) -> list[str]:
    """What each barrier waits for: (scope, the next op)."""
    out = []

    def visit(ops: list) -> None:  # type: ignore[type-arg]
        for op, following in zip(ops, [*ops[1:], None], strict=True):
            if isinstance(op, Barrier):
                out.append(f"{op.scope} {following.opcode}")
            for block in op.blocks:
                visit(block.ops)

    visit(f.body.ops)
    return out


LOAD = f"%t: {TILE} = load(array=%a, index=(%z, %z), {AT})"


def test_none_for_different_arrays() -> None:
    assert barriers(lowered(f"{LOAD}\n store(array=%b, index=(%z, %z), value=%t, {TO})")) == []


def test_none_in_place() -> None:
    body = f"{LOAD}\n %u: {TILE} = exp(src=%t)\n store(array=%a, index=(%z, %z), value=%u, {TO})"
    assert barriers(lowered(body)) == []


def test_none_for_other_tiles_in_place_in_a_loop() -> None:
    body = f"""for(lower=%z, upper=%n, step=%one, init=()) .loop(%k: i32) {{
        %t: {TILE} = load(array=%a, index=(%k, %z), {AT})
        store(array=%a, index=(%k, %z), value=%t, {TO})
        yield(values=())
    }}"""
    assert barriers(lowered(body)) == []


@pytest.mark.parametrize("in_place", [False, True])
def test_sums_of_rows_in_a_loop(in_place: bool) -> None:
    """Several threads hold each sum, and one of them stores it: another iteration's stores are the same threads'. A
    thread that loads what another one stores must come first."""
    column = "tile<64x1xf32>"
    old = f"%o: {column} = load(array=%b, index=(%k, %z), shape=(64, 1), steps=(64, 1), order=(0, 1))"
    body = f"""for(lower=%z, upper=%n, step=%one, init=()) .loop(%k: i32) {{
        %t: {TILE} = load(array=%a, index=(%k, %z), {AT})
        %m: tile<64xf32> = reduce_max(src=%t, axes=(1))
        %e: {column} = reshape(src=%m, shape=(64, 1))
        {old if in_place else ""}
        %s: {column} = add(lhs=%e, rhs={"%o" if in_place else "%e"})
        store(array=%b, index=(%k, %z), value=%s, steps=(64, 1), order=(0, 1))
        yield(values=())
    }}"""
    assert barriers(lowered(body)) == (["block load", "block store"] if in_place else [])


def test_store_then_load_of_overlapping_tiles() -> None:
    body = f"""{LOAD}
        store(array=%a, index=(%z, %z), value=%t, {TO})
        %u: tile<32x64xf32> = load(array=%a, index=(%one, %z), shape=(32, 64), steps=(32, 64), order=(0, 1))
        store(array=%b, index=(%z, %z), value=%u, steps=(32, 64), order=(0, 1))"""
    assert barriers(lowered(body)) == ["block load"]


def test_views_alias_their_source() -> None:
    body = f"""{LOAD}
        store(array=%a, index=(%z, %z), value=%t, {TO})
        %v: {ARRAY} = slice_array(array=%a, start=%one, stop=%n, axis=0, type={ARRAY})
        %u: {TILE} = load(array=%v, index=(%z, %z), {AT})
        store(array=%b, index=(%z, %z), value=%u, {TO})"""
    assert barriers(lowered(body)) == ["block load"]


TRANSPOSE = f"{LOAD}\n %p: {TILE} = permute(src=%t, axes=(1, 0))\n store(array=%b, index=(%z, %z), value=%p, {TO})"


def test_a_conversion_between_warps() -> None:
    assert barriers(lowered(TRANSPOSE)) == ["block shared_load"]


def test_one_warp_needs_no_barrier_of_the_block() -> None:
    assert barriers(lowered(TRANSPOSE, warps=1)) == ["warp shared_load"]


def test_a_loop_meets_its_own_last_round() -> None:
    body = "for(lower=%z, upper=%n, step=%one, init=()) .loop(%k: i32) {" + TRANSPOSE + "\n yield(values=()) }"
    assert barriers(lowered(body)) == ["block shared_store", "block shared_load"]


def test_buffers_that_share_bytes() -> None:
    second = TRANSPOSE.replace("%t", "%t2").replace("%p", "%p2")
    assert barriers(lowered(f"{TRANSPOSE}\n{second}")) == [
        "block shared_load", "block shared_store", "block shared_load"]


def test_small_buffers_share_none() -> None:
    body = """%t: tile<1x1024xf32> = load(array=%a, index=(%z, %z), shape=(1, 1024), steps=(1, 1024), order=(0, 1))
        %m: tile<1xf32> = reduce_max(src=%t, axes=(1))
        %s: tile<1xf32> = reduce_sum(src=%t, axes=(1))
        %d: tile<1xf32> = add(lhs=%m, rhs=%s)
        %e: tile<1x1xf32> = reshape(src=%d, shape=(1, 1))
        store(array=%b, index=(%z, %z), value=%e, steps=(1, 1), order=(0, 1))"""
    assert barriers(lowered(body)) == ["block shared_load", "block shared_load"]


@pytest.mark.parametrize("taken", ["then", "orelse"])
def test_one_branch_is_enough(taken: str) -> None:
    write = f"store(array=%a, index=(%z, %z), value=%t, {TO})"
    branches = {"then": "", "orelse": "", taken: write}
    body = f"""{LOAD}
        %c: i1 = gt(lhs=%n, rhs=%z)
        if(cond=%c) .then {{ {branches["then"]} yield(values=()) }} .orelse {{ {branches["orelse"]} yield(values=()) }}
        %u: tile<32x64xf32> = load(array=%a, index=(%one, %z), shape=(32, 64), steps=(32, 64), order=(0, 1))
        store(array=%b, index=(%z, %z), value=%u, steps=(32, 64), order=(0, 1))"""
    assert barriers(lowered(body)) == ["block load"]
