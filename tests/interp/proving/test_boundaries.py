"""Where a proof turns into a counterexample: the last element, the first beyond it, tiles that meet in one element; and
which accesses are asked about at all."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw
from tilewright.inspecting.proof import prove_kernel

pytest.importorskip("z3")

I32 = tw.int32
RELAXED, ACQUIRE, RELEASE = tw.MemoryOrder.RELAXED, tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE
DEVICE = tw.MemoryScope.DEVICE


def proof_of(function: Any, *args: Any, grid: tuple[int, ...] | None = None) -> Any:
    return prove_kernel(tw.tile_kernel(function), [tw.spec(a) if isinstance(a, str) else a for a in args], grid)


def statuses(proof: Any, kind: str) -> list[str]:
    return [verdict.status for verdict in proof.verdicts if verdict.kind == kind]


# -- bounds: block 0 reads x where it is long enough


def element(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.gather(x, tw.arange(1, dtype=I32) + at, check_bounds=False))


def elements(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.gather(x, tw.arange(4, dtype=I32) + at, check_bounds=False))


def some_elements(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    i = tw.arange(4, dtype=I32)
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.gather(x, i + at, mask=i < 3, check_bounds=False))


def checked_elements(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.gather(x, tw.arange(4, dtype=I32) + at))


def tile(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.load(x, tw.bid(0) + at, 4))


def whole_tile(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.load(x, tw.bid(0) + at, 4, check_bounds=False))


def number(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.load(x, tw.bid(0) + at, ()))


def tile_in_steps(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, x.tiled_view(4, traversal_steps=3).load(tw.bid(0) + at))


def of_a_slice(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    """Seven elements, from 3 on."""
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, 0, tw.load(x.slice(0, 3, 10), tw.bid(0) + at, 4))


def turned(x, out, at: tw.Constant[int], least: tw.Constant[int]):
    """A tile whose last axis goes along axis 0 of the array."""
    if tw.bid(0) == 0 and x.shape[0] >= least:
        tw.store(out, (0, 0), tw.load(x, (0, tw.bid(0) + at), (2, 4), order="F"))


BOUNDS = [
    (element, 7, 8), (element, 1, 2), (elements, 4, 8), (some_elements, 5, 8), (tile, 1, 5), (tile, 2, 9),
    (whole_tile, 1, 8), (number, 7, 8), (tile_in_steps, 2, 7), (turned, 1, 5),
]


def read(function: Any, at: int, least: int) -> str:
    of = "f32[?,?]" if function is turned else "f32[?]"
    proof = proof_of(function, of, of, at, least, grid=(1,))
    [status] = [v.status for v in proof.verdicts if v.kind == "bounds" and v.what.startswith(("x:", "?:"))]
    return status


@pytest.mark.parametrize("function, at, least", BOUNDS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_reads_are_in_bounds_from_one_length_on(function: Any, at: int, least: int) -> None:
    assert [read(function, at, n) for n in (least, least - 1)] == ["proved", "refuted"]


@pytest.mark.parametrize("function", [element, elements, some_elements, tile, whole_tile, number, of_a_slice])
def test_no_length_lets_an_access_begin_before_the_array(function: Any) -> None:
    assert read(function, -1, 99) == "refuted"


def test_slices_end_where_they_were_cut() -> None:
    assert [read(of_a_slice, at, 10) for at in (0, 1, 2)] == ["proved", "proved", "refuted"]


def test_accesses_that_check_are_never_out_of_bounds() -> None:
    assert [read(checked_elements, at, 1) for at in (-9, 0, 9)] == ["proved"] * 3


# -- races: the grid is any


def apart(out, step: tw.Constant[int]):
    tw.scatter(out, tw.bid(0) * step + tw.arange(4, dtype=I32), tw.zeros(4, tw.float32))


def apart_by_mask(out, step: tw.Constant[int]):
    i = tw.arange(4, dtype=I32)
    tw.scatter(out, tw.bid(0) * step + i, tw.zeros(4, tw.float32), mask=i < 3)


def tiles(out, step: tw.Constant[int]):
    out.tiled_view(4, traversal_steps=step).store(tw.bid(0), tw.zeros(4, tw.float32))


def reads_ahead(out, step: tw.Constant[int]):
    t = tw.gather(out, tw.bid(0) * step + tw.arange(5, dtype=I32))
    tw.scatter(out, tw.bid(0) * step + tw.arange(4, dtype=I32), tw.extract(t[None], (0, 0), (1, 4)))


def two_slices(out, step: tw.Constant[int]):
    """One block writes from 0, another from `step` on, 8 elements each."""
    low, high = out.slice(0, 0, 8), out.slice(0, step, step + 8)
    if tw.bid(0) == 0:
        tw.store(low, 0, tw.zeros(8, tw.float32))
    if tw.bid(0) == 1:
        tw.store(high, 0, tw.zeros(8, tw.float32))


def one_block_of_many(out, step: tw.Constant[int]):
    if tw.bid(0) == step:
        tw.store(out, 0, tw.zeros(4, tw.float32))


def second_axis(out, step: tw.Constant[int]):
    tw.store(out, tw.bid(0) + tw.bid(1) * 4, tw.zeros(4, tw.float32))


RACES = [
    (apart, 4, "proved"), (apart, 3, "refuted"), (apart, 5, "proved"), (apart, -4, "proved"),
    (apart_by_mask, 3, "proved"), (apart_by_mask, 2, "refuted"),
    (tiles, 4, "proved"), (tiles, 3, "refuted"), (tiles, 5, "proved"),
    (two_slices, 8, "proved"), (two_slices, 7, "refuted"),
    (one_block_of_many, 3, "proved"), (second_axis, 0, "refuted"),
]


@pytest.mark.parametrize("function, step, status", RACES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_races(function: Any, step: int, status: str) -> None:
    found = statuses(proof_of(function, "f32[?]", step, grid=(4, 2) if function is second_axis else (4,)), "race")
    assert found and set(found) <= {status, "proved"} and status in found, found

# -- which accesses may race


def atomics(x, out):
    tw.atomic_add(x, 0, 1)
    tw.atomic_add(x, 0, 2)


def atomic_and_store(x, out):
    tw.atomic_add(x, 0, 1, memory_order=RELAXED)
    tw.store(x, 0, 2)


def atomic_and_load(x, out):
    tw.atomic_add(x, 0, 1, memory_order=RELAXED)
    tw.store(out, tw.bid(0), tw.load(x, 0, ()))


def atomic_and_relaxed_load(x, out):
    tw.atomic_add(x, 0, 1)
    tw.store(out, tw.bid(0), tw.load(x, 0, (), memory_order=RELAXED, memory_scope=DEVICE))


def loads(x, out):
    tw.store(out, tw.bid(0), tw.load(x, 0, ()) + tw.load(x, 0, ()))


def load_and_store(x, out):
    tw.store(x, tw.bid(0), tw.load(x, tw.bid(0), ()))


def exchange_in_order(x, out):
    """Blocks may wait for each other by the flag: what they do with x is not decided."""
    tw.atomic_xchg(out, 0, 1, memory_order=RELEASE)
    tw.store(x, 0, 2)


def exchange_without_order(x, out):
    tw.atomic_xchg(out, 0, 1, memory_order=RELAXED)
    tw.store(x, 0, 2)


def acquired(x, out):
    tw.load(out, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE)
    tw.store(x, 0, 2)


RIVALS: list[tuple[Any, dict[tuple[str, str], str]]] = [
    (atomics, {}),
    (atomic_and_store, {("updates", "writes"): "refuted", ("writes", "writes"): "refuted"}),
    (atomic_and_load, {("updates", "reads"): "refuted", ("out", "out"): "proved"}),
    (atomic_and_relaxed_load, {("out", "out"): "proved"}),
    (loads, {("out", "out"): "proved"}),
    (load_and_store, {("x", "x"): "proved"}),
    (exchange_in_order, {("writes", "writes"): "not decided"}),
    (exchange_without_order, {("writes", "writes"): "refuted"}),
    (acquired, {("writes", "writes"): "not decided"}),
]


@pytest.mark.parametrize("function, races", RIVALS, ids=lambda v: getattr(v, "__name__", ""))
def test_only_some_pairs_of_accesses_can_race(function: Any, races: dict[tuple[str, str], str]) -> None:
    """A race by what the two accesses do, or, where there is none, by the array."""
    found = {}
    for verdict in proof_of(function, "i32[?]", "i32[?]", grid=(4,)).verdicts:
        if verdict.kind == "race":
            name, _, words = verdict.what.partition(": ")
            one, _, other = words.partition(" of which one ")[2].partition(" and one ")
            found[(one, other) if one else (name, name)] = verdict.status
    assert found == races


# -- what is taken for granted


def by_columns(x, out, T: tw.Constant[int]):
    i, j = tw.bid(1), tw.bid(0)
    tw.store(out, (i, j), tw.load(x, (i, j), (T, 2 * T)))


def constant_places(x, out, T: tw.Constant[int]):
    if tw.bid(0) == 0:
        tw.store(out, (0, 1), tw.load(x, (3, 0), (T, 1)) + tw.load(x, (0, 0), (T, 1)))


def equal_lengths(x, out, T: tw.Constant[int]):
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(out, (i, 0), tw.load(x, (i, 0), (T, 1)))


def cast_numbers(x, out, T: tw.Constant[int]):
    tw.store(out, (tw.bid(0).astype(tw.int64), 0), tw.zeros((1, 1), tw.float32))


ASSUMED = [
    (by_columns, 4, {"grid[1] <= cdiv(x.shape[0], 4)", "grid[0] <= cdiv(x.shape[1], 8)", "grid[2] == 1",
                     "grid[1] <= cdiv(out.shape[0], 4)", "grid[0] <= cdiv(out.shape[1], 8)"}),
    (constant_places, 4, {"x.shape[0] >= 13", "out.shape[1] >= 2", "grid[1] == 1", "grid[2] == 1"}),
    (equal_lengths, 4, {"out.shape[0] == x.shape[0]", "grid[1] == 1", "grid[2] == 1"}),
    (cast_numbers, 1, {"grid[0] <= out.shape[0]", "grid[1] == 1", "grid[2] == 1"}),
]


@pytest.mark.parametrize("function, T, texts", ASSUMED, ids=lambda v: getattr(v, "__name__", ""))
def test_what_is_taken_for_granted_is_said(function: Any, T: int, texts: set[str]) -> None:
    proof = proof_of(function, "f32[?,?]", "f32[?,?]", T)
    assert proof.race_free and proof.in_bounds[0] == proof.in_bounds[1], "\n".join(map(str, proof.verdicts))
    assert set(proof.assumptions) == texts


@pytest.mark.parametrize("grid, shape, kept", [
    (None, None, [0, 1, 2]), ((6,), (8, 9), [0, 1]), ((7,), (8, 9), [1]), ((7,), (8, 8), [1, 2]),
    ((4,), (8, 8), [0, 1, 2])])
def test_what_does_not_hold_for_the_launch_at_hand_is_not_tried(
    grid: tuple[int, ...] | None, shape: tuple[int, int] | None, kept: list[int],
) -> None:
    from tilewright.interp.proving.accesses import accesses
    from tilewright.interp.proving.contract import Known, candidates, of_grid
    from tilewright.interp.proving.world import World

    function = tw.tile_kernel(divided).lower(tw.spec("f32[?,?]"), 4).tile_ir(passes=False, facts=False)
    world = World(function)
    known = Known(grid, {} if shape is None else {(0, 0): shape[0], (0, 1): shape[1]})
    texts = ["grid[0] <= cdiv(out.shape[0], 4) * cdiv(out.shape[1], 4)", "out.shape[0] >= 5",
             "out.shape[1] == out.shape[0]"]
    assert [a.text for a in candidates(world, accesses(function), known)] == [texts[i] for i in kept]
    assert [a.text for a in of_grid(world, known)] == ["grid[1] == 1", "grid[2] == 1"]
    assert [a.text for a in of_grid(world, Known((1, 2)))] == ["grid[2] == 1"]


def divided(out, T: tw.Constant[int]):
    i, j = tw.bid(0) // tw.cdiv(out.shape[1], T), tw.bid(0) % tw.cdiv(out.shape[1], T)
    tw.store(out, (i, j), tw.load(out, (1, 0), (T, T)))
