"""The backend's passes from Tile IR to machine IR, in order, like a recipe."""

from __future__ import annotations

from typing import Final

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.arithmetic.merge_logarithms import merge_logarithms
from tilewright.backend_ptx.passes.arithmetic.share_reciprocals import share_reciprocals
from tilewright.backend_ptx.passes.barriers.await_grids import await_grids
from tilewright.backend_ptx.passes.barriers.insert_barriers import insert_barriers
from tilewright.backend_ptx.passes.clusters.form_clusters import form_clusters
from tilewright.backend_ptx.passes.clusters.loop_over_blocks import loop_over_blocks
from tilewright.backend_ptx.passes.clusters.order_blocks import order_blocks
from tilewright.backend_ptx.passes.clusters.pack_blocks import pack_blocks
from tilewright.backend_ptx.passes.clusters.share_gathered import share_gathered
from tilewright.backend_ptx.passes.layouts.assign_layouts import assign_layouts
from tilewright.backend_ptx.passes.layouts.lower_conversions import lower_conversions
from tilewright.backend_ptx.passes.matmul.ping_pong_warpgroups import ping_pong_warpgroups
from tilewright.backend_ptx.passes.matmul.scale_operands import scale_operands
from tilewright.backend_ptx.passes.matmul.select_instructions import select_instructions
from tilewright.backend_ptx.passes.matmul.split_mmas import split_mmas
from tilewright.backend_ptx.passes.matmul.wait_for_mmas import wait_for_mmas
from tilewright.backend_ptx.passes.pipelining.load_before_loops import load_before_loops
from tilewright.backend_ptx.passes.pipelining.mask_paddings import mask_paddings
from tilewright.backend_ptx.passes.pipelining.pipeline_loops import pipeline_loops
from tilewright.backend_ptx.passes.pipelining.split_loops import split_loops
from tilewright.backend_ptx.passes.pressure.choose_warps import choose_warps
from tilewright.backend_ptx.passes.pressure.relieve_pressure import relieve_pressure
from tilewright.backend_ptx.passes.pressure.spill_tiles import spill_tiles
from tilewright.backend_ptx.passes.sharing.elect_thread_for_atomics import elect_thread_for_atomics
from tilewright.backend_ptx.passes.sharing.plan_shared_memory import plan_shared_memory
from tilewright.backend_ptx.passes.sharing.share_elements import share_elements
from tilewright.backend_ptx.passes.stores.split_stores import split_stores
from tilewright.backend_ptx.targets import Target
from tilewright.backend_ptx.verifier import verify_machine
from tilewright.tileir.core import Function
from tilewright.tileir.passes.count_before_adding import count_before_adding
from tilewright.tileir.passes.defer_reductions import defer_reductions
from tilewright.tileir.passes.hoist_conversions import hoist_conversions
from tilewright.tileir.passes.join_bounds import join_bounds
from tilewright.tileir.passes.join_loops import join_loops
from tilewright.tileir.passes.make_folds_warp_local import make_folds_warp_local
from tilewright.tileir.passes.manager import Observer, Order, Pass, PassManager
from tilewright.tileir.passes.multiply_by_reciprocals import multiply_by_reciprocals
from tilewright.tileir.passes.shorten_error_functions import shorten_error_functions
from tilewright.tileir.passes.shorten_exponentials import shorten_exponentials
from tilewright.tileir.passes.shorten_quotients import shorten_quotients
from tilewright.tileir.passes.split_reductions import split_reductions
from tilewright.tileir.passes.unroll_loops import unroll_loops
from tilewright.tileir.passes.widen_reductions import widen_reductions

PIPELINE: Final[tuple[Pass[Compilation], ...]] = (
    shorten_exponentials,
    shorten_error_functions,
    multiply_by_reciprocals,
    shorten_quotients,
    unroll_loops,
    scale_operands,
    count_before_adding,
    widen_reductions,
    order_blocks,
    split_loops,
    join_bounds,
    join_loops,
    form_clusters,
    share_reciprocals,
    mask_paddings,
    select_instructions,
    loop_over_blocks,
    choose_warps,
    merge_logarithms,
    assign_layouts,
    defer_reductions,
    split_reductions,
    relieve_pressure,
    make_folds_warp_local,
    elect_thread_for_atomics,
    share_elements,
    share_gathered,
    wait_for_mmas,
    hoist_conversions,
    split_stores,
    load_before_loops,
    pipeline_loops,
    spill_tiles,
    lower_conversions,
    split_mmas,
    plan_shared_memory,
    insert_barriers,
    ping_pong_warpgroups,
    pack_blocks,
    await_grids,
)

# What makes a kernel faster and may take registers for it; shared reciprocals are worth more than a few spills.
EXTRAS: Final = (join_bounds, split_stores, load_before_loops)

# (earlier, later, reason). A pass that is not in the pipeline constrains nothing.
ORDER: Final[tuple[Order[Compilation], ...]] = (
    *((shorten, form_clusters, "it knows the uses of what CTAs keep, not of what they exchange")
      for shorten in (shorten_exponentials, shorten_error_functions, shorten_quotients)),
    *((shorten, share_reciprocals, "it knows divisions")
      for shorten in (shorten_exponentials, shorten_error_functions)),
    (shorten_exponentials, merge_logarithms, "it says of which powers the uses tolerate errors"),
    *((multiply_by_reciprocals, step, "it divides by whole sums") for step in (form_clusters, share_reciprocals)),
    (unroll_loops, assign_layouts, "threads hold patches of what gathers of one block share"),
    (scale_operands, form_clusters, "CTAs share the operands of the multiply that it makes"),
    (count_before_adding, loop_over_blocks, "CTAs loop over blocks that only count"),
    (widen_reductions, form_clusters, "CTAs exchange elements of at least 32 bits"),
    (widen_reductions, split_reductions, "a reduction that another one merges has become that one"),
    (order_blocks, split_loops, "the parts of a loop do not show how many iterations it has"),
    (order_blocks, loop_over_blocks, "it leaves to it the order of blocks with fewer and fewer iterations"),
    (split_loops, join_bounds, "a comparison with a minimum does not show where a mask begins"),
    (split_loops, join_loops, "only a loop that is alone in another one is joined with it"),
    *((step, assign_layouts, "it makes tiles, which need layouts") for step in (
        join_bounds, join_loops, share_reciprocals, mask_paddings, widen_reductions, merge_logarithms)),
    (split_loops, form_clusters, "all CTAs of a cluster run the same iterations of each part of a loop"),
    (form_clusters, mask_paddings, "its tiles are the sub-tiles of each CTA"),
    (form_clusters, select_instructions, "the sub-tile of each CTA decides the instruction of a multiply"),
    (select_instructions, loop_over_blocks, "the matrix unit decides whether a producer fills rings"),
    (loop_over_blocks, choose_warps, "where CTAs loop over blocks, two teams of warps may run them in turns"),
    (loop_over_blocks, split_stores, "stores of one block wait for those of the block before"),
    (mask_paddings, pipeline_loops, "a load that pads with zeros can be prefetched"),
    (widen_reductions, choose_warps, "the 32-bit copies count as tiles"),
    (select_instructions, choose_warps, "the number of warps depends on the matrix unit"),
    (select_instructions, assign_layouts, "an instruction says how threads hold its operands"),
    (lower_conversions, split_mmas, "fragments of operands are loaded from the buffers that it allocates"),
    (split_mmas, plan_shared_memory, "it sinks loads from shared memory, which lengthens the live ranges of buffers"),
    (choose_warps, merge_logarithms, "it pays where CTAs share an SM"),
    (choose_warps, assign_layouts, "every layout has the kernel's warp bits"),
    (assign_layouts, defer_reductions, "layouts say what threads hold of a reduced axis"),
    (defer_reductions, split_reductions, "what it combines after loops may cross warps"),
    (assign_layouts, split_reductions, "layouts say which reductions cross warps"),
    (split_reductions, lower_conversions, "it inserts conversions"),
    (split_reductions, relieve_pressure, "tiles are live across the conversions that it inserts"),
    (relieve_pressure, pipeline_loops, "it puts loads back into loops"),
    (relieve_pressure, spill_tiles, "tiles that are loaded late take no registers"),
    (pipeline_loops, spill_tiles, "what a ring prefetches stays in registers"),
    (spill_tiles, lower_conversions, "tiles are live across the conversions"),
    *((step, plan_shared_memory, "it allocates buffers") for step in (
        spill_tiles, split_stores, elect_thread_for_atomics, share_gathered, share_elements)),
    (split_reductions, pipeline_loops, "conversions that it inserts need shared memory beside the rings"),
    (hoist_conversions, pipeline_loops, "a ring replaces conversions of loaded values only"),
    (assign_layouts, pipeline_loops, "layouts say which loads other threads read"),
    (assign_layouts, wait_for_mmas, "it stages the operands of wgmma"),
    (wait_for_mmas, pipeline_loops, "a slot is free once a wait has covered the MMAs that read it"),
    (assign_layouts, hoist_conversions, "it inserts the conversions"),
    (wait_for_mmas, split_stores, "sub-tiles are cut from what a wait gives, which the MMAs no longer write"),
    (hoist_conversions, split_stores, "the conversions left before stores are those to split"),
    (split_stores, pipeline_loops, "rings use the shared memory that it saves"),
    (split_stores, load_before_loops, "what it loads sub-tile by sub-tile stays beside the store"),
    (load_before_loops, pipeline_loops, "what is live beside a loop decides how many slots its rings get"),
    (insert_barriers, ping_pong_warpgroups, "only warpgroups without another barrier in the loop may ping-pong"),
    (pipeline_loops, lower_conversions, "a ring replaces conversions of what it holds; other stages get buffers"),
    (pipeline_loops, plan_shared_memory, "it allocates the rings"),
    (pipeline_loops, insert_barriers, "rings need barriers"),
    (assign_layouts, make_folds_warp_local, "layouts say which folds cross warps"),
    (make_folds_warp_local, lower_conversions, "it inserts conversions"),
    (assign_layouts, elect_thread_for_atomics, "layouts say which threads hold copies"),
    (assign_layouts, share_elements, "layouts say which threads hold what"),
    (assign_layouts, share_gathered, "layouts say which threads hold what"),
    (share_gathered, lower_conversions, "it inserts conversions"),
    (share_elements, pipeline_loops, "its buffers take shared memory from the rings"),
    (lower_conversions, plan_shared_memory, "it allocates the buffers"),
    (insert_barriers, pack_blocks, "blocks of a CTA have no barriers"),
    (pack_blocks, await_grids, "a wait for grids counts as output, and blocks that print have CTAs of their own"),
    (insert_barriers, await_grids, "it comes after all passes that add accesses or move them"),
    (plan_shared_memory, insert_barriers, "buffers that share bytes need barriers between their accesses"),
)


MANAGER: Final = PassManager(PIPELINE, ORDER, verify_machine)


def run_passes(function: Function, target: Target, observer: Observer | None = None, *,
               until: str | None = None) -> Compilation:
    """Run all passes on `function` (changed in place), or those up to `until`; see `PassManager.run`.

    After all of them every tile of rank 1 or more has a layout, and the plan is complete.
    """
    c = Compilation(function, target)
    alone = [step for step in (order_blocks, hoist_conversions) if not getattr(c.limits, step.__name__)]
    left_out = (*(() if c.limits.extras else EXTRAS), *alone)
    MANAGER.run(c, observer=observer, until=until, without=left_out)
    return c
