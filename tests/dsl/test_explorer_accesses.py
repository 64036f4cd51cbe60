"""The explorer's map of arrays and its sectors: what blocks access, without the arithmetic between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.cli.reading import load_kernel, parse_args
from tilewright.inspecting.explorer import accesses, sectors
from tilewright.inspecting.explorer.accesses import access_map, record
from tilewright.inspecting.explorer.places import Numbering
from tilewright.inspecting.explorer.views import views
from tilewright.inspecting.stages import Stages

EXAMPLES = Path(__file__).parents[2] / "examples"


def of(where: str, args: str, given: dict[int, Any] | None = None) -> Stages:
    """A kernel for arguments, with arrays in place of some."""
    values = [(given or {}).get(k, value) for k, value in enumerate(parse_args(args))]
    return load_kernel(f"{EXAMPLES}/{where}").lower(*values, target="sm_90a")


def mapped(stages: Stages, *grid: int) -> dict[str, Any]:
    """The map, and that of each array by its name."""
    found = access_map(record(stages, (*grid, 1, 1, 1)[:3])[0], Numbering())  # type: ignore[arg-type]
    return {one["name"]: one for one in found["arrays"]} | {"all": found}


def cells(array: dict[str, Any], kind: int, block: int) -> set[int]:
    runs = array["kinds"][kind]["runs"][array["kinds"][kind]["of"][block]]
    return {cell for first, count in zip(runs[::2], runs[1::2], strict=True) for cell in range(first, first + count)}


def test_a_product_reads_each_operand_as_often_as_there_are_blocks_beside() -> None:
    stages = of("matmul.py:matmul", "bf16[4096,4096], bf16[4096,4096], bf16[4096,4096], 128, 256, 64")
    maps = mapped(stages, 512)
    a, b, c = maps["a"], maps["b"], maps["c"]
    assert a["cells"] == [64, 64] and a["sizes"] == [64, 64] and a["kinds"][1] is None
    assert set(a["kinds"][0]["times"]) == {16.0} and set(b["kinds"][0]["times"]) == {32.0}
    assert set(c["kinds"][1]["times"]) == {1.0} and set(c["kinds"][1]["blocks"]) == {1}
    assert a["elements"] == [16 * 4096 * 4096, 0] and c["elements"] == [0, 4096 * 4096]
    # Block 5 has tile (1, 1): bands of four rows of tiles.
    assert cells(a, 0, 5) == set(range(2 * 64, 4 * 64))
    assert cells(b, 0, 5) == {row * 64 + column for row in range(64) for column in range(4, 8)}
    assert cells(c, 1, 5) == {row * 64 + column for row in (2, 3) for column in range(4, 8)}
    assert [(one["what"], one["array"]) for one in maps["all"]["ops"]] == [("read", "a"), ("read", "b"), ("write", "c")]


def test_edges_and_turned_tiles() -> None:
    maps = mapped(of("transpose.py:transpose", "f32[1000,531], f32[531,1000], 64, 64"), 16, 9)
    for name, kind in (("x", 0), ("out", 1)):
        found = maps[name]["kinds"][kind]
        assert set(found["times"]) == {1.0} and set(found["blocks"]) == {1}, "no cell has parts of two tiles"
        assert maps[name]["elements"][kind] == 531_000
    assert min(cells(maps["x"], 0, 1)) == 4 * 34 and min(cells(maps["out"], 1, 1)) == 4


def test_one_axis_and_a_count_of_every_element() -> None:
    maps = mapped(of("vector_add.py:vector_add", "f32[10000], f32[10000], f32[10000], 256"), 40)
    x = maps["x"]
    assert x["cells"] == [1, 2500] and x["sizes"] == [1, 4] and x["elements"][0] == 10000
    assert cells(x, 0, 39) == set(range(39 * 64, 2500))


def test_indices_from_memory_decide() -> None:
    tokens = np.array([3, 3, 40, -1, 499, 500, *range(71)])
    args = "f16[500,100], i64[77], f16[77,100], 16, 64"
    maps = mapped(of("embedding.py:embed", args, {1: tokens}), 5, 2)
    read = np.append(tokens, [0, 0, 0])  # the last tile ends beyond the tokens: its padding is row 0
    inside = read[(read >= 0) & (read < 500)]
    assert maps["table"]["elements"] == [100 * len(inside), 0]
    times = np.array(maps["table"]["kinds"][0]["times"]).reshape(maps["table"]["cells"])
    want = np.bincount(inside, minlength=500)
    want = np.array([want[k : k + 8].mean() for k in range(0, 500, 8)])
    assert np.allclose(times, want[:, None], rtol=1e-3)


def test_views_of_sequences_and_branches() -> None:
    starts = np.array([0, 100, 101, 138, 268], np.int32)
    args = "f16[268,4,64], f16[268,2,64], f16[268,2,64], i32[5], f16[268,4,64], f32[4,268], 0.125, 64, 32, 64"
    maps = mapped(of("attention.py:attention", args, {3: starts}), 3, 4, 4)
    assert set(maps["out"]["kinds"][1]["times"]) == {1.0} and maps["out"]["elements"][1] == 268 * 4 * 64
    lengths = np.diff(starts)
    keys = sum(min((i + 1) * 64, -(-n // 32) * 32, n) for n in lengths for i in range(-(-n // 64)))
    assert maps["k"]["elements"][0] == keys * 4 * 64


def test_a_lock_that_blocks_pass_on_is_taken() -> None:
    stages = of("split_k_atomics.py:split_k_locked", "f32[256,256], f32[256,256], f32[256,256], i32[4,4], 64, 64")
    maps = mapped(stages, 4, 4, 4)
    assert set(maps["c"]["kinds"][0]["times"]) == {4.0} and set(maps["c"]["kinds"][0]["blocks"]) == {4}


def test_a_run_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accesses, "ACCESSES", 10)
    maps = mapped(of("matmul.py:matmul", "f32[256,256], f32[256,256], f32[256,256], 64, 64, 16"), 16)
    assert maps["all"]["ended"] and maps["a"]["elements"][0] > 0


def test_sectors_of_layouts_and_strides() -> None:
    def found(where: str, args: str) -> dict[tuple[str, str], Any]:
        stages = of(where, args)
        rows = sectors.sectors(stages.machine_ir(), stages.values, {}, Numbering())
        return {(row["what"], row["array"]): row for row in rows}

    dense = found("vector_add.py:vector_add", "f32[4096], f32[4096], f32[4096], 1024")["load", "x"]
    assert dense["bytes"] == 16 and (dense["sectors"], dense["least"]) == (16.0, 16.0)
    shown = found("transpose.py:transpose", "f32[1024,531], f32[531,1024], 64, 64")
    # 32 lanes read 128 bytes of a row; rows of 531 floats begin anywhere in a sector.
    load, store = shown["load", "x"], shown["store", "out"]
    assert load["bytes"] == 4 and load["least"] == 4.0 and 4.0 < load["sectors"] < 5.0
    assert store["bytes"] == 16 and store["sectors"] == store["least"] == 16.0
    matmul = found("matmul.py:matmul", "bf16[512,512], bf16[512,512], bf16[512,512], 128, 256, 64")
    assert "TMA" in matmul["tma_load", "a"]["note"]
    gathered = found("embedding.py:embed", "f16[500,100], i64[77], f16[77,100], 16, 64")
    assert "--grid" in gathered["gather", "table"]["note"]


@tw.tile_kernel
def column(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, (0, i), (256, 1)).reshape((256,)))


def test_a_column_takes_a_sector_for_each_element() -> None:
    stages = column.lower(tw.spec("f32[256,512]"), tw.spec("f32[131072]"), target="sm_90a")
    rows = sectors.sectors(stages.machine_ir(), stages.values, {}, Numbering())
    [load] = [row for row in rows if row["what"] == "load"]
    assert load["bytes"] == 4 and load["sectors"] == 32.0 and load["least"] == 4.0


def test_gathers_are_counted_at_the_indices_that_were_seen() -> None:
    stages = load_kernel(f"{EXAMPLES}/embedding.py:embed").lower(
        *parse_args("f16[500,128]"), np.arange(80) * 5 % 500, *parse_args("f16[80,128], 16, 64"), target="sm_90a")
    shown = views(stages, Numbering(), (5, 2, 1))
    [row] = [row for row in shown["sectors"] if row["what"] == "gather"]
    assert row["bytes"] == 16 and row["sectors"] == row["least"] == 16.0, "64 elements of 2 bytes side by side"
    assert shown["accesses"]["invented"] == []


def test_what_the_command_line_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "tokens.npy", np.arange(77))
    page = tmp_path / "page.html"
    args = f"f16[500,100], {tmp_path}/tokens.npy, f16[77,100], 16, 64"
    assert main(["explore", f"{EXAMPLES}/embedding.py:embed", "--args", args, "--grid", "5,2", "-o", str(page),
                 "--target", "sm_90a"]) == 0
    data = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
    assert data["views"]["accesses"]["grid"] == [5, 2, 1] and "unmapped" not in data["views"]
    assert main(["explore", f"{EXAMPLES}/embedding.py:embed", "--args", "f16[500,100], i64[77], f16[77,100], 16, 64",
                 "--grid", "0", "-o", str(page)]) == 0
    assert "grids of 1 to" in page.read_text()


def test_contents_that_are_made_up_are_named() -> None:
    stages = of("embedding.py:embed", "f16[500,100], i64[77], f16[77,100], 16, 64")
    assert views(stages, Numbering(), (5, 2, 1))["accesses"]["invented"] == ["tokens"]
    unknown = of("vector_add.py:vector_add", "f32[?], f32[?], f32[?], 256")
    assert "?" in views(unknown, Numbering(), (5, 1, 1))["unmapped"]
    assert "--grid" in views(unknown, Numbering())["unmapped"]
