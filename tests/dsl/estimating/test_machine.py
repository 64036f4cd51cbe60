"""What estimates say of machine code: traffic of L2 and memory, CTAs per SM, waves and bank conflicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.targets import SM_90A
from tilewright.cli.main import main
from tilewright.estimating import DEVICES, Estimate, estimate
from tilewright.estimating.banks import wavefronts
from tilewright.estimating.machine import MachineCode
from tilewright.estimating.occupancy import limits_of

ROOT = Path(__file__).parents[3]
H200 = DEVICES["h200"]


@tw.tile_kernel
def scaled(x, weight, out, tm: tw.Constant[int], n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (tm, n)) * tw.load(weight, (0,), (n,))[None, :]
    tw.store(out, (i, 0), t)


@tw.tile_kernel
def twice(x, out, n: tw.Constant[int]):
    """Each row is read in parts, and once more when all of it is known."""
    i = tw.bid(0)
    top = tw.zeros((1, n), tw.float32)
    for j in range(tw.cdiv(x.shape[1], n)):
        top = tw.maximum(top, tw.load(x, (i, j), (1, n)))
    for j in range(tw.cdiv(x.shape[1], n)):
        tw.store(out, (i, j), tw.load(x, (i, j), (1, n)) / tw.max(top))


@tw.tile_kernel
def column_sums(x, out, m: tw.Constant[int]):
    """One column for each block: a sector has eight of them."""
    j = tw.bid(0)
    tw.store(out, (j,), tw.sum(tw.load(x, (0, j), (m, 1)), axis=0))


def code_of(found: Estimate) -> MachineCode:
    assert found.machine is not None
    return found.machine


def test_what_all_ctas_load_stays_in_l1() -> None:
    x, weight = tw.spec("f32[65536,1024]"), tw.spec("f32[1024]")
    found = estimate(scaled, 65536, x, weight, x, 1, 1024)
    code, size = code_of(found), 65536 * 1024 * 4
    assert code.of("x", "read").asked == code.of("x", "read").fetched == size // 32
    assert code.of("out", "written").fetched == size // 32
    assert code.of("weight", "read").asked == 65536 * 128, "each CTA asks for all of it"
    assert code.of("weight", "read").fetched == 132 * 128, "each SM once"
    assert found.dram_read == {"x": (size, size), "weight": (4096, 4096), "out": (0, 0)}
    assert found.dram_written["out"] == (size, size)


def test_memory_between_each_byte_once_and_every_request() -> None:
    rows, columns = 4096, 65536
    x = tw.spec(f"f32[{rows},{columns}]")
    found = estimate(twice, rows, x, x, 4096)
    size = rows * columns * 4  # bytes of either
    # All rows of a wave do not fit L2: both times they come from memory.
    assert found.dram_read["x"] == (size, 2 * size)
    narrow = tw.spec("f32[65536,512]")
    found = estimate(twice, 65536, narrow, narrow, 128)
    assert found.dram_read["x"] == (size // 8, size // 8), "rows of a wave take a few MB"
    small = tw.spec("f32[1024,1024]")
    found = estimate(twice, 1024, small, small, 1024)
    assert not found.exact and found.dram_read["x"] == (1 << 22, 1 << 22), "L2 has all"
    assert estimate(twice, 1024, small, small, 1024, machine=False).dram_read["x"] == (1 << 22, 2 << 22)


def test_products_read_operands_again_by_waves() -> None:
    from benchmarks.kernels import matmul

    n, square = 8192, tw.spec("bf16[8192,8192]")
    found = estimate(matmul, 2048, square, square, square, 128, 256, 64, 8, False)
    code, size = code_of(found), 2 * n * n
    assert code.of("a", "read").fetched * 32 == 32 * size and code.of("b", "read").fetched * 32 == 64 * size
    # 132 CTAs of a wave have 8 rows of tiles and 16.5 columns: 16 waves, of 16 or 17 columns each, two at a time.
    (a_least, a_most), (b_least, b_most) = found.dram_read["a"], found.dram_read["b"]
    assert a_least == b_least == size and 2 * size < a_most < 8 * size and 16 * size < b_most < 18 * size
    assert found.dram_written["c"] == (size, size) and code.of("c", "written").fetched * 32 == size


def test_sectors_of_narrow_parts() -> None:
    """Of 32 bytes only 4 are used: memory moves all of them."""
    x = np.zeros((1000, 64), np.float32)[:, ::8]
    found = estimate(scaled, 1000, x, np.zeros(8, np.float32), np.zeros((1000, 8), np.float32), 1, 8)
    assert found.bytes_read["x"] == 32_000 and found.dram_read["x"][0] == 32 * 8000
    wide = tw.spec("f32[1024,4096]")
    found = estimate(column_sums, 4096, wide, tw.spec("f32[4096]"), 1024)
    assert code_of(found).of("x", "read").asked == 1024 * 4096, "each element is a sector of its own"


def test_sectors_that_several_ctas_write_may_move_in_parts() -> None:
    """A block writes four bytes of a sector: L2 hands on one or eight of them at a time."""
    columns = 1 << 15
    found = estimate(column_sums, columns, tw.spec(f"f32[1024,{columns}]"), tw.spec(f"f32[{columns}]"), 1024)
    assert found.dram_written["out"] == (columns * 4, columns * 32) and not found.exact
    small = estimate(column_sums, 4096, tw.spec("f32[1024,4096]"), tw.spec("f32[4096]"), 1024)
    assert small.dram_written["out"] == (4096 * 4, 4096 * 4), "L2 keeps all of it"


def test_ctas_and_waves() -> None:
    x = tw.spec("f32[65536,1024]")
    code = code_of(estimate(scaled, 66000, x, tw.spec("f32[1024]"), x, 1, 1024))
    found = code.occupancy
    assert found.threads == 128 and found.resident == min(found.allowed.values()) == found.allowed[found.limited[0]]
    assert code.ctas == 66000 and code.waves == 66000 / (132 * found.resident)
    assert code.last_wave == pytest.approx(code.waves % 1) and found.warps == 4 * found.resident
    fewer = estimate(scaled, 66000, x, tw.spec("f32[1024]"), x, 1, 1024, device=replace(H200, sms=66))
    assert code_of(fewer).waves == 2 * code.waves


def test_registers_are_given_to_warps() -> None:
    assert limits_of(64, 32, 0, SM_90A)["registers"] == 32 and limits_of(65, 32, 0, SM_90A)["registers"] == 28
    assert limits_of(168, 384, 0, SM_90A)["registers"] == 1 and limits_of(16, 96, 0, SM_90A)["registers"] == 42
    assert limits_of(32, 40, 0, SM_90A)["threads"] == 32


def test_without_ptxas_registers_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.estimating import occupancy

    x = tw.spec("f32[64,1024]")
    with_it = code_of(estimate(scaled, 64, x, tw.spec("f32[1024]"), x, 1, 1024)).occupancy
    monkeypatch.setattr(occupancy, "has_ptxas", lambda: False)
    found = code_of(estimate(scaled, 64, x, tw.spec("f32[1024]"), x, 1, 1024)).occupancy
    assert not found.assembled and found.registers > 8 and found.allowed["threads"] == with_it.allowed["threads"]


def test_wavefronts_of_a_request() -> None:
    lanes, all_act = np.arange(32)[None, :], np.ones((1, 32), np.bool_)
    assert wavefronts(lanes * 4, all_act, 4) == (1, 1)
    assert wavefronts(lanes * 8, all_act, 4) == (2, 1)
    assert wavefronts(lanes * 128, all_act, 4) == (32, 1)
    assert wavefronts(lanes * 0, all_act, 4) == (1, 1), "the same word for all"
    assert wavefronts(lanes * 16, all_act, 16) == (4, 4), "eight lanes at once"
    assert wavefronts(lanes * 128, all_act, 16) == (32, 4)
    assert wavefronts(lanes * 128, lanes < 3, 4) == (3, 1)
    assert wavefronts(lanes * 2, all_act, 2) == (1, 1)


@tw.tile_kernel
def doubled_product(a, b, c, n: tw.Constant[int]):
    acc = tw.zeros((64, n), tw.float32)
    for k in range(tw.cdiv(a.shape[1], 32)):
        x = tw.load(a, (0, k), (64, 32)) * 2.0
        y = tw.load(b, (k, 0), (32, n), allow_tma=False).astype(tw.tfloat32)
        acc = tw.mma(x.astype(tw.tfloat32), y, acc)
    tw.store(c, (0, 0), acc)


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["estimate", *words]) == 0
    return capsys.readouterr().out


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    args = "--args", "f32[1000,531], f32[531,1000], 64, 64", "--grid", "16,9"
    where = f"{ROOT}/examples/transpose.py:transpose"
    text = shown(capsys, where, *args)
    assert "sectors  of L2, read  a request  written  a request  memory reads   writes" in text
    assert "144 CTAs on 132 SMs: 0.1" in text and "no bank conflicts in shared memory" in text
    data = json.loads(shown(capsys, where, *args, "--json"))["machine"]
    x, out = data["arrays"]
    assert x["read"]["asked"] == 81250 and x["written"] == {"requests": 0, "asked": 0, "fetched": 0}
    assert out["written"]["asked"] == out["written"]["fetched"] == 1000 * 531 * 4 // 32
    assert out["dram_written"] == [1000 * 531 * 4] * 2
    assert data["ctas"] == 144 and data["resident"] == min(data["limits"].values())
    assert [set(use) for use in data["banks"]] == [{"what", "line", "wavefronts", "least"}] * 2


def test_bank_conflicts_are_told_with_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    """tfloat32 operands that threads compute: the layout that wgmma reads meets the banks of those who store it."""
    args: list[Any] = [tw.spec("f32[64,64]"), tw.spec("f32[64,64]"), tw.spec("f32[64,64]"), 64]
    found = estimate(doubled_product, 1, *args)
    bad = [use for use in code_of(found).shared if use.wavefronts > use.least]
    from tilewright.estimating.table import told

    assert bad, "this kernel stands for one with conflicts"
    assert f"bank conflicts: stores take for line {bad[0].line} " in told(found)


@tw.tile_kernel
def picked(table, rows, out, n: tw.Constant[int]):
    i, column = tw.bid(0), tw.arange(n, dtype=tw.int32)
    row = tw.load(rows, (i,), (1,))
    tw.store(out, (i, 0), tw.gather(table, (row[:, None], column[None, :])))


def test_of_too_many_gathered_elements_a_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.estimating import sectors, traffic, waves

    args: list[Any] = [tw.spec("f32[40000,32]"), np.arange(40000, dtype=np.int32), tw.spec("f32[40000,32]"), 32]
    whole = estimate(picked, 40000, *args)
    for module in (sectors, traffic, waves):
        monkeypatch.setattr(module, "MAX_SINGLE", 1 << 20)
    found = estimate(picked, 40000, *args)
    assert code_of(found).of("table", "read") == code_of(whole).of("table", "read")
    assert code_of(found).of("table", "read").asked == 40000 * 4
    assert "scaled" in found.notes[-1] and "table" in found.notes[-1] and len(found.notes) == len(whole.notes) + 1
