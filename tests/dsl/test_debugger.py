"""`kernel.debug`, `breakpoint()` and `tw.trace`: sessions as they print, and values against NumPy."""

from __future__ import annotations

import io
import linecache
import sys
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError


@tw.function
def scaled(tile, factor):
    largest = tw.max(tile)
    return tile * factor - largest


@tw.tile_kernel
def walk(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    pair = (tw.zeros((4,), tw.float32), n)
    acc = pair[0]
    for j in range(n):
        tile = tw.load(x, (i, j), (1, 4)).reshape((4,))
        if j > 0:
            acc = acc + scaled(tile, 2.0)
        else:
            acc += tile
    tw.store(out, (i, 0), acc.reshape((1, 4)))


@tw.tile_kernel
def stopping(x):
    k = 0
    while k < 3:
        t = tw.load(x, k, 4).astype(tw.bfloat16)
        if k == 1:
            breakpoint()
            tw.store(x, k, t * 2)
        k += 1


def session(monkeypatch: pytest.MonkeyPatch, capsys: Any, commands: list[str], run: Any) -> list[str]:
    """What pdb prints after each command."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*commands, "c", ""])))
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    run()
    return [piece.strip() for piece in capsys.readouterr().out.split("(Pdb)")]


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(linecache.getlines(__file__), 1) if line.strip().startswith(text))


def x_and_out() -> tuple[Any, Any]:
    return np.arange(24, dtype=np.float32).reshape(2, 12), np.zeros((2, 4), np.float32)


def expected(x: Any) -> Any:
    a, b, c = x[:, :4], x[:, 4:8], x[:, 8:]
    return a + 2 * b - b.max(1, keepdims=True) + 2 * c - c.max(1, keepdims=True)


def test_steps_stop_at_the_users_lines_with_the_users_names(monkeypatch: Any, capsys: Any) -> None:
    x, out = x_and_out()
    commands = ["n", "p i", "n", "n", "n", "n", "p tile, j, pair"]
    said = session(monkeypatch, capsys, commands, lambda: walk.debug((2,), x, out, 3, block=1))
    assert said[0].startswith("block (1, 0, 0) of kernel walk") and f"({line_of('i = tw.bid')})walk()" in said[0]
    assert f"({line_of('pair = ')})" in said[1] and said[2].endswith("(1)")
    assert f"({line_of('for j')})" in said[4] and f"({line_of('tile = tw.load')})" in said[5]
    assert "array([12., 13., 14., 15.]" in said[7] and "np.int32(0)" in said[7] and ", 3)" in said[7]
    np.testing.assert_array_equal(out, expected(x))


def test_step_enters_helpers_and_up_leads_back(monkeypatch: Any, capsys: Any) -> None:
    x, out = x_and_out()
    commands = [f"tbreak {line_of('acc = acc + scaled')}", "c", "s", "n", "n", "p largest", "u", "p j"]
    said = session(monkeypatch, capsys, commands, lambda: walk.debug((2,), x, out, 3, block=(0,)))
    assert said[3].startswith("--Call--") and f"({line_of('largest =')})scaled()" in said[3]
    assert f"({line_of('return tile')})scaled()" in said[5] and "7.0" in said[6]
    assert f"({line_of('acc = acc + scaled')})walk()" in said[7] and "1" in said[8]


def test_breakpoint_stops_under_the_interpreter(monkeypatch: Any, capsys: Any) -> None:
    x = np.arange(12, dtype=np.float32)
    said = session(monkeypatch, capsys, ["p k, t"], lambda: stopping[(1,)](x))
    assert f"({line_of('tw.store(x, k, t * 2)')})stopping()" in said[0]
    assert "np.int32(1)" in said[1] and "dtype=bfloat16" in said[1]
    np.testing.assert_array_equal(x, [0, 1, 2, 3, 8, 10, 12, 14, 8, 9, 10, 11])


def test_breakpoint_calls_the_hook_that_is_set(monkeypatch: Any) -> None:
    seen = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append(sys._getframe(1).f_locals["k"]))
    stopping[(1,)](np.zeros(12, np.float32))
    assert seen == [1]


def test_quit_ends_the_run(monkeypatch: Any, capsys: Any) -> None:
    x, out = x_and_out()
    session(monkeypatch, capsys, ["q"], lambda: walk.debug((2,), x, out, 3))
    assert not out.any()


def test_a_debugged_run_computes_the_same(monkeypatch: Any, capsys: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 12)).astype(np.float32)
    out, plain = np.zeros((2, 2, 4), np.float32)
    session(monkeypatch, capsys, ["c"], lambda: walk.debug((2,), x, out, 3))
    walk[(2,)](x, plain, 3)
    np.testing.assert_array_equal(out, plain)


def test_a_gpu_refuses_breakpoints() -> None:
    with pytest.raises(TileUnsupportedFeatureError, match=r"breakpoint: a kernel cannot stop on a GPU") as caught:
        stopping.ptx(tw.spec("f32[12]"), target="sm_90a")
    assert caught.value.loc.line == line_of("breakpoint()")


@pytest.mark.parametrize("block", [(2,), -1, (0, 1)])
def test_blocks_outside_the_grid_are_refused(block: Any) -> None:
    with pytest.raises(ValueError, match="outside the grid"):
        walk.debug((2,), *x_and_out(), 3, block=block)


def test_a_trace_has_a_row_for_each_result() -> None:
    x, out = x_and_out()
    found = tw.trace(walk, (2,), x, out, 3, blocks=[1])
    assert {row.block for row in found.rows} == {(1, 0, 0)}
    tiles = [row.value for row in found.rows if row.name == "tile"]
    np.testing.assert_array_equal(np.concatenate(tiles), x[1])
    [largest, _] = [row for row in found.rows if row.name == "largest"]
    assert largest.op == "reduce_max" and largest.span.function == "scaled" and largest.value == 19
    [store] = [row for row in found.rows if row.op == "store"]
    np.testing.assert_array_equal(store.value, expected(x)[1:])
    np.testing.assert_array_equal(out, expected(x))


def test_a_trace_has_one_row_for_a_fold() -> None:
    """A scan runs its body on many pairs at a time: the body's ops have no rows of their own."""
    @tw.tile_kernel
    def scan(x):
        tw.store(x, tw.bid(0), tw.cumsum(tw.load(x, tw.bid(0), 8)))

    x = np.ones(16, np.int32)
    found = tw.trace(scan, (2,), x, blocks=[1])
    assert [row.op for row in found.rows if row.op in ("add", "scan_with", "load")] == ["load", "scan_with"]
    np.testing.assert_array_equal(x, np.tile(np.arange(1, 9), 2))


def test_a_trace_reads_as_a_table() -> None:
    x, out = x_and_out()
    text = str(tw.trace(walk, (2,), x, out, 1, blocks=[0])).splitlines()
    assert text[0] == "block (0, 0, 0) of kernel walk"
    assert text[1].split() == ["line", "source", "name", "op", "value"]
    [row] = [line for line in text if " load " in line]
    assert row.split()[0] == str(line_of("tile = tw.load")) and row.endswith("float32[1x4] [[0. 1. 2. 3.]]")
    page = tw.trace(walk, (2,), x, out, 1)._repr_html_()
    assert page.count("<table>") == 2 and "tile = tw.load(x, (i, j), (1, 4))" in page
