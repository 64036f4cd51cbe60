"""Chunks of many blocks, where loops of machine code need no memory between them: the same bits as block by block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.interp.hazards import ends
from tilewright.interp.jit import POLICY

RNG = np.random.default_rng(4)


def scaled(x, y, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 64) * 3.0 + tw.load(y, i, 64))


def rows(at, table, out):
    i = tw.bid(0)
    r = tw.load(at, i, 4)
    tw.store(out, (i, 0), tw.gather(table, (r[:, None], 8 + tw.arange(32, dtype=tw.int32)[None, :])))


def planes(at, table, out):
    i = tw.bid(0)
    r = tw.load(at, i, 4)
    t = tw.gather(table, (r[:, None], (r % 3)[:, None], tw.arange(32, dtype=tw.int32)[None, :]))
    tw.store(out, (i, 0), t)


def crooked(at, table, out):
    """Columns that do not count up by one."""
    i = tw.bid(0)
    r = tw.load(at, i, 4)
    tw.store(out, (i, 0), tw.gather(table, (r[:, None], tw.arange(32, dtype=tw.int32)[None, :] // 2)))


def tickets(counts, out):
    i = tw.bid(0)
    tw.store(out, i, tw.atomic_add(counts, i * 64 + tw.arange(64, dtype=tw.int32), 2))


def skipped(counts, out):
    """A place in the middle of a tile is taken twice, and the one behind it is left out."""
    i = tw.bid(0)
    lane = tw.arange(64, dtype=tw.int32)
    tw.store(out, i, tw.atomic_add(counts, i * 64 + tw.where(lane == 40, 39, lane), 2))


def exchanged(counts, out):
    i = tw.bid(0)
    tw.store(out, i, tw.atomic_max(counts, i * 64 + tw.arange(64, dtype=tw.int32), 3))


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def some(high: int) -> Any:
    return RNG.integers(0, high, 4 * 40).astype(np.int32)


CASES = {
    "an edge": (scaled, 100, lambda: (floats(6390), floats(6400), floats(6390))),
    "no edge": (scaled, 100, lambda: (floats(6400), floats(6400), floats(6400))),
    "rows": (rows, 40, lambda: (some(50), floats(50, 40), floats(160, 32))),
    "rows that end outside": (rows, 40, lambda: (some(50), floats(50, 36), floats(160, 32))),
    "rows outside": (rows, 40, lambda: (some(60), floats(50, 40), floats(160, 32))),
    "rows of every second column": (rows, 40, lambda: (some(50), floats(50, 80)[:, ::2], floats(160, 32))),
    "rows of planes": (planes, 40, lambda: (some(50), floats(50, 3, 32), floats(160, 32))),
    "crooked rows": (crooked, 40, lambda: (some(50), floats(50, 40), floats(160, 32))),
    "tickets": (tickets, 40, lambda: (np.arange(40 * 64, dtype=np.int32) % 7, np.zeros(40 * 64, np.int32))),
    "a place twice": (skipped, 40, lambda: (np.arange(40 * 64, dtype=np.int32) % 7, np.zeros(40 * 64, np.int32))),
    "maxima": (exchanged, 40, lambda: (np.arange(40 * 64, dtype=np.int32) % 7, np.zeros(40 * 64, np.int32))),
    "floats": (exchanged, 40, lambda: (floats(40 * 64) * 5, np.zeros(40 * 64, np.float32))),
    "tickets past the end": (tickets, 40, lambda: (np.ones(40 * 64 - 5, np.int32), np.zeros(40 * 64, np.int32))),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_those_of_single_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, grid, make = CASES[name]
    args = make()
    results = []
    for mode, enabled in (("single", False), ("chunked", False), ("chunked", True)):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        for limit in ("seconds", "work", "elements"):
            monkeypatch.setattr(POLICY, limit, 0)
        kernel = tw.tile_kernel(function)
        for _ in range(3):  # the first launch compiles
            mine = [a.copy() if a.flags.c_contiguous else a for a in args]
            kernel.interpret(grid, *mine, mode=mode)
        results.append([a.tobytes() for a in mine])
    assert results[0] == results[1] == results[2]


def test_rows_are_what_numpy_takes() -> None:
    at, table, out = some(50), floats(50, 40), floats(160, 32)
    tw.tile_kernel(rows).interpret(40, at, table, out)
    assert (out == table[at, 8:]).all()


def test_ends_of_tiles_at_block_numbers() -> None:
    lowered = tw.tile_kernel(scaled).lower(floats(6390), floats(6400), floats(6390))
    assert set(ends(lowered.tile_ir())) == {(0, n, 0, 64, 64) for n in range(3)}


def test_loops_make_chunks_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """As nothing but views and what loops keep in registers is live."""
    for limit in ("seconds", "work", "elements"):
        monkeypatch.setattr(POLICY, limit, 0)
    args = [floats(6390) for _ in range(3)]
    lowered = tw.tile_kernel(scaled).lower(*args)
    program = compile_function(lowered.tile_ir())
    options = ExecutionOptions(chunk_bytes=1 << 12)
    assert program._limit(options) < 20
    program.run((100, 1, 1), lowered.values, options)
    [variant] = program._variants.values()
    bound = program.bound(lowered.values)
    chunks = program._chunks((100, 1, 1), frozenset((0,)), False, options, variant, bound)
    assert [count for count, *_ in chunks] == [99, 1]


def test_chunks_of_a_grid_are_kept_while_closures_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """And are cut anew for another grid, for other extents, and when loops take less memory than closures did."""
    args = [floats(6400) for _ in range(3)]
    lowered = tw.tile_kernel(scaled).lower(*args)
    program = compile_function(lowered.tile_ir())
    cut = []
    real = program._chunks
    monkeypatch.setattr(program, "_chunks", lambda *given: cut.append(given[0]) or real(*given))  # type: ignore[func-returns-value]
    for limit in ("work", "elements"):
        monkeypatch.setattr(POLICY, limit, 0)
    monkeypatch.setattr(POLICY, "seconds", 1e9)
    for grid in ((100, 1, 1), (100, 1, 1), (50, 1, 1), (100, 1, 1)):
        program.run(grid, lowered.values)
    assert cut == [(100, 1, 1), (50, 1, 1)]
    want = args[2].copy()
    monkeypatch.setattr(POLICY, "seconds", 0.0)
    for _ in range(4):
        args[2][...] = 0
        program.run((100, 1, 1), lowered.values)
    assert 2 < len(cut) < 6  # with loops: before and after they are compiled
    assert args[2].tobytes() == want.tobytes() and want.all()
