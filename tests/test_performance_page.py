"""docs/performance.md shows what the compiler decides now, names what is there, and its table is that of the record."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import performance_page
import pytest
from benchmarks._timing import Row
from speed_goals import GOALS

import tilewright as tw
from tilewright.cli.reading import load_kernel

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
TEXT = PAGE.read_text()


def section(title: str) -> str:
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]


def test_commands_and_figures_are_up_to_date(update_golden: bool) -> None:
    made = performance_page.current(TEXT)
    if update_golden:
        PAGE.write_text(made)
    assert PAGE.read_text() == made, "run this test with --update-golden"


def test_commands_are_found() -> None:
    assert len(performance_page.SHOWN.findall(TEXT)) == TEXT.count("$ tilewright decisions") >= 6
    assert len(performance_page.LOOP.findall(TEXT)) == 1 and "tma_load" in TEXT and "```console\n```" not in TEXT


def test_passes_that_are_named_exist() -> None:
    from tilewright.backend_ptx.pipeline import PIPELINE

    verbs = {step.__name__.split("_")[0] for step in PIPELINE}
    named = {w for w in re.findall(r"`([a-z_]+)`", section("How the compiler decides")) if w.split("_")[0] in verbs}
    assert len(named) > 6 and named <= {step.__name__ for step in PIPELINE} | {"load", "store", "multiply_adds"}


@tw.tile_kernel
def product(a, b, c, m: tw.Constant[int], tf32: tw.Constant[bool]):
    x, y = tw.load(a, (0, 0), (m, 64)), tw.load(b, (0, 0), (64, 64))
    if tf32:
        x, y = x.astype(tw.tfloat32), y.astype(tw.tfloat32)
    tw.store(c, (0, 0), tw.mma(x, y, tw.zeros((m, 64), c.dtype)))


DTYPES = {"float16": ("f16", "f32"), "bfloat16": ("bf16", "f32"), "tfloat32": ("f32", "f32"), "float32": ("f32", "f32"),
          "float8_e4m3fn": ("e4m3", "f32"), "float8_e5m2": ("e5m2", "f32"), "int8": ("i8", "i32"),
          "uint8": ("u8", "i32"), "float64": ("f64", "f64")}


def instruction(dtype: str, target: str, m: int = 64) -> str:
    from tilewright.inspecting.decisions import decisions

    operands, result = (tw.spec(f"{d}[256,256]") for d in DTYPES[dtype])
    lines = decisions(product, (operands, operands, result, m, dtype == "tfloat32"), target)
    [found] = [line.removeprefix("product: ") for line in lines if line.startswith("product: ")]
    return found


def test_the_table_of_instructions() -> None:
    words = {"`wgmma`": "wgmma", "`mma.sync`": "mma.m", "multiply-adds of each thread": "multiply-adds"}
    rows = re.findall(r"^\| ([\w, ]+) \| (.*?) \| (.*?) \|$", section("How the compiler decides"), re.MULTILINE)
    seen = set()
    for dtypes, hopper, other in rows:
        for dtype in dtypes.split(", "):
            seen.add(dtype)
            expected = words[hopper]
            assert instruction(dtype, "sm_90a").startswith(expected)
            elsewhere = expected if other == "the same" else words[other.split(" from")[0]]
            for target, m in (("sm_80", 64), ("sm_89", 64), ("sm_120a", 64), ("sm_90a", 32)):
                assert instruction(dtype, target, m).startswith(elsewhere), (dtype, target, m)
    assert seen == set(DTYPES)
    assert instruction("float8_e4m3fn", "sm_89").startswith("mma.m16n8k16.f32.f16")  # PTX 8.0
    assert instruction("float8_e4m3fn", "sm_120a").startswith("mma.m16n8k32.f32.e4m3")


def test_reasons_are_those_of_the_compiler() -> None:
    source = (ROOT / "backend_ptx" / "decisions.py").read_text()
    cells = re.findall(r"^\| (`.*?) \|", section("What falls back, and how it says so"), re.MULTILINE)
    reasons = [reason for cell in cells for reason in re.findall(r"`(.*?)`", cell)]
    assert len(reasons) > 12
    for reason in reasons:  # numbers stand for what is filled in
        for part in re.split(r"(?<!=)\d+|\.\.\.", reason):
            assert part in source, reason


def test_hints_and_options_that_are_named_exist() -> None:
    import inspect

    known = set(inspect.signature(tw.tile_kernel).parameters) | {"num_ctas", "occupancy", "opt_level"}
    known |= {"num_worker_warps", "programmatic_dependent_launch"}
    for function in (tw.load, tw.mma, tw.exp2):
        known |= set(inspect.signature(function).parameters)
    rows = re.findall(r"^\| `(\w+)(?:=\w+)?`", section("What you can change"), re.MULTILINE)
    assert len(rows) >= 6 and {r for r in rows if r != "exp2"} <= known


@pytest.fixture(scope="module")
def code() -> dict[str, str]:
    """SASS of the kernels that the table of instructions names."""
    from tilewright.inspecting.sass import find_disassembler

    try:
        find_disassembler()
    except tw.TileError as error:
        pytest.skip(str(error))
    matrix, vector = tw.spec("bf16[4096,4096]"), tw.spec("f32[1048576]")
    gemm = load_kernel(f"{ROOT}/examples/tuned_matmul.py:plain")
    return {
        "`plain` for sm_90a": gemm.sass(matrix, matrix, matrix, 128, 256, 64, target="sm_90a"),
        "`plain` for sm_80": gemm.sass(matrix, matrix, matrix, 128, 128, 64, target="sm_80"),
        "`vector_add` for sm_90a": load_kernel(f"{ROOT}/examples/vector_add.py").sass(
            vector, vector, vector, 2048, target="sm_90a"),
        "`softmax` for sm_90a": load_kernel(f"{ROOT}/examples/softmax.py").sass(
            matrix, matrix, 4096, target="sm_90a"),
    }


def test_instructions_are_in_the_code(code: dict[str, str]) -> None:
    rows = re.findall(r"^\| (`.*?) \| .* \| (`.*) \|$", section("Reading machine code"), re.MULTILINE)
    assert len(rows) >= 8
    for names, kernel in rows:
        for name in re.findall(r"`(.*?)`", names):
            assert re.search(rf"\b{re.escape(name)}\b", code[kernel]), f"{name} is not in {kernel}"
    assert not any(re.search(r"\b(LDL|STL)\b", text) for text in code.values())


# ---- the table --------------------------------------------------------------------------------------------------

GEMM = Row("matmul bfloat16 4096^3, b as [K, N]", {"ours": 175.0, "cuBLAS": 171.5}, flops=2.0 * 4096**3)
SUMS = [Row(f"row sum f32 131072x1024, {h} a block", {"ours": t, "copy": 100.0, "triton": 99.0}, bytes=4e8)
        for h, t in (("1 row", 120.0), ("4 rows", 105.0))]


def log(*rows: Row) -> str:
    return "# commit abc1234\nPython 3.12, torch 2.11, NVIDIA H200\n== group\n" + "".join(r.text() + "\n" for r in rows)


def line(table: str, start: str) -> str:
    [found] = [line for line in table.splitlines() if line.startswith(start)]
    return found


def test_a_row_of_a_log_becomes_a_row_of_the_table() -> None:
    table = performance_page.table(log(GEMM))
    row = line(table, "| `matmul bfloat16 4096^3, b as [K, N]`")
    assert row.endswith("| 785 TFLOP/s | cuBLAS 0.98 | 0.97 of cuBLAS | yes |")
    assert "commit abc1234" in table and "NVIDIA H200" in table


def test_the_best_way_counts_and_the_lower_bound_is_enough() -> None:
    row = line(performance_page.table(log(*SUMS)), "| `row sum")
    assert row == ("| `row sum f32 131072x1024` | 3810 GB/s | a copy 0.95, Triton 0.94 | "
                   "0.93 of a copy or 0.98 of Triton | yes |")
    assert line(performance_page.table(log(SUMS[0])), "| `row sum").endswith("| no |")


def test_the_last_reading_counts() -> None:
    slower = Row(GEMM.name, {"ours": 200.0, "cuBLAS": 171.5}, flops=GEMM.flops)
    assert line(performance_page.table(log(GEMM, slower)), "| `matmul").endswith("| no |")


def test_what_a_fusion_saves() -> None:
    fused = Row("gelu(a @ b + bias) 4096x4096x4096", {"ours": 200.0, "torch": 230.0, "limit": 190.0}, flops=GEMM.flops)
    record = log(fused) + "  saves 30.0 us of the 40.0 us that the product alone would save (0.75)\n"
    assert line(performance_page.table(record), "| `gelu").endswith(
        "| torch 1.15, the product alone by cuBLAS 0.95; 30.0 of 40.0 us saved | 1.00 of torch | yes |")


def test_work_without_a_reading_is_named() -> None:
    table = performance_page.table(log(GEMM))
    assert table.count("not in the record") == len(GOALS) - 1


def test_json_and_times_of_compilation(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    lines = [asdict(GEMM), "vector add, tile 2048          41.3 ms to machine code (frontend 1.0)"]
    file.write_text(json.dumps({"machine": "Python 3.12", "rows": lines}))
    table = performance_page.table(performance_page.as_log(file))
    assert "cuBLAS 0.98" in table
    assert "| function to machine code, vector add, tile 2048 | 41 ms | | 11 ms | no |" in table


def test_launches_and_the_first_one_of_a_process() -> None:
    lines = ["host cost of a launch, bound()                         4.93 us, 1.04 of raw",
             "host cost of a launch, kernel[grid](...)               6.55 us, 1.35 of raw",
             "first result of a process: stored cubin 300 ms, ours, warm cache 390; 90 beyond it"]
    table = performance_page.table("\n".join(lines))
    assert "bound() | 4.93 us, 1.04 of one from compiled code | | 1.05 of that | yes |" in table
    assert "kernel[grid]\\(...) | 6.55 us, 1.35 of one from compiled code | | 1.2 of that | no |" in table
    assert "| a process until its first result, beyond one with a stored cubin | 90 ms | | 100 ms | yes |" in table


def test_contenders_of_several_words() -> None:
    lists = Row("4 products 4096x4096x4096 from lists", {"ours": 100.0, "one product": 95.0, "torch's loop": 96.0},
                flops=1e9)
    row = line(performance_page.table(log(lists)), "| `4 products")
    assert row.endswith("one product of all, ours 0.95, torch's loop 0.96 | "
                        "0.93 of one product of all, ours and 0.95 of torch's loop | yes |")


def test_one_name_stands_for_one_piece_of_work() -> None:
    """What one goal matches is no other's, or a figure would be held against a bound that was not asked of it."""
    names = ["plain softmax bfloat16 32768x4096", "softmax bfloat16 32768x4096",
             "row sum f32 131072x1024, 1 row a block", "plain attention 4x32x4096x128 causal, a mask by where",
             "attention 4x32x4096x64 causal",
             "plain attention 4x32x4096x128 causal cap 30, a mask in a branch", "matmul tfloat32 4096^3, b as [K, N]",
             "plain masked softmax bfloat16 2656x50257", "persistent layer norm bf16 65536x1024",
             "float8_e4m3 matmul with b as [K, N], 8192^3, fast accumulation", "paged decode 8x32/8x8192x128"]
    for name in names:
        assert len([goal.work for goal in GOALS if re.match(goal.rows, name)]) == 1, name


def test_limits_of_the_machine_are_told() -> None:
    limits = Row("limit: copy", {"copy": 1000.0}, bytes=4.2e9)
    assert "| limit: copy | 4200.0 GB/s | |  |  |" in performance_page.table(log(limits))


def test_every_goal_is_met_or_not() -> None:
    for goal in GOALS:
        assert goal.met("x", dict.fromkeys(goal.bounds, 2.0)) is (True if goal.bounds else None)
        assert goal.met("x", dict.fromkeys(goal.bounds, 0.1)) is (False if goal.bounds else None)
    wide = next(g for g in GOALS if g.special)
    assert wide.met("softmax bfloat16 4096x65536", {"copy": 0.86, "triton": 0.5})
    assert not wide.met("softmax bfloat16 4096x16384", {"copy": 0.86, "triton": 0.5})
