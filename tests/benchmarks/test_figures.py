"""The arithmetic of the benchmarks' figures, and the report without a GPU."""

from __future__ import annotations

import re
from typing import Any

import pytest
from benchmarks import compile as compile_times
from benchmarks import report, roofline
from benchmarks._timing import Row
from support.thorough import part


def test_a_row_says_the_rate_and_the_ratio_to_each_contender() -> None:
    row = Row("copying", {"ours": 100.0, "copy": 90.0}, bytes=400e6)
    assert row.rate("ours") == pytest.approx(4000)
    assert "4000.0 GB/s" in row.text() and "ratio 0.900" in row.text()


def test_points_of_the_roofline() -> None:
    bytes_only = {"name": "sum", "times": {"ours": 100.0}, "bytes": 4e8, "flops": 0.0, "moved": 0.0}
    product = {"name": "gemm", "times": {"ours": 200.0}, "bytes": 0.0, "flops": 1e11, "moved": 1e8}
    unknown = {**product, "moved": 0.0}
    assert roofline.point(bytes_only, "ours") == pytest.approx((1.0, 4.0))
    assert roofline.point(product, "ours") == pytest.approx((1000.0, 500.0))
    assert roofline.point(unknown, "ours") is None


def test_peaks_are_the_best_limits() -> None:
    def limit(**figures: float) -> dict[str, Any]:
        return {"name": "limit: x", "times": {"copy": 1000.0}, "bytes": 0.0, "flops": 0.0, "moved": 0.0, **figures}

    assert roofline.peaks([limit(bytes=4e9), limit(flops=7e11), limit(flops=6e11)]) == pytest.approx((4e12, 700.0))


# What the table of speeds is about spills nothing: by name, the registers and matrix instructions are those of sm_90a.
WORKS = {work.name: work for work in report.works()}
EXAMINED = part(list(WORKS), 2)  # `make assemble` examines all
PRODUCTS = {work.name for work in report.products()} | {name for name in WORKS if name.startswith("gemm")}


@pytest.mark.parametrize("name", EXAMINED)
def test_no_kernel_of_the_report_spills(name: str) -> None:
    made = report.examine(WORKS[name])
    assert made.spill_bytes == 0, made.text()
    assert made.resident_warps >= made.warps and sum(made.stages.values()) > 0
    assert ("MMA" in made.matrix) == (name in PRODUCTS)


def test_compile_times_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line says the total and what each stage takes of it."""
    first = next(compile_times.kernels())
    monkeypatch.setattr(compile_times, "kernels", lambda: iter([first]))
    [line] = compile_times.rows(rounds=1)
    shown = re.match(r"vector add, tile 1024\s+([\d.]+) ms to (?:machine code|PTX) \((.*); least", line)
    assert shown is not None, line
    total, parts = shown.groups()
    found = dict(part.rsplit(" ", 1) for part in parts.split(", "))
    assert {"frontend", "passes", "lower", "llvm codegen"} < set(found)
    assert sum(map(float, found.values())) == pytest.approx(float(total), abs=2)
