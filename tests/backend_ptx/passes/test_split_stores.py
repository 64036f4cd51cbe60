"""Large tiles stored in pieces: what is cut and how, and that what arrives in memory is the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from matmul import matmul
from support.thorough import part

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.exchange import exchange_layout, side_cost
from tilewright.backend_ptx.layouts.matrices import matrix_plan, matrix_rows
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.layouts.mma import Fragment, fragment_layouts
from tilewright.backend_ptx.layouts.shared import bank_conflicts
from tilewright.backend_ptx.layouts.warpgroup import warpgroup_layouts
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import TmaStore
from tilewright.backend_ptx.ops.shared import Barrier, SharedAlloc
from tilewright.backend_ptx.passes.barriers.insert_barriers import insert_barriers
from tilewright.backend_ptx.passes.layouts.lower_conversions import lower_conversions
from tilewright.backend_ptx.passes.sharing.plan_shared_memory import plan_shared_memory
from tilewright.backend_ptx.passes.stores import pieces as module
from tilewright.backend_ptx.passes.stores.pieces import PIECE_BYTES, Pieces, find_pieces
from tilewright.backend_ptx.passes.stores.split_stores import split_stores
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.targets import TARGETS, get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function, Op
from tilewright.tileir.dtypes import DType, bfloat16, bool_, float8_e4m3fn, float16, float32, int8
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.blocked import blocked
from tilewright.tileir.layouts.buffers import access_vector
from tilewright.tileir.layouts.flat import distributed, log2
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import Switches
from tilewright.tileir.printer import to_text

FRAGMENT = Fragment(16, 8, 16, 2)
NUMPY = {bfloat16: ml_dtypes.bfloat16, float8_e4m3fn: ml_dtypes.float8_e4m3fn, float32: np.float32,
         float16: np.float16, int8: np.int8, bool_: np.bool_}
ROWS, COLUMNS = (0, 1), (1, 0)  # the order of a store: tile rows along rows of the array, or along its columns
Array = np.ndarray[Any, Any]


def warpgroups(shape: tuple[int, int], warps: int) -> Layout:
    return warpgroup_layouts(shape, 64, FRAGMENT, warps).acc


def warps_by_rows(shape: tuple[int, int], warps: int) -> Layout:
    return fragment_layouts(shape, 64, FRAGMENT, warps, rows_only=True).acc


def epilogue(acc: Layout, dtype: DType, order: tuple[int, int], warps: int, extra: str = "") -> Function:
    """A tile of float32 in the layout of an accumulator is rounded and stored, by way of another layout."""
    m, n = acc.shape
    size = 16 // dtype.bytes
    store = blocked(acc.shape, tuple(reversed(order)), size, warps)
    return parse(f"""#0 = {acc}
#1 = {store}

func @epilogue(%x: array<?x?xf32, strides=?x1, stride_div=4x1, align=16, disjoint, small>,
               %y: array<?x?x{dtype.ir}, strides=?x1, stride_div={size}x1, align=16, disjoint, small>, %at: i32)
    plan(warps={warps}) {{
  %i: i32 = block_id(axis=0)
  %j: i32 = block_id(axis=1)
  %k: i32 = add(lhs=%j, rhs=%at)
  %t: tile<{m}x{n}xf32, #0> = load(array=%x, index=(%i, %j), shape=({m}, {n}), steps=({m}, {n}), order=(0, 1),
    padding="zero")
  %s: tile<{m}x{n}xf32, #0> = neg(src=%t)
  %r: tile<{m}x{n}x{dtype.ir}, #0> = cast(src=%s, dtype={dtype.ir})
  %c: tile<{m}x{n}x{dtype.ir}, #1> = convert_layout(src=%r)
  store(array=%y, index=(%i, %k), value=%c, steps=({m}, {n}), order={order}{extra})
  return()
}}""")


def split(f: Function, target: str, bulk: bool = False) -> list[Store | TmaStore]:
    """Run the pass and those that it needs; the stores. `bulk`: by TMA where that is possible."""
    f.switches = Switches(allow_tma_stores=bulk)
    c = Compilation(f, get_target(target))
    for step in (split_stores, lower_conversions, plan_shared_memory, insert_barriers):
        step(c)
    return [op for op in f.walk() if isinstance(op, (Store, TmaStore))]


def pieces(acc: Layout, dtype: DType, order: tuple[int, int], warps: int) -> Pieces | None:
    store = next(op for op in epilogue(acc, dtype, order, warps).walk() if isinstance(op, Store))
    return find_pieces(acc, tile_access(store.array.type, order, store.steps, acc.shape), warps)


# ---- how ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("acc", "dtype", "order", "warps", "shape"), [
    (warpgroups((128, 256), 8), bfloat16, ROWS, 8, (128, 64)),  # whole lines of the caches
    (warpgroups((128, 256), 8), float32, ROWS, 8, (128, 32)),
    (warpgroups((128, 256), 8), float8_e4m3fn, ROWS, 8, (128, 128)),
    (warpgroups((128, 128), 4), bfloat16, ROWS, 4, (64, 64)),  # rows and columns
    (warpgroups((64, 256), 4), float16, ROWS, 4, (64, 64)),
    (warps_by_rows((128, 128), 4), bfloat16, ROWS, 4, (128, 32)),  # half lines rather than more memory
])
def test_pieces_stay_in_their_warps(
    acc: Layout, dtype: DType, order: tuple[int, int], warps: int, shape: tuple[int, int],
) -> None:
    found = pieces(acc, dtype, order, warps)
    assert found is not None and found.shape == shape
    assert shape[0] * shape[1] * dtype.bytes <= PIECE_BYTES * warps
    f = epilogue(acc, dtype, order, warps)
    stores = split(f, "sm_90a")
    assert len(stores) == found.count == acc.shape[0] * acc.shape[1] // (shape[0] * shape[1])
    scopes = [op.scope for op in f.walk() if isinstance(op, Barrier)]
    assert scopes == ["warp"] * (found.count if found.count > 2 else 3)
    assert len([op for op in f.walk() if isinstance(op, SharedAlloc)]) == (2 if found.count > 2 else 1)
    assert f.plan.shared_bytes <= 2 * PIECE_BYTES * warps


@pytest.mark.parametrize("warps", [4, 8])
def test_columns_go_through_the_block_in_long_segments(warps: int) -> None:
    """A warp has 16 rows of a column, 32 bytes; four warps have a whole line."""
    found = pieces(warpgroups((128, 256), warps), bfloat16, COLUMNS, warps)
    assert found is not None and found.shape == (128, PIECE_BYTES * warps // 256)
    assert found.target == blocked(found.shape, (0, 1), 8, warps)


def test_small_tiles_stay_whole() -> None:
    assert pieces(warpgroups((64, 64), 4), bfloat16, ROWS, 4) is None


def test_tiles_that_registers_do_not_cut_stay_whole() -> None:
    """The upper bits of rows and columns choose the warp."""
    assert pieces(fragment_layouts((128, 128), 64, FRAGMENT, 4).acc, bfloat16, ROWS, 4) is None


@pytest.mark.parametrize(("dtype", "order", "trans"), [
    (bfloat16, ROWS, False), (bfloat16, COLUMNS, True), (float8_e4m3fn, ROWS, False)])
def test_matrices_without_conflicts(dtype: DType, order: tuple[int, int], trans: bool) -> None:
    found = pieces(warpgroups((128, 256), 8), dtype, order, 8)
    assert found is not None
    shared = exchange_layout(found.source, found.target, dtype.bytes, stmatrix=True)
    plan = matrix_plan(shared, found.source, dtype.bytes)
    assert plan is not None and plan.trans == trans and plan.per_instruction == 4
    assert access_vector(shared, found.target, dtype.bytes)[0] == 16 // dtype.bytes
    assert bank_conflicts(shared, plan.rows, dtype.bytes) == bank_conflicts(shared, found.target, dtype.bytes) == 0


def test_without_stmatrix_both_sides_move_vectors() -> None:
    found = pieces(warpgroups((128, 256), 8), bfloat16, ROWS, 8)
    assert found is not None
    shared = exchange_layout(found.source, found.target, 2, stmatrix=False)
    for side in (found.source, found.target):
        assert access_vector(shared, side, 2)[0] == 4 and bank_conflicts(shared, side, 2) == 0
    rows = matrix_rows(found.target, found.source, 2)
    assert rows is not None
    assert side_cost(shared, found.source, 2, False) + side_cost(shared, found.target, 2, True) == 48


# ---- what -----------------------------------------------------------------------------------------------------------


def count_of(f: Function) -> int:
    return len(split(f, "sm_90a"))


def changed(text: str, old: str, new: str) -> Function:
    assert old in text
    return parse(text.replace(old, new))


ACC = warpgroups((128, 256), 8)
TEXT = to_text(epilogue(ACC, bfloat16, ROWS, 8))


def test_stores_with_a_memory_order_stay_whole() -> None:
    ordered = epilogue(ACC, bfloat16, ROWS, 8, ', memory_order="release", memory_scope="device"')
    assert count_of(parse(TEXT)) == 4 and count_of(ordered) == 1


def test_elements_with_two_names_keep_their_order() -> None:
    """Stores of parts of such an array would need barriers between them."""
    assert count_of(parse(TEXT.replace(" disjoint,", ""))) == 1


def test_a_conversion_is_not_repeated_in_a_loop() -> None:
    line = next(text for text in TEXT.splitlines() if "store(" in text)
    loop = f"""  %lo: i32 = constant(value=0, type=tile<i32>)
  %up: i32 = constant(value=3, type=tile<i32>)
  %st: i32 = constant(value=1, type=tile<i32>)
  for(lower=%lo, upper=%up, step=%st, init=()) .loop(%q: i32) {{
  {line}
    yield(values=())
  }}"""
    assert count_of(changed(TEXT, line, loop)) == 1


def test_branches_are_entered() -> None:
    line = next(text for text in TEXT.splitlines() if "store(" in text)
    branch = f"""  %cond: i1 = lt(lhs=%i, rhs=%j)
  if(cond=%cond) .then {{
  {line}
    yield(values=())
  }} .orelse {{
    yield(values=())
  }}"""
    assert count_of(changed(TEXT, line, branch)) == 4


def test_other_users_keep_the_conversion() -> None:
    line = next(text for text in TEXT.splitlines() if "store(" in text)
    second = line.replace("order=(0, 1)", 'order=(0, 1), memory_order="relaxed", memory_scope="device"')
    f = changed(TEXT, line, f"{line}\n{second}")
    assert count_of(f) == 5


def test_a_tile_that_was_just_loaded_is_the_ring_s_business() -> None:
    f = parse(TEXT.replace("xf32", "xbf16").replace("convert_layout(src=%r)", "convert_layout(src=%t)"))
    assert count_of(f) == 1


# ---- that it is the same --------------------------------------------------------------------------------------------


def data(shape: tuple[int, ...], dtype: DType, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape).astype(np.float32), np.full(shape, 7, NUMPY[dtype])


SIMULATED = [
    (dtype, order, target, columns, bulk) for dtype, order, target in (
        (bfloat16, ROWS, "sm_90a"), (bfloat16, COLUMNS, "sm_90a"), (bfloat16, ROWS, "sm_80"),
        (bfloat16, COLUMNS, "sm_80"), (float8_e4m3fn, ROWS, "sm_90a"), (float8_e4m3fn, COLUMNS, "sm_90a"),
        (float32, ROWS, "sm_90a"), (float32, COLUMNS, "sm_80"))
    for columns in (400, 397)  # whole vectors, and an edge inside a vector
    for bulk in (False, True) if not bulk or get_target(target).has_tma]


@pytest.mark.parametrize(("dtype", "order", "target", "columns", "bulk"), part(SIMULATED, 3))
def test_simulated_pieces(dtype: DType, order: tuple[int, int], target: str, columns: int, bulk: bool) -> None:
    acc = warpgroups((128, 256), 8)
    rows = 150 if columns % 16 == 0 else 100  # the second half of the rows has no other edges
    x, y = data((rows, columns), dtype, 3)
    if order == COLUMNS:
        y = np.full((columns, rows), 7, NUMPY[dtype])
    f = epilogue(acc, dtype, order, 8)
    assert len(split(f, target, bulk)) > 1
    # Rows of whole vectors: the arrays are windows of wider ones.
    wide = [np.zeros((a.shape[0], -(-a.shape[1] // 16) * 16), a.dtype) for a in (x, y)]
    given = [w[:, : a.shape[1]] for w, a in zip(wide, (x, y), strict=True)]
    given[0][:], given[1][:] = x, y
    simulate_lowered(emit_function(f, get_target(target)), (-(-rows // 128), 2), [*given, 0],
                     schedule="random", seed=5)
    wanted = (-x if order == ROWS else -x.T).astype(y.dtype)
    np.testing.assert_array_equal(given[1].astype(np.float32), wanted.astype(np.float32))


@pytest.mark.parametrize(("target", "expected"), [
    (name, TmaStore if t.has_tma else Store) for name, t in TARGETS.items()])
def test_targets_with_tma_use_it(target: str, expected: type[Op]) -> None:
    f = epilogue(ACC, bfloat16, ROWS, 8)
    assert {type(op) for op in split(f, target, bulk=True)} == {expected}
    assemble(llvm_to_ptx(emit_function(f, get_target(target)).llvm_text, get_target(target))[0], target)


@pytest.mark.parametrize("order", [ROWS, COLUMNS])
def test_interpreted_pieces_are_the_same(order: tuple[int, int]) -> None:
    x, y = data((150, 400), bfloat16, 4)
    shape = (150, 400) if order == ROWS else (400, 150)
    results = []
    for step in (None, split_stores):
        f = epilogue(ACC, bfloat16, order, 8)
        if step is not None:
            step(Compilation(f, get_target("sm_90a")))
        out = np.zeros(shape, y.dtype)
        text = to_text(f)
        assert to_text(parse(text)) == text
        compile_function(parse(text)).run((2, 2, 1), [x, out, 0])
        results.append(out)
    assert results[0].any()
    before, after = (r.view(np.uint16) for r in results)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("bulk", [False, True])
def test_tiles_far_outside_stay_outside(bulk: bool) -> None:
    """A tile index of 2**30 would come back into the array as an index of quarters in 32 bits."""
    x, y = data((128, 256), bfloat16, 5)
    f = epilogue(ACC, bfloat16, ROWS, 8)
    assert len(split(f, "sm_90a", bulk)) == 4
    lowered = emit_function(f, get_target("sm_90a"))
    for at in (1 << 30, -(1 << 30)):
        simulate_lowered(lowered, (1, 1), [x, y, at])
        assert np.all(y.astype(np.float32) == 7)
    simulate_lowered(lowered, (1, 1), [x, y, 0])
    np.testing.assert_array_equal(y.astype(np.float32), (-x).astype(y.dtype).astype(np.float32))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("tile", [(128, 128, 64), (128, 256, 32)])
def test_products_stay_in_registers(tile: tuple[int, int, int], dtype: Any, target: str) -> None:
    if dtype is ml_dtypes.float8_e4m3fn and target == "sm_80":
        pytest.skip("sm_80 does not convert to float8")
    a = np.zeros((1024, 1024), ml_dtypes.bfloat16)
    assembled = assemble(matmul.ptx(a, a.copy(), np.zeros((1024, 1024), dtype), *tile, target=target), target)
    assert assembled.spills == 0, f"{assembled.spills} bytes spilled"


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tiles are small in simulations: so shall pieces be."""
    monkeypatch.setattr(module, "PIECE_BYTES", 64)
    find_pieces.cache_clear()
    yield
    find_pieces.cache_clear()


def random_case(seed: int) -> tuple[Function, tuple[int, ...], DType]:
    """A tile of 2 or 3 axes in any plain layout, stored with its axes in any order."""
    pick = random.Random(seed)
    shape = tuple(1 << pick.choice(bits) for bits in ((2, 5), (3, 4), (1, 2, 3))[: pick.choice((2, 3))])
    bits = [1 << k for k in range(log2(prod(shape)))]
    pick.shuffle(bits)
    warps = pick.choice((1, 2, 4))
    while len(bits) < 5 + log2(warps):
        bits.append(0)
    acc = distributed(shape, [b for b in bits[5 + log2(warps):] if b], bits[:5], bits[5 : 5 + log2(warps)])
    order = pick.sample(range(len(shape)), len(shape))
    dtype = pick.choice((bfloat16, float32, int8, float8_e4m3fn, bool_))
    vector = 1 << pick.randrange(5)
    store = blocked(shape, tuple(sorted(range(len(shape)), key=lambda k: -order[k])), 16 // dtype.bytes, warps)
    extents = "x".join("?" * len(shape))
    strides = "x".join(["?"] * (len(shape) - 1) + ["1"])
    divisors = "x".join([str(vector)] * (len(shape) - 1) + ["1"])
    index = ", ".join(f"%b{k}" for k in range(len(shape)))
    head = "".join(f"  %b{k}: i32 = block_id(axis={k})\n" for k in range(len(shape)))
    tile, of = "x".join(map(str, shape)), order
    f = parse(f"""#0 = {acc}
#1 = {store}

func @any(%x: array<{extents}xf32, strides={strides}, align=4, disjoint, small>,
          %y: array<{extents}x{dtype.ir}, strides={strides}, stride_div={divisors}, align=16, disjoint, small>)
    plan(warps={warps}) {{
{head}
  %t: tile<{tile}xf32, #0> = load(array=%x, index=({index}), shape={shape}, steps={shape}, order={tuple(of)},
    padding="zero")
  %r: tile<{tile}x{dtype.ir}, #0> = cast(src=%t, dtype={dtype.ir})
  %c: tile<{tile}x{dtype.ir}, #1> = convert_layout(src=%r)
  store(array=%y, index=({index}), value=%c, steps={shape}, order={tuple(of)})
  return()
}}""")
    # Axis k of the tile is axis order[k] of the array. Two blocks along each, the last of them ragged.
    lengths = [0] * len(shape)
    for k, axis in enumerate(order):
        lengths[axis] = 2 * shape[k] - pick.randrange(shape[k])
    return f, tuple(lengths), dtype


@pytest.mark.parametrize("seed", range(40))
def test_any_layout_and_order(seed: int, small_pieces: None) -> None:
    f, lengths, dtype = random_case(seed)
    target = "sm_90a" if seed % 2 or dtype is float8_e4m3fn else "sm_80"
    x = np.round(np.random.default_rng(seed).standard_normal(lengths) * 3).astype(np.float32)
    wide = np.zeros((*lengths[:-1], -(-lengths[-1] // 16) * 16), NUMPY[dtype])
    y = wide[..., : lengths[-1]]
    split(f, target, bulk=True)
    simulate_lowered(emit_function(f, get_target(target)), (2,) * len(lengths) + (1,) * (3 - len(lengths)), [x, y],
                schedule="random", seed=seed)
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(y.dtype).astype(np.float32))


def test_some_of_those_are_cut(small_pieces: None) -> None:
    counts = [len(split(random_case(seed)[0], "sm_90a")) for seed in range(40)]
    assert sum(n > 1 for n in counts) >= 10
