"""Tiles that are reduced, spread over clusters: along which axis, from which length on, and why not; in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.decisions import told

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.backend_ptx.passes.clusters.form_clusters import form_clusters
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.tileir.core import Function
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import Hints
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

HOPPER = get_target("sm_90a")
ARRAY = "array<?x?x{}, strides=?x1, stride_div=8x1, align=16, disjoint, small>"


def kernel(rows: int, columns: int, axis: int = 1, hints: str = "", reduce: str = "", dtype: str = "f32",
           array: str = ARRAY) -> Function:
    """y = x less what x is reduced to along an axis."""
    tile, kept = f"tile<{rows}x{columns}x{dtype}>", rows if axis else columns
    line = f"{rows}, 1" if axis else f"1, {columns}"
    shape, result = f"({rows}, {columns})", f"tile<{kept}x{dtype}>"
    reduce = reduce or f"%r: {result} = reduce_sum(src=%t, axes=({axis}))"
    return parse(f"""func @k(%x: {array.format(dtype)}, %y: {array.format(dtype)}) hints({hints}) {{
  %i: i32 = block_id(axis=0)
  %zero: i32 = constant(value=0, type=tile<i32>)
  %t: {tile} = load(array=%x, index=(%i, %zero), shape={shape}, steps={shape}, order=(0, 1), padding="zero")
  {reduce}
  %line: tile<{line.replace(', ', 'x')}x{dtype}> = reshape(src=%r, shape=({line}))
  %all: {tile} = broadcast(src=%line, shape={shape})
  %out: {tile} = sub(lhs=%t, rhs=%all)
  store(array=%y, index=(%i, %zero), value=%out, steps={shape}, order=(0, 1))
  return()
}}
""".replace(" hints()", ""))


def formed(f: Function, target: str = "sm_90a") -> Function:
    form_clusters(Compilation(f, get_target(target)))
    verify(f)
    return f


def gathers(f: Function) -> list[int]:
    """Elements that each block gives the others, exchange by exchange."""
    return [op.src.type.size for op in f.walk() if isinstance(op, ClusterGather)]


@pytest.mark.parametrize("columns, dtype, blocks", [
    (16384, "bf16", 1), (32768, "bf16", 4), (65536, "bf16", 8), (65536, "f32", 8), (131072, "f32", 8),
    (524288, "f32", 1)])
def test_rows_at_odd_addresses_go_to_more_blocks(columns: int, dtype: str, blocks: int) -> None:
    """Their elements are moved one by one."""
    f = kernel(1, columns, dtype=dtype, array=ARRAY.replace("stride_div=8x1, ", ""))
    run_passes(f, HOPPER, until="form_clusters")
    assert f.plan.cluster == blocks


@pytest.mark.parametrize("rows, columns, dtype, blocks", [
    (1, 32768, "f32", 1), (1, 65536, "f32", 2), (1, 65536, "bf16", 2), (1, 262144, "f32", 8), (1, 524288, "f32", 1),
    (1, 32768, "f64", 2), (4, 16384, "f32", 2),
])
def test_without_the_hint(rows: int, columns: int, dtype: str, blocks: int) -> None:
    """Where the registers of one block do not hold the tile and those of eight do."""
    f = kernel(rows, columns, dtype=dtype)
    run_passes(f, HOPPER)
    assert f.plan.cluster == blocks


@pytest.mark.parametrize("rows, columns, axis, exchanged", [
    (1, 1024, 1, [1]), (4, 256, 1, []), (4, 256, 0, []), (256, 1, 0, [1]), (1, 256, 0, []),
])
def test_what_is_exchanged(rows: int, columns: int, axis: int, exchanged: list[int]) -> None:
    """Nothing where another axis than the reduced one can be cut."""
    f = formed(kernel(rows, columns, axis, "num_ctas=2"))
    assert f.plan.cluster == 2 and gathers(f) == exchanged
    assert formed(kernel(rows, columns, axis, "num_ctas=1")).plan.cluster == 1


BOTH = """%a: tile<2048xf32> = reduce_max(src=%t, axes=(1))
  %b: tile<2048xf32> = reduce_max(src=%u, axes=(0))
  %r: tile<2048xf32> = add(lhs=%a, rhs=%b)"""


@pytest.mark.parametrize("f, ctas, reason", [
    (kernel(1, 256, reduce="%n: tile<1xi32> = argmax(src=%t, axis=1)\n  %s: tile<1xf32> = cast(src=%n, dtype=f32)\n"
            "  %m: tile<1xf32> = reduce_max(src=%t, axes=(1))\n  %r: tile<1xf32> = add(lhs=%s, rhs=%m)"),
     2, "argmax in line"),
    (kernel(2048, 2, reduce="%u: tile<2x2048xf32> = permute(src=%t, axes=(1, 0))\n  " + BOTH), 2, None),
    (kernel(1, 4), 8, "tiles are too small for 8 sub-tiles"),
    (kernel(1, 256, reduce="%r: tile<1xf32> = constant(value=0x0p+0, type=tile<1xf32>)"), 2, "there is no matrix"),
])
def test_why_not(f: Function, ctas: int, reason: str | None) -> None:
    f.hints = Hints(num_ctas=ctas)
    formed(f)
    if reason is None:
        assert f.plan.cluster == 2 and gathers(f) == []  # along the rows, which both reduce alike
        return
    assert f.plan.cluster == 1 and told(f, "cluster").startswith(f"1 (num_ctas has no effect: {reason}")


def test_too_much_to_exchange() -> None:
    """A search for the place of the largest keeps rows whole; columns would leave 2048 sums to exchange."""
    f = formed(kernel(2048, 4, hints="num_ctas=2", reduce="""%n: tile<4xi32> = argmax(src=%t, axis=0)
  %m: tile<4xf32> = cast(src=%n, dtype=f32)
  %s: f32 = reduce_sum(src=%m, axes=(0))
  %sums: tile<2048xf32> = reduce_sum(src=%t, axes=(1))
  %ss: tile<2048xf32> = broadcast(src=%s, shape=(2048))
  %r: tile<2048xf32> = add(lhs=%sums, rhs=%ss)"""))
    assert f.plan.cluster == 1 and told(f, "cluster").endswith("would exchange 2049 elements)")


@pytest.mark.parametrize("how", [{}, {"mode": "single"}, {"order": "desc"}, {"order": 7}])
def test_any_order_of_clusters(how: dict[str, Any]) -> None:
    """Blocks of a cluster run together in the interpreter, clusters in any order, after every pass."""
    x = np.random.default_rng(1).integers(-9, 9, (5, 250)).astype(np.float32)
    want = x - x.sum(axis=1, keepdims=True)

    def look(name: str, f: Function) -> None:
        y = np.zeros_like(x)
        compile_function(parse(to_text(f))).run((5, 1, 1), [x, y], ExecutionOptions(**how))
        np.testing.assert_array_equal(y, want, err_msg=name)

    f = kernel(1, 256, hints="num_ctas=4")
    run_passes(f, HOPPER, look)
    assert f.plan.cluster == 4
