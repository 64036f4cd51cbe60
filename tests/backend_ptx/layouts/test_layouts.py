"""Linear layouts: shapes, conversions and swizzles checked element by element on small tiles."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layouts import check_distributed

from tilewright.backend_ptx.layouts import shared
from tilewright.tileir.f2 import Basis, combine, span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import buffers, convert, queries, transform
from tilewright.tileir.layouts.blocked import blocked
from tilewright.tileir.layouts.flat import (
    LANE,
    distributed,
    flatten,
    is_plain,
    log2,
    parts,
    unflatten,
)

SHAPES = st.lists(st.sampled_from([1, 2, 4, 8, 16, 64]), min_size=1, max_size=3).map(tuple)


@st.composite
def blockeds(draw: st.DrawFn, shape: tuple[int, ...] | None = None, warps: int | None = None) -> Layout:
    shape = draw(SHAPES) if shape is None else shape
    order = tuple(draw(st.permutations(range(len(shape)))))
    warps = draw(st.sampled_from([1, 2, 4])) if warps is None else warps
    return blocked(shape, order, draw(st.sampled_from([1, 2, 4, 8])), warps)


@st.composite
def plains(draw: st.DrawFn, shape: tuple[int, ...], warps: int) -> Layout:
    """Any assignment of index bits to registers, lanes and warps, with copies anywhere."""
    bits: list[int] = draw(st.permutations([1 << k for k in range(sum(log2(n) for n in shape))]))
    lane, warp = [0] * 5, [0] * log2(warps)
    slots = [(part, i) for part in (lane, warp) for i in range(len(part))]
    for where, i in draw(st.permutations(slots)):
        if bits and draw(st.integers(0, 3)) > 0:
            where[i] = bits.pop()
    return distributed(shape, bits, lane, warp)


def fragment(layout: Layout, tile: np.ndarray) -> np.ndarray:
    """[warp, lane, register]: what each thread holds of a tile, by the definition of `Layout.apply`."""
    n, w = queries.registers(layout), layout.size("warp")
    out = np.empty((w, 32, n), tile.dtype)
    for warp, lane, r in itertools.product(range(w), range(32), range(n)):
        out[warp, lane, r] = tile[layout.apply(register=r, lane=lane, warp=warp)]
    return out


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(int(np.prod(shape))).reshape(shape)


@given(st.lists(st.integers(0, 63), max_size=7), st.integers(0, 63))
def test_solving_over_f2(vectors: list[int], wanted: int) -> None:
    mask = Basis(vectors).solve(wanted)
    assert (mask is not None) == (wanted in span(vectors))
    if mask is not None:
        assert combine(vectors, mask) == wanted


@given(SHAPES.flatmap(lambda s: st.tuples(st.just(s), st.tuples(*[st.integers(0, n - 1) for n in s]))))
def test_flat_index_is_the_row_major_position(case: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    shape, index = case
    assert flatten(index, shape) == numbered(shape)[index]
    assert unflatten(flatten(index, shape), shape) == index


@given(blockeds())
def test_blocked_holds_every_element(layout: Layout) -> None:
    check_distributed(layout)
    assert is_plain(layout)


def test_blocked_is_coalesced() -> None:
    layout = blocked((64, 128), (1, 0), 4, 4)
    assert queries.vector_along(layout, 1) == 4
    assert layout.bases(LANE) == ((0, 4), (0, 8), (0, 16), (0, 32), (0, 64))
    assert queries.registers(layout) == 64


def test_small_tiles_are_copied_to_idle_threads() -> None:
    layout = blocked((8,), (0,), 4, 2)
    assert queries.copies(layout, "lane") == 0b11110
    assert queries.copies(layout, "warp") == 1
    assert queries.is_replicated(layout)


@given(blockeds())
def test_register_offsets_agree_with_apply(layout: Layout) -> None:
    for r, offset in enumerate(queries.register_offsets(layout)):
        assert offset == layout.apply(register=r)


@settings(max_examples=12, deadline=None)
@given(blockeds(), st.data())
def test_shape_changes_keep_elements_in_their_threads(layout: Layout, data: st.DataObject) -> None:
    tile = numbered(layout.shape)
    axes = tuple(data.draw(st.permutations(range(len(layout.shape)))))
    moved = transform.permute(layout, axes)
    assert (fragment(moved, tile.transpose(axes)) == fragment(layout, tile)).all()
    assert transform.permute_source(moved, axes) == layout
    flat = transform.reshape(layout, (tile.size,))
    assert (fragment(flat, tile.reshape(-1)) == fragment(layout, tile)).all()
    double = transform.cat(layout, axes[0])
    held = fragment(double, np.concatenate([tile, tile + 1000], axes[0]))
    assert (held == np.concatenate([fragment(layout, tile), fragment(layout, tile + 1000)], -1)).all()
    assert transform.extract(double, layout.shape) == layout


@settings(max_examples=40, deadline=None)
@given(blockeds(), st.data())
def test_broadcast_and_reduce_are_inverse(layout: Layout, data: st.DataObject) -> None:
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(layout.shape) - 1)))))
    reduced = transform.reduce(layout, axes)
    check_distributed(reduced)
    wider = transform.reduce_source(reduced, layout.shape, axes)
    check_distributed(wider)
    assert set(parts(transform.reduce(wider, axes))[0]) == set(parts(reduced)[0])
    assert parts(transform.reduce(wider, axes))[1:] == parts(reduced)[1:]
    ones = tuple(1 if k in axes else n for k, n in enumerate(layout.shape))
    narrow = transform.within(layout, ones)
    check_distributed(narrow)
    assert transform.within(transform.broadcast(narrow, layout.shape), ones) == narrow


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([(8,), (64,), (4, 16), (16, 16), (2, 4, 8), (128,)]), st.sampled_from([1, 4]), st.data())
def test_conversions_inside_a_thread_move_all(shape: tuple[int, ...], warps: int, data: st.DataObject) -> None:
    source, target = data.draw(plains(shape, warps)), data.draw(plains(shape, warps))
    plan = convert.plan_conversion(source, target)
    tile = numbered(shape)
    have, want = fragment(source, tile), fragment(target, tile)
    if plan.kind in ("none", "registers"):
        for warp, lane in itertools.product(range(warps), range(32)):
            mask = 0
            for dim, bit, part in plan.selects:
                mask ^= part if (lane if dim == LANE else warp) >> bit & 1 else 0
            got = [have[warp, lane, r ^ mask] for r in plan.register_map]
            assert got == list(want[warp, lane])
        return
    missing = any(not np.isin(want[w, i], have[w, i]).all() for w in range(warps) for i in range(32))
    assert missing, "a thread held all it needs, yet the plan goes through memory"
    in_warp = all(np.isin(want[w], have[w]).all() for w in range(warps))
    assert (plan.kind == "warp") == in_warp


def test_the_same_layout_needs_nothing() -> None:
    layout = blocked((64, 64), (1, 0), 4, 4)
    assert convert.plan_conversion(layout, layout).kind == "none"


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([(64,), (16, 16), (64, 64), (2, 32, 8)]), st.sampled_from([1, 2, 4, 8]), st.data())
def test_shared_layouts_are_one_to_one(shape: tuple[int, ...], size: int, data: st.DataObject) -> None:
    source, target = data.draw(plains(shape, 4)), data.draw(plains(shape, 4))
    buffer = shared.swizzled_shared(source, target, size)
    table = buffers.inverse(buffer)
    assert sorted(combine(table, f) for f in range(1 << len(table))) == list(range(1 << len(table)))
    for layout in (source, target):
        vector, bits = buffers.access_vector(buffer, layout, size)
        offsets = buffers.offset_bases(buffer, layout).register
        assert [combine(offsets, sum(1 << b for i, b in enumerate(bits) if k >> i & 1)) for k in range(vector)] \
            == list(range(vector))


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(64, 64), (32, 32), (128, 64), (32, 128), (16, 256)])
def test_transposes_have_no_bank_conflicts(shape: tuple[int, int], size: int) -> None:
    vector = 16 // size
    rows = blocked(shape, (1, 0), vector, 4)
    columns = blocked(shape, (0, 1), vector, 4)
    buffer = shared.swizzled_shared(rows, columns, size)
    assert shared.bank_conflicts(buffer, rows, size) == 0
    assert shared.bank_conflicts(buffer, columns, size) == 0


def test_row_major_would_have_bank_conflicts() -> None:
    columns = blocked((64, 64), (0, 1), 4, 4)
    assert shared.bank_conflicts(buffers.linear_shared((64, 64)), columns, 4) == 15
