"""What each pass makes of one kernel, as a file to read (rewritten with --update-golden)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from kernels import function  # noqa: E402

from tilewright.backend_ptx.pipeline import PIPELINE  # noqa: E402
from tilewright.backend_ptx.targets import get_target  # noqa: E402
from tilewright.tileir.printer import to_text  # noqa: E402

FOLDER = Path(__file__).with_name("golden")
KERNEL_OF_PASS = {
    "mask_paddings": "running_max",
    "widen_reductions": "reduce_axes", "select_instructions": "gemm", "choose_warps": "transpose",
    "assign_layouts": "transpose",
    "split_reductions": "normalise_rows", "park_tiles": "wide_rows", "place_folds": "prefix_sum",
    "share_ordered": "locked_sum",
    "share_printed": "printed", "raise_conversions": "widened_transpose", "split_stores": "gemm_bf16",
    "pipeline_loops": "accumulate",
    "lower_conversions": "transpose", "split_products": "gemm", "plan_shared_memory": "accumulate",
    "insert_barriers": "in_place",
}

# By itself one warp would hold these small tiles, and nothing would cross warps.
NEEDS_WARPS = ("split_reductions", "place_folds", "plan_shared_memory")


def test_every_pass_has_a_golden_file() -> None:
    assert [p.__name__ for p in PIPELINE] == list(KERNEL_OF_PASS)


@pytest.mark.parametrize("name", KERNEL_OF_PASS)
def test_golden(name: str, update_golden: bool) -> None:
    f = function(KERNEL_OF_PASS[name])
    if name in NEEDS_WARPS:
        f.options["num_worker_warps"] = 4
    for step in PIPELINE:
        step(f, get_target("sm_90a"))
        if step.__name__ == name:
            break
    path = FOLDER / f"{name}.tile"
    if update_golden:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(to_text(f))
    assert to_text(f) == path.read_text()
