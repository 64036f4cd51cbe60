"""What is proved of kernels for all launches, what is refuted, and that a counterexample really goes wrong."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as tw
from tilewright.inspecting.proof import prove_kernel
from tilewright.interp.proving import Proof, Verdict

pytest.importorskip("z3")


def proof_of(kernel: Any, *args: Any, grid: tuple[int, ...] | None = None) -> Proof:
    proof = prove_kernel(kernel, [tw.spec(a) if isinstance(a, str) else a for a in args], grid)
    assert all(len(set(v.assuming)) == len(v.assuming) for v in proof.verdicts), "an assumption is named twice"
    return proof


@tw.tile_kernel
def scale(x, out, T: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, T) * 2)


def test_what_a_proof_takes_for_granted_is_named() -> None:
    proof = proof_of(scale, "f32[?]", "f32[?]", 256)
    assert proof.in_bounds == (2, 2) and proof.race_free
    assert set(proof.assumptions) == {
        "grid[0] <= cdiv(x.shape[0], 256)", "grid[0] <= cdiv(out.shape[0], 256)", "grid[1] == 1", "grid[2] == 1"}


def test_an_example_that_breaks_an_assumption_rules_it_out() -> None:
    """Five blocks of 256 are more than 1000 elements have."""
    proof = proof_of(scale, "f32[1000]", "f32[2000]", 256, grid=(5,))
    assert [v.status for v in proof.verdicts if v.kind == "bounds"] == ["refuted", "proved"]


@tw.tile_kernel
def row_max(x, out, T: tw.Constant[int]):
    """Rows by blocks, columns by a loop; the last tile is cut."""
    i = tw.bid(0)
    top = tw.full((1, T), -math.inf, tw.float32)
    for j in range(tw.cdiv(x.shape[1], T)):
        top = tw.maximum(top, tw.load(x, (i, j), (1, T), padding_mode=tw.PaddingMode.NEG_INF))
    tw.store(out, i, tw.max(top, axis=1))


@tw.tile_kernel
def walking(x, out, T: tw.Constant[int]):
    """Blocks that walk over tiles, by a loop's step and by a number that the loop carries."""
    at = tw.bid(0)
    for i in range(tw.bid(0), tw.cdiv(x.shape[0], T), tw.num_blocks(0)):
        tw.store(out, i, tw.load(x, i, T) + tw.load(x, at, T))
        at = at + tw.num_blocks(0)


@tw.tile_kernel
def masked(x, out, n: int, T: tw.Constant[int]):
    at = tw.bid(0) * T + tw.arange(T, dtype=tw.int32)
    inside = (at < n) & (at < x.shape[0])
    tw.scatter(out, at, tw.gather(x, at, mask=inside, check_bounds=False), mask=inside & (at < out.shape[0]),
               check_bounds=False)


@tw.tile_kernel
def halves(x, out, T: tw.Constant[int]):
    """The two halves of an array, as views."""
    half = x.shape[0] // 2
    i = tw.bid(0)
    if i * T < half:
        low, high = x.slice(0, 0, half), x.slice(0, half, half + half)
        tw.store(out.slice(0, 0, half), i, tw.load(low, i, T) + tw.load(high, i, T))


@tw.tile_kernel
def swizzled(c, T: tw.Constant[int]):
    """A band of four rows of tiles after the other: products of unknowns."""
    rows, columns = tw.cdiv(c.shape[0], T), tw.cdiv(c.shape[1], T)
    band = tw.bid(0) // (4 * columns)
    height = min(rows - band * 4, 4)
    place = tw.bid(0) % (4 * columns)
    tw.store(c, (band * 4 + place % height, place // height), tw.zeros((T, T), c.dtype))


PROVED = {
    "row_max": (row_max, ("f32[?,?]", "f32[?]", 64)), "walking": (walking, ("f32[?]", "f32[?]", 64)),
    "masked": (masked, ("f32[?]", "f32[?]", 7, 64)), "halves": (halves, ("f32[?]", "f32[?]", 64)),
}


@pytest.mark.parametrize("name", PROVED)
def test_proved(name: str) -> None:
    kernel, args = PROVED[name]
    proof = proof_of(kernel, *args)
    assert proof.race_free, "\n".join(map(str, proof.verdicts))
    assert proof.in_bounds[0] == proof.in_bounds[1], "\n".join(map(str, proof.verdicts))


def test_products_of_unknowns_do_not_hide_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.interp.proving.solver.EFFORT", 1_000_000)  # its bounds take more
    assert proof_of(swizzled, "f32[?,?]", 64).race_free


# -- What is wrong is shown by a launch -------------------------------------------------------------------------------


@tw.tile_kernel
def too_far(x, out, T: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i * T, tw.load(x, i, T))


@tw.tile_kernel
def one_ahead(x, T: tw.Constant[int]):
    i = tw.bid(0)
    if i + 1 < tw.cdiv(x.shape[0], T):
        tw.store(x, i, tw.load(x, i + 1, T))


@tw.tile_kernel
def split_k(x, out, T: tw.Constant[int]):
    total = tw.load(out, 0, T)
    tw.store(out, 0, total + tw.load(x, tw.bid(0), T))


@tw.tile_kernel
def strided(x, out, T: tw.Constant[int]):
    """Tiles of T elements, T - 1 apart."""
    at = tw.bid(0) * (T - 1) + tw.arange(T, dtype=tw.int32)
    tw.scatter(out, at, tw.gather(x, at))


@tw.tile_kernel
def transposed(x, out, T: tw.Constant[int]):
    """Writes the transpose over what other blocks read."""
    i, j = tw.bid(0), tw.bid(1)
    tw.store(x, (j, i), tw.transpose(tw.load(x, (i, j), (T, T))))


@tw.tile_kernel
def unchecked(x, out, n: int, T: tw.Constant[int]):
    at = tw.bid(0) * T + tw.arange(T, dtype=tw.int32)
    tw.scatter(out, at, tw.gather(x, at, mask=at <= x.shape[0], check_bounds=False))


class Wrong(NamedTuple):
    kernel: Any
    args: tuple[Any, ...]
    kind: str


WRONG = {
    "too_far": Wrong(too_far, ("f32[?]", "f32[?]", 16), "bounds"),
    "one_ahead": Wrong(one_ahead, ("f32[?]", 16), "race"),
    "split_k": Wrong(split_k, ("f32[?]", "f32[?]", 16), "race"),
    "strided": Wrong(strided, ("f32[?]", "f32[?]", 16), "race"),
    "transposed": Wrong(transposed, ("f32[?,?]", "f32[?,?]", 16), "race"),
    "unchecked": Wrong(unchecked, ("f32[?]", "f32[?]", 7, 16), "bounds"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_counterexample_goes_wrong(name: str) -> None:
    """The checked launch of a counterexample, with its shapes and its grid, reports what the proof says."""
    wrong = WRONG[name]
    refuted = [v for v in proof_of(wrong.kernel, *wrong.args).refuted if v.kind == wrong.kind]
    assert refuted
    for verdict in refuted:
        reports = launched(wrong, verdict)
        kinds = ("bounds", "promise") if wrong.kind == "bounds" else ("race",)
        lines = {report.span.line for report in reports if report.kind in kinds}
        assert verdict.span.line in lines, f"{verdict}\n{reports}"


def launched(wrong: Wrong, verdict: Verdict) -> list[Any]:
    sizes = verdict.example
    names = list(wrong.kernel.__wrapped__.__code__.co_varnames)
    args = []
    for name, given in zip(names, wrong.args, strict=False):
        if isinstance(given, str):
            rank = given.count("?")
            args.append(np.zeros([sizes.get(f"{name}.shape[{axis}]", 1) for axis in range(rank)], np.float32))
        else:
            args.append(sizes.get(name, given))
    grid = tuple(sizes.get(f"grid[{axis}]", 1) for axis in range(3))
    found: list[Any] = wrong.kernel.interpret(grid, *args, check=True, on_report="collect")
    return found


@tw.tile_kernel
def counted(out):
    tw.store(out, 0, tw.load(out, 0, ()) + 1)


def test_a_kernel_that_asks_for_no_block_is_meant_for_one_unless_the_example_has_more() -> None:
    assert proof_of(counted, "f32[1]").race_free
    assert len(proof_of(counted, "f32[1]", grid=(4,)).refuted) == 2


# -- What is not decided ----------------------------------------------------------------------------------------------


@tw.tile_kernel
def looked_up(x, where, out, T: tw.Constant[int]):
    at = tw.load(where, tw.bid(0), ())
    tw.store(out, tw.bid(0), tw.load(x, at, T))


def test_loaded_indices_are_not_decided() -> None:
    proof = proof_of(looked_up, "f32[?]", "i32[?]", "f32[?]", 16)
    [verdict] = [v for v in proof.verdicts if v.status != "proved"]
    assert verdict.status == "not decided" and "what `load` gives in line" in verdict.reason


@tw.tile_kernel
def in_turn(lock, x, out):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=tw.MemoryOrder.ACQUIRE) != 0:
        pass
    tw.store(out, 0, tw.load(out, 0, 16) + tw.load(x, tw.bid(0), 16))
    tw.atomic_xchg(lock, 0, 0, memory_order=tw.MemoryOrder.RELEASE)


def test_blocks_that_wait_for_each_other_are_not_decided() -> None:
    proof = proof_of(in_turn, "i32[1]", "f32[?]", "f32[16]")
    assert not proof.refuted and not proof.race_free
    assert any("blocks wait for each other by atomics" in v.reason for v in proof.verdicts)


def test_without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays that nothing writes, and those of which each block has its own part, need no solver."""
    monkeypatch.setattr("tilewright.interp.proving.proofs.available", lambda: False)
    proof = proof_of(scale, "f32[?]", "f32[?]", 256)
    assert proof.in_bounds == (0, 2)
    assert all("pip install 'tilewright[prove]'" in v.reason for v in proof.verdicts if v.status != "proved")


@tw.tile_kernel
def slower_and_slower(x, out):
    """Elements 0, 6, 10 and 12: what is added changes from one iteration to the next."""
    at = tw.int32(0)
    for k in range(4):
        tw.scatter(out, at, tw.gather(x, at, check_bounds=False))
        at = at + (3 - k) * 2


def test_growth_that_is_not_always_the_same_is_not_multiplied() -> None:
    proof = proof_of(slower_and_slower, "f32[6]", "f32[64]", grid=(1,))
    statuses = {v.status for v in proof.verdicts if v.kind == "bounds"}
    assert "not decided" in statuses and "refuted" not in statuses


@tw.tile_kernel
def two_rows(x, out, least: tw.Constant[int]):
    at = tw.arange(2, dtype=tw.int32)[:, None] * 4 + tw.arange(4, dtype=tw.int32)[None, :]
    long_enough = tw.full((1, 2, 4), least, tw.int32) <= x.shape[0]
    tw.store(out, (0, 0, 0), tw.gather(x, at[None], mask=long_enough, check_bounds=False))


@pytest.mark.parametrize("least, status", [(8, "proved"), (4, "refuted")])
def test_axes_of_length_1_come_and_go(least: int, status: str) -> None:
    proof = proof_of(two_rows, "f32[?]", "f32[1,2,4]", least, grid=(1,))
    assert [v.status for v in proof.verdicts if v.kind == "bounds"] == [status, "proved"]


@tw.tile_kernel
def more_and_more(x, out):
    i, j, k = tw.bid(0), tw.bid(1), tw.bid(2)
    first = tw.load(x, (i, 0, 0), (8, 1, 1))
    tw.store(out, (i, j, k), first + tw.load(x, (i, j, k), (8, 8, 8)))


def test_what_is_assumed_already_is_not_assumed_again() -> None:
    proof = proof_of(more_and_more, "f32[?,?,?]", "f32[?,?,?]")
    assert [len(v.assuming) for v in proof.verdicts if v.kind == "bounds"] == [1, 3, 3]
