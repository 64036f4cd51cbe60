"""Decisions of the passes: number of warps, layouts, the plan of shared memory, the order of the pipeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.decisions import told

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.passes.layouts.assign_layouts import assign_layouts
from tilewright.backend_ptx.passes.pressure.choose_warps import (
    Warps,
    choose_warps,
    decide_warps,
    relieve,
)
from tilewright.backend_ptx.passes.sharing.plan_shared_memory import plan_shared_memory
from tilewright.backend_ptx.pipeline import PIPELINE, run_passes
from tilewright.backend_ptx.resources.shared import buffer_bytes, find_intervals
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.analysis.held_tiles import peak_tile_bytes
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.parser import parse
from tilewright.tileir.passes.manager import check_order
from tilewright.tileir.plan import Hints

TARGET = get_target("sm_90a")


@pytest.mark.parametrize(("elements", "size", "warps"), [
    (32, 4, 1), (128, 4, 1), (256, 4, 2), (1024, 4, 4), (1024, 2, 4), (4096, 4, 4), (8192, 4, 8), (1 << 16, 4, 16),
])
def test_number_of_warps(elements: int, size: int, warps: int) -> None:
    assert decide_warps([(elements, size)], None, TARGET).number == warps


def test_the_user_decides_on_warps() -> None:
    assert decide_warps([(64, 4)], 8, TARGET).number == 8
    with pytest.raises(TileValueError, match="num_worker_warps"):
        decide_warps([(64, 4)], 3, TARGET)


SYNC = ', instruction="mma.m16n8k16.f32.bf16"'


def products(sums: list[tuple[str, str]], opcode: str = "mma_sync", more: str = SYNC) -> Function:
    """Products with accumulators of these (shape, dtype); each starts one of its own."""
    lines = []
    for k, (shape, dtype) in enumerate(sums):
        m, n = shape.split("x")
        for name, size, kind in (("a", f"{m}x32", "bf16"), ("b", f"32x{n}", "bf16"), ("c", shape, dtype)):
            type_ = f"tile<{size}x{kind}>"
            lines.append(f"%{name}{k}: {type_} = constant(value=0x0p+0, type={type_})")
        lines.append(f"%d{k}: tile<{shape}x{dtype}> = {opcode}(a=%a{k}, b=%b{k}, acc=%c{k}{more})")
    return parse("\n".join(["func @k() {", *lines, "return() }"]))


@pytest.mark.parametrize(("sums", "warps"), [
    ([("128x128", "f32")], 4), ([("128x256", "f32")], 8), ([("64x64", "f32")], 4), ([("16x8", "f32")], 1),
    ([("128x128", "f64")], 8), ([("128x64", "f32"), ("128x128", "f32")], 8), ([("64x64", "f32")] * 2, 4),
])
def test_accumulators_decide_on_warps(sums: list[tuple[str, str]], warps: int) -> None:
    """128 registers of a thread for all accumulators together; a float64 takes two."""
    f = products(sums)
    choose_warps(Compilation(f, TARGET))
    assert f.plan.warps == warps, told(f, "num_warps")


@pytest.mark.parametrize(("rows", "warps"), [(128, 8), (256, 16)])
def test_warpgroups_that_would_share_rows_keep_more(rows: int, warps: int) -> None:
    """192 registers of sums in each thread of 8 warps: twice as many warps would divide columns, or 64 rows each."""
    f = products([(f"{rows}x{n * 128 // rows}", "f32") for n in (64, 64, 128, 128)], "wgmma", ', kind="bf16"')
    choose_warps(Compilation(f, get_target("sm_90a")))
    assert f.plan.warps == warps, told(f, "num_warps")


@pytest.mark.parametrize(("rows", "columns", "uses", "warps"), [
    (128, 128, 1, 4), (128, 128, 2, 8), (64, 256, 2, 4), (64, 128, 2, 4)])
def test_an_epilogue_spreads_over_more_warpgroups(rows: int, columns: int, uses: int, warps: int) -> None:
    """What is computed of a sum takes its registers, or others beside it if it is used again; not more warpgroups than
    have rows of their own."""
    f = products([(f"{rows}x{columns}", "f32")], "wgmma", ', kind="bf16"')
    again = "%d0" if uses == 2 else "%bent"
    more = parse(f"""func @k(%d0: tile<{rows}x{columns}xf32>) {{
        %bent: tile<{rows}x{columns}xf32> = erf(src=%d0)
        %out: tile<{rows}x{columns}xf32> = mul(lhs=%bent, rhs={again})
        return() }}""")
    now = {more.params[0]: f.body.ops[-2].results[0]}
    f.body.ops[-1:] = [op.clone(now) for op in more.body.ops]
    choose_warps(Compilation(f, get_target("sm_90a")))
    assert f.plan.warps == warps, told(f, "num_warps")


@pytest.mark.parametrize(("kind", "warps"), [("1x64", 8), ("128x64", 16)])
def test_a_row_that_is_added_to_a_product_takes_few_registers(kind: str, warps: int) -> None:
    """Beside sums of 192 registers in a thread a whole tile is too much."""
    f = products([("128x64", "f32")] * 2 + [("128x128", "f32")] * 2, "wgmma", ', kind="bf16"')
    more = parse(f"""func @k(%d0: tile<128x64xf32>, %other: tile<{kind}xf32>) {{
        %all: tile<128x64xf32> = broadcast(src=%other, shape=(128, 64))
        %out: tile<128x64xf32> = add(lhs=%d0, rhs={"%all" if kind == "1x64" else "%other"})
        return() }}""")
    now = {more.params[0]: next(op.result for op in f.body.ops if op.opcode == "wgmma"),
           more.params[1]: f.body.add_param(more.params[1].type, "other")}
    f.body.ops[-1:] = [op.clone(now) for op in more.body.ops]
    choose_warps(Compilation(f, get_target("sm_90a")))
    assert f.plan.warps == warps, told(f, "num_warps")


@pytest.mark.parametrize(("rows", "columns", "k", "warps"), [(128, 32, 64, 4), (128, 64, 128, 8), (64, 128, 512, 4)])
def test_what_threads_turn_takes_registers_twice(rows: int, columns: int, k: int, warps: int) -> None:
    """64 registers of sums, 64 of a product that is added, and twice those of its first operand; not more warpgroups
    than have rows of their own."""
    f = parse(f"""func @k(%a: tile<{rows}x{k}xe5m2>, %b: tile<{k}x{columns}xe5m2>, %sum: tile<{rows}x{columns}xf32>) {{
        %none: tile<{rows}x{columns}xf32> = constant(value=0x0p+0, type=tile<{rows}x{columns}xf32>)
        %part: tile<{rows}x{columns}xf32> = wgmma(a=%a, b=%b, acc=%none, kind="e5m2", rows_in_pairs=true)
        %out: tile<{rows}x{columns}xf32> = add(lhs=%sum, rhs=%part)
        return() }}""")
    choose_warps(Compilation(f, TARGET))
    assert f.plan.warps == warps, told(f, "num_warps")


def test_a_broadcast_tile_takes_the_registers_of_its_source() -> None:
    f = parse("""func @k(%a: array<?xf32, strides=1, align=16>) {
        %z: i32 = constant(value=0, type=tile<i32>)
        %x: tile<64x1xf32> = load(array=%a, index=(%z), shape=(64), steps=(64), order=(0))
        return() }""".replace("tile<64x1xf32>", "tile<64xf32>").replace("return()", """
        %r: tile<64x1xf32> = reshape(src=%x, shape=(64, 1))
        %b: tile<64x128xf32> = broadcast(src=%r, shape=(64, 128))
        %s: tile<64xf32> = reduce_sum(src=%b, axes=(1))
        return()"""))
    assert peak_tile_bytes(f) == 2 * 64 * 4


def test_multiply_adds_keep_fewer_sums() -> None:
    f = products([("128x128", "f32")], "mma_fma", "")
    choose_warps(Compilation(f, TARGET))
    assert f.plan.warps == 8


def test_tiles_alive_together_spread_over_more_warps() -> None:
    """Eight sums of 4096 elements, all needed at the end; their views and constants take no registers."""
    names = range(8)
    f = parse("\n".join([
        "func @k(%a: array<?xf32, strides=1, align=16>) {", "%z: i32 = constant(value=0, type=tile<i32>)",
        *(f"%x{k}: tile<4096xf32> = load(array=%a, index=(%z), shape=(4096), steps=(4096), order=(0))" for k in names),
        *(f"%r{k}: tile<64x64xf32> = reshape(src=%x{k}, shape=(64, 64))" for k in names),
        *(f"%s{k}: tile<64xf32> = reduce_sum(src=%r{k}, axes=(1))" for k in names), "return() }",
    ]))
    assert peak_tile_bytes(f) == 8 * 4096 * 4 + 64 * 4  # at the first sum
    assert decide_warps([(4096, 4)], None, TARGET, reduces=128).number == 4
    assert relieve(Warps(4, ""), 1 << 20).number == 8
    choose_warps(Compilation(f, TARGET))
    assert f.plan.warps == 8 and "live together" in told(f, "num_warps")


GATED = """func @k(%a: array<?xbf16, strides=1, align=16>, %o: array<?xbf16, strides=1, align=16>, %n: i32) {
  %z: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
BEFORE
  %x: tile<512xbf16> = load(array=%a, index=(%z), shape=(512), steps=(512), order=(0))
  %w: tile<512xf32> = cast(src=%x, dtype=f32)
  %s: tile<512xf32> = mul(lhs=%w, rhs=%w)
  %r: tile<512xbf16> = cast(src=%s, dtype=bf16)
  store(array=%o, index=(%z), value=%r, steps=(512), order=(0))
AFTER
  return()
}"""
LOOP = "for(lower=%z, upper=%n, step=%one, init=()) .loop(%k: i32) {"


@pytest.mark.parametrize(("before", "after", "warps", "reason"), [
    ("", "", 2, "512 elements of 2 bytes: a vector of 16 bytes"),
    (LOOP, "yield(values=()) }", 4, "512 elements of 4 bytes: 16 bytes"),
])
def test_threads_move_whole_vectors_of_what_is_in_memory(before: str, after: str, warps: int, reason: str) -> None:
    """Of bfloat16 numbers, computed with as float32; but in a loop, whose CTAs may be few, of what is computed with."""
    f = parse(GATED.replace("BEFORE", before).replace("AFTER", after))
    choose_warps(Compilation(f, TARGET))
    assert f.plan.warps == warps and reason in told(f, "num_warps")


def test_values_needed_in_a_loop_are_alive_in_it() -> None:
    f = parse("""
func @k(%a: array<?xf32, strides=1, align=16>, %n: i32) {
  %z: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %x: tile<1024xf32> = load(array=%a, index=(%z), shape=(1024), steps=(1024), order=(0))
  for(lower=%z, upper=%n, step=%one, init=()) .loop(%i: i32) {
    %y: tile<1024xf32> = load(array=%a, index=(%i), shape=(1024), steps=(1024), order=(0))
    %s: tile<1024xf32> = add(lhs=%x, rhs=%y)
    %t: tile<1024xf32> = mul(lhs=%s, rhs=%s)
    store(array=%a, index=(%i), value=%t, steps=(1024), order=(0))
    yield(values=())
  }
  return()
}""")
    assert peak_tile_bytes(f) == 3 * 4096  # at the sum: x, which the next round needs, y and s


def with_layouts(text: str) -> Function:
    f = parse(text)
    choose_warps(Compilation(f, TARGET))
    assign_layouts(Compilation(f, TARGET))
    return f


def conversions(f: Function) -> list[str]:
    return [op.src.hint for op in f.walk() if isinstance(op, ConvertLayout)]


def test_loads_of_two_dtypes_agree() -> None:
    f = with_layouts("""
func @k(%a: array<?xbf16, strides=1, align=16>, %b: array<?xf32, strides=1, align=16>,
        %c: array<?xf32, strides=1, align=16>) {
  %i: i32 = block_id(axis=0)
  %x: tile<4096xbf16> = load(array=%a, index=(%i), shape=(4096), steps=(4096), order=(0))
  %y: tile<4096xf32> = load(array=%b, index=(%i), shape=(4096), steps=(4096), order=(0))
  %w: tile<4096xf32> = cast(src=%x, dtype=f32)
  %s: tile<4096xf32> = add(lhs=%w, rhs=%y)
  store(array=%c, index=(%i), value=%s, steps=(4096), order=(0))
  return()
}""")
    assert conversions(f) == []


def test_a_vector_is_loaded_in_the_layout_of_its_broadcast() -> None:
    f = with_layouts("""
func @k(%a: array<?xf32, strides=1, align=16>, %b: array<?x?xf32, strides=?x1, stride_div=4x1, align=16>) {
  %i: i32 = block_id(axis=0)
  %x: tile<64xf32> = load(array=%a, index=(%i), shape=(64), steps=(64), order=(0))
  %r: tile<64x1xf32> = reshape(src=%x, shape=(64, 1))
  %w: tile<64x64xf32> = broadcast(src=%r, shape=(64, 64))
  store(array=%b, index=(%i, %i), value=%w, steps=(64, 64), order=(0, 1))
  return()
}""")
    assert conversions(f) == []


def test_constants_follow_their_users() -> None:
    f = with_layouts("""
func @k(%b: array<?x?xf32, strides=?x1, stride_div=4x1, align=16>,
        %c: array<?x?xf32, strides=1x?, stride_div=1x4, align=16>) {
  %i: i32 = block_id(axis=0)
  %one: tile<64x64xf32> = constant(value=0x1p+0, type=tile<64x64xf32>)
  store(array=%b, index=(%i, %i), value=%one, steps=(64, 64), order=(0, 1))
  store(array=%c, index=(%i, %i), value=%one, steps=(64, 64), order=(0, 1))
  return()
}""")
    assert conversions(f) == []
    assert len({op.result.type.layout for op in f.walk() if op.opcode == "constant"}) == 2


def test_the_order_of_passes_is_checked() -> None:
    with pytest.raises(ValueError, match="choose_warps must run before assign_layouts"):
        check_order((assign_layouts, choose_warps), ((choose_warps, assign_layouts, "a reason"),))
    assert len(set(PIPELINE)) == len(PIPELINE)


@given(st.lists(st.tuples(st.sampled_from([16, 64, 2048, 8192]), st.integers(0, 5)), min_size=1, max_size=8),
       st.sampled_from([None, 2, 8]))
def test_buffers_alive_together_share_no_bytes(wanted: list[tuple[int, int]], occupancy: int | None) -> None:
    """Buffers in a row, each used once more after `later` further buffers."""
    lines: list[str] = []
    for k, (size, _) in enumerate(wanted):
        lines += [f"%b{k}: shared<{size}xf32> = shared_alloc(type=shared<{size}xf32>)"]
        for j, (other, later) in enumerate(wanted[: k + 1]):
            if j + later == k:
                lines.append(f"%v{j}: tile<{other}xf32> = shared_load(buffer=%b{j}, index=(), shape=({other}))")
    f = parse("func @k() {\n" + "\n".join(lines) + "\nreturn() }")
    f.hints = Hints(occupancy=occupancy)
    lives = find_intervals(f)
    plan_shared_memory(Compilation(f, TARGET))
    for a in lives:
        assert a.op.offset >= 0 and a.op.offset + a.size <= f.plan.shared_bytes
        for b in lives:
            if a is not b and a.first <= b.last and b.first <= a.last:
                assert a.op.offset + a.size <= b.op.offset or b.op.offset + b.size <= a.op.offset
    assert f.plan.shared_bytes <= sum(buffer_bytes(op.type) for op in f.walk() if isinstance(op, SharedAlloc))


@pytest.mark.parametrize(("occupancy", "size"), [(None, 19 * 1024), (11, 19 * 1024), (12, 17 * 1024)])
def test_small_buffers_share_bytes_for_a_hint(occupancy: int | None, size: int) -> None:
    """Each reuse costs a barrier, which pays where twelve CTAs fit an SM in place of eleven."""
    lines = ["%a: shared<4096xf32> = shared_alloc(type=shared<4096xf32>)"]
    for k in range(3):
        lines += [f"%b{k}: shared<256xf32> = shared_alloc(type=shared<256xf32>)",
                  f"%v{k}: tile<256xf32> = shared_load(buffer=%b{k}, index=(), shape=(256))"]
    lines.append("%v: tile<4096xf32> = shared_load(buffer=%a, index=(), shape=(4096))")
    f = parse("func @k() {\n" + "\n".join(lines) + "\nreturn() }")
    f.hints = Hints(occupancy=occupancy)
    plan_shared_memory(Compilation(f, TARGET))
    assert f.plan.shared_bytes == size


def test_too_much_shared_memory() -> None:
    f = parse("""
func @k(%a: array<?x?xf32, strides=?x1>, %b: array<?x?xf32, strides=?x1>) {
  %i: i32 = block_id(axis=0)
  %x: tile<256x512xf32> = load(array=%a, index=(%i, %i), shape=(256, 512), steps=(256, 512), order=(0, 1))
  %p: tile<512x256xf32> = permute(src=%x, axes=(1, 0))
  store(array=%b, index=(%i, %i), value=%p, steps=(512, 256), order=(0, 1))
  return()
}""")
    with pytest.raises(TileValueError, match="needs 512 KiB of shared memory, sm_90a has 227 KiB for a block"):
        run_passes(f, TARGET)
