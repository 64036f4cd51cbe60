"""`tilewright decisions`: what was decided for a target, without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.cli.reading import load_kernel
from tilewright.inspecting.decisions import decisions

SOURCE = '''
import tilewright as tw

@tw.tile_kernel
def gemm(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(a.shape[1], tk)):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))

@tw.tile_kernel
def rows_of(table, rows, out, n: tw.Constant[int], step: tw.Constant[int]):
    i = tw.bid(0)
    row = tw.load(rows, (i,), (4,))
    column = tw.arange(n, dtype=tw.int32) * step
    tw.store(out, (i, 0), tw.gather(table, (row[:, None], column[None, :])))

@tw.tile_kernel
def looked_up(image, table, out, n: tw.Constant[int]):
    t = tw.load(image, tw.bid(0), n)
    tw.store(out, tw.bid(0), tw.gather(table, t.astype(tw.int32)))
'''
SQUARE = tw.spec("bf16[1024,1024]")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernels") / "products.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def gemm(file: Path) -> Any:
    return load_kernel(f"{file}:gemm")


def test_products_loads_and_stores_by_target(gemm: Any) -> None:
    hopper = decisions(gemm, (SQUARE, SQUARE, SQUARE, 128, 128, 64), "sm_90a")
    assert {"target: sm_90a", "product: wgmma, bf16, 128x128x64", "load of a: TMA", "load of b: TMA",
            "store to c: TMA", "stores: c by TMA (16x64 at a time from each warp)"} <= set(hopper)
    ampere = decisions(gemm, (SQUARE, SQUARE, SQUARE, 128, 128, 64), "sm_80")
    assert {"product: mma.m16n8k16.f32.bf16, 128x128x64", "load of a: cp.async"} <= set(ampere)
    single = tw.spec("f32[1024,1024]")
    assert "product: multiply-adds of each thread, 64x64x32" in decisions(gemm, (single,) * 3 + (64, 64, 32), "sm_90a")


def test_reasons_of_what_falls_back(gemm: Any) -> None:
    odd = tw.spec("bf16[1001,1003]")
    lines = decisions(gemm, (odd, odd, odd, 128, 128, 64), "sm_90a")
    assert "load of a: 2 bytes at a time" in lines and "store to c: 2 bytes at a time" in lines
    rings = [line for line in lines if line.startswith("rings: ")]
    assert [line.partition(" (")[0] for line in rings] == ["rings: x stays a load", "rings: y stays a load"]


def test_hints_are_told_as_yours(gemm: Any) -> None:
    args = SQUARE, SQUARE, SQUARE, 128, 128, 64
    lines = decisions(gemm.replace_hints(num_worker_warps=8, occupancy=2), args, "sm_90a")
    assert {"num_worker_warps: 8 (your hint)", "occupancy: 2 (your hint)"} <= set(lines)
    assert "num_warps: 8 (as num_worker_warps asks)" in lines
    assert not [line for line in decisions(gemm, args, "sm_90a") if "your hint" in line]


def test_gathers_by_vectors_and_by_elements(file: Path) -> None:
    kernel = load_kernel(f"{file}:rows_of")
    args = tw.spec("bf16[4096,1024]"), tw.spec("i32[4096]"), tw.spec("bf16[4096,256]"), 256
    assert "gather of table: 16 bytes at a time" in decisions(kernel, (*args, 1), "sm_90a")
    assert "gather of table: 2 bytes at a time" in decisions(kernel, (*args, 2), "sm_90a")
    args = tw.spec("u8[65536]"), tw.spec("u8[256]"), tw.spec("u8[65536]")
    lines = decisions(load_kernel(f"{file}:looked_up"), (*args, 4096), "sm_90a")  # what is looked up lies anywhere
    assert {"load of image: 16 bytes at a time", "store to out: 16 bytes at a time"} <= set(lines)


def test_command_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = "bf16[64,64], bf16[64,64], bf16[64,64], 64, 64, 32"
    assert main(["decisions", f"{file}:gemm", "--args", args, "--target", "sm_120a"]) == 0
    shown = capsys.readouterr().out
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "mma(" in text)
    assert shown.startswith(f"target: sm_120a\nproduct: mma.m16n8k16.f32.bf16, 64x64x32 [products.py:{line}]\n")
    with pytest.raises(SystemExit):
        main(["decisions", f"{file}:gemm", "--args", args, "--target", "sm_1"])
    assert "choose from 'sm_80'" in capsys.readouterr().err
