"""The table of docs/kernels.md is that of the record."""

from __future__ import annotations

import library_page

RECORD = """# commit 0123456
Python 3.12.3, torch 2.11.0, NVIDIA H200, driver 580
softmax 32768 x 1024     ours 36.5 us 3680.8 GB/s  | torch 2274.0 ratio 1.619  | compile 3725.0 ratio 0.988
  (torch.compile: BackendCompilerFailed: backend='inductor' raised:
attention 4x32/8x1024x128 causal and backward  ours 330.5 us 363.8 TFLOP/s  | torch 303.9 ratio 1.197
"""


def test_the_page_has_the_table_of_the_record(update_golden: bool) -> None:
    made = library_page.current(library_page.PAGE.read_text(), library_page.RECORD.read_text())
    if update_golden:
        library_page.PAGE.write_text(made)
    assert library_page.PAGE.read_text() == made, "run tools/library_page.py"


def test_rows_have_the_fastest_of_the_others() -> None:
    made = library_page.current(f"before {library_page.START} old {library_page.END} behind", RECORD)
    assert made.startswith("before ") and made.endswith(f"{library_page.END} behind") and " old " not in made
    assert [line for line in made.splitlines() if line.startswith(("- ", "| softmax", "| attention"))] == [
        "- Python 3.12.3, torch 2.11.0, NVIDIA H200, driver 580", "- commit 0123456", "- 1 of 2 rows at least 0.995",
        "| softmax 32768 x 1024 | 36.5 us, 3681 GB/s | torch.compile | 0.99 |",
        "| attention 4x32/8x1024x128 causal and backward | 330.5 us, 364 TFLOP/s | torch | 1.20 |"]
