"""What shows each pass of the backend: the rows of its golden files."""

from __future__ import annotations

from typing import NamedTuple


class Shown(NamedTuple):
    """The kernel on which a pass is shown, the target, the warps where the kernel would get fewer, the blocks of a
    cluster, whether its launches are dependent."""

    kernel: str
    target: str = "sm_90a"
    warps: int | None = None
    ctas: int | None = None
    dependent: bool = False


SHOWN = {
    "shorten_exponentials": Shown("shares", ctas=2),
    "shorten_error_functions": Shown("gelu"),
    "multiply_by_reciprocals": Shown("shares", ctas=2),
    "shorten_quotients": Shown("silu", ctas=2),
    "unroll_loops": Shown("short_filter"),
    "scale_operands": Shown("block_scaled"),
    "count_before_adding": Shown("counted_bytes"),
    "widen_reductions": Shown("reduce_axes"),
    "order_blocks": Shown("triangle"),
    "split_loops": Shown("masked_blocks"),
    "join_bounds": Shown("two_limits"),
    "join_loops": Shown("taps"),
    "form_clusters": Shown("gemm_bf16", ctas=2),
    "share_reciprocals": Shown("normalise_rows"),
    "mask_paddings": Shown("running_max"),
    "select_instructions": Shown("gemm"),
    "loop_over_blocks": Shown("gemm_walking"),
    "choose_warps": Shown("transpose"),
    "merge_logarithms": Shown("powers"),
    "assign_layouts": Shown("transpose"),
    "defer_reductions": Shown("triangle"),
    "split_reductions": Shown("normalise_rows", warps=4),
    "relieve_pressure": Shown("scaled_rows"),
    "make_folds_warp_local": Shown("prefix_sum", warps=4),
    "elect_thread_for_atomics": Shown("locked_sum"),
    "share_elements": Shown("printed"),
    "share_gathered": Shown("normalise_rows", ctas=2),
    "wait_for_mmas": Shown("gemm"),
    "hoist_conversions": Shown("widened_transpose"),
    "split_stores": Shown("gemm_bf16"),
    "load_before_loops": Shown("gemm_scaled_blocks"),
    "pipeline_loops": Shown("accumulate"),
    "spill_tiles": Shown("wide_rows", warps=4),
    "lower_conversions": Shown("transpose"),
    "split_mmas": Shown("gemm", "sm_80"),
    "plan_shared_memory": Shown("accumulate", warps=4),
    "insert_barriers": Shown("in_place"),
    "ping_pong_warpgroups": Shown("chained_rows", warps=8),
    "pack_blocks": Shown("short_rows"),
    "await_grids": Shown("in_place", dependent=True),
    # What a pass does elsewhere.
    "share_elements-counts": Shown("counted_bytes"),
    "order_blocks-groups": Shown("gemm_bf16"),
    "scale_operands-sm_120a": Shown("block_scaled", "sm_120a"),
    "form_clusters-rows": Shown("normalise_rows", ctas=2),
    "relieve_pressure-spill": Shown("wide_rows"),
    "pipeline_loops-tma": Shown("gemm"),
    "pipeline_loops-staged": Shown("scaled_right"),
    "pipeline_loops-cluster": Shown("gemm_bf16", ctas=2),
    "pipeline_loops-list": Shown("grouped"),
    "select_instructions-sm_80": Shown("gemm", "sm_80"),
    "assign_layouts-wgmma": Shown("chained_products"),
    "lower_conversions-stage": Shown("scaled_gemm"),
}
