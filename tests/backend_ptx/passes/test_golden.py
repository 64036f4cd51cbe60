"""What each pass makes of one kernel, as a file to read (rewritten with --update-golden)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from support.pass_kernels import function

from tilewright.backend_ptx.pipeline import PIPELINE, run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.passes.manager import name_of
from tilewright.tileir.printer import to_text

FOLDER = Path(__file__).with_name("golden")


class Shown(NamedTuple):
    """The kernel on which a pass is shown, the target, the warps where the kernel would get fewer, the blocks of a
    cluster."""

    kernel: str
    target: str = "sm_90a"
    warps: int | None = None
    ctas: int | None = None


SHOWN = {
    "scale_operands": Shown("block_scaled"),
    "widen_reductions": Shown("reduce_axes"),
    "form_clusters": Shown("gemm_bf16", ctas=2),
    "mask_paddings": Shown("running_max"),
    "select_instructions": Shown("gemm"),
    "choose_warps": Shown("transpose"),
    "assign_layouts": Shown("transpose"),
    "split_reductions": Shown("normalise_rows", warps=4),
    "relieve_pressure": Shown("scaled_rows"),
    "make_folds_warp_local": Shown("prefix_sum", warps=4),
    "elect_thread_for_atomics": Shown("locked_sum"),
    "share_printed": Shown("printed"),
    "share_gathered": Shown("normalise_rows", ctas=2),
    "wait_for_mmas": Shown("gemm"),
    "hoist_conversions": Shown("widened_transpose"),
    "split_stores": Shown("gemm_bf16"),
    "pipeline_loops": Shown("accumulate"),
    "lower_conversions": Shown("transpose"),
    "split_mmas": Shown("gemm", "sm_80"),
    "plan_shared_memory": Shown("accumulate", warps=4),
    "insert_barriers": Shown("in_place"),
    "ping_pong_warpgroups": Shown("chained_rows", warps=8),
    # What a pass does elsewhere.
    "scale_operands-sm_120a": Shown("block_scaled", "sm_120a"),
    "form_clusters-rows": Shown("normalise_rows", ctas=2),
    "relieve_pressure-spill": Shown("wide_rows"),
    "pipeline_loops-tma": Shown("gemm"),
    "pipeline_loops-staged": Shown("scaled_right"),
    "pipeline_loops-cluster": Shown("gemm_bf16", ctas=2),
    "select_instructions-sm_80": Shown("gemm", "sm_80"),
    "assign_layouts-wgmma": Shown("chained_products"),
    "lower_conversions-stage": Shown("scaled_gemm"),
}


def test_every_pass_has_a_golden_file() -> None:
    names, rows = [name_of(p) for p in PIPELINE], [name for name in SHOWN if "-" not in name]
    lacking = [f'{name} has no row in SHOWN: write "{name}": Shown("a kernel of tests/support/pass_kernels.py") where '
               f"PIPELINE has it, and run this file with --update-golden" for name in names if name not in rows]
    assert not lacking, "\n".join(lacking)
    assert rows == names, "the rows of SHOWN stand in the order of PIPELINE, and name no other pass"


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name: str, update_golden: bool) -> None:
    shown = SHOWN[name]
    f = function(shown.kernel)
    if shown.warps is not None:
        f.hints = replace(f.hints, num_worker_warps=shown.warps)
    if shown.ctas is not None:
        f.hints = replace(f.hints, num_ctas=shown.ctas)
    run_passes(f, get_target(shown.target), until=name.partition("-")[0])
    path = FOLDER / f"{name}.tile"
    if update_golden:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(to_text(f))
    assert path.exists(), f"{path.name} is missing: run this file with --update-golden, and read what it writes"
    assert to_text(f) == path.read_text()
