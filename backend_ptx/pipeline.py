"""The backend's passes from Tile IR to machine IR, in order, like a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.backend_ptx.passes.assign_layouts import assign_layouts
from tilewright.backend_ptx.passes.choose_warps import choose_warps
from tilewright.backend_ptx.passes.form_clusters import form_clusters
from tilewright.backend_ptx.passes.insert_barriers import insert_barriers
from tilewright.backend_ptx.passes.lower_conversions import lower_conversions
from tilewright.backend_ptx.passes.mask_paddings import mask_paddings
from tilewright.backend_ptx.passes.park_tiles import park_tiles
from tilewright.backend_ptx.passes.pipeline_loops import pipeline_loops
from tilewright.backend_ptx.passes.place_folds import place_folds
from tilewright.backend_ptx.passes.plan_shared_memory import plan_shared_memory
from tilewright.backend_ptx.passes.raise_conversions import raise_conversions
from tilewright.backend_ptx.passes.ring_loads import ring_loads
from tilewright.backend_ptx.passes.ring_stages import ring_stages
from tilewright.backend_ptx.passes.select_instructions import select_instructions
from tilewright.backend_ptx.passes.share_gathered import share_gathered
from tilewright.backend_ptx.passes.share_ordered import share_ordered
from tilewright.backend_ptx.passes.share_printed import share_printed
from tilewright.backend_ptx.passes.sink_loads import sink_loads
from tilewright.backend_ptx.passes.split_products import split_products
from tilewright.backend_ptx.passes.split_reductions import split_reductions
from tilewright.backend_ptx.passes.split_stores import split_stores
from tilewright.backend_ptx.passes.start_loads import start_loads
from tilewright.backend_ptx.passes.take_turns import take_turns
from tilewright.backend_ptx.passes.wait_for_products import wait_for_products
from tilewright.backend_ptx.passes.widen_reductions import widen_reductions
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function

Pass = Callable[[Function, Target], None]
Observer = Callable[[str, Function], None]

PIPELINE: Final[tuple[Pass, ...]] = (
    widen_reductions,
    form_clusters,
    mask_paddings,
    select_instructions,
    choose_warps,
    assign_layouts,
    split_reductions,
    sink_loads,
    park_tiles,
    start_loads,
    place_folds,
    share_ordered,
    share_printed,
    share_gathered,
    wait_for_products,
    raise_conversions,
    split_stores,
    ring_loads,
    pipeline_loops,
    ring_stages,
    lower_conversions,
    split_products,
    plan_shared_memory,
    insert_barriers,
    take_turns,
)

# (earlier, later, reason). A pass that is not in the pipeline constrains nothing.
ORDER: Final[tuple[tuple[Pass, Pass, str], ...]] = (
    (widen_reductions, form_clusters, "blocks exchange elements of 32 bits and more"),
    (form_clusters, mask_paddings, "its tiles are the parts that blocks compute"),
    (form_clusters, select_instructions, "parts of products decide which instruction computes them"),
    (mask_paddings, assign_layouts, "it makes tiles, which need layouts"),
    (mask_paddings, pipeline_loops, "with zeros outside the array a load can be started early"),
    (widen_reductions, choose_warps, "the 32-bit copies count as tiles"),
    (widen_reductions, assign_layouts, "it makes tiles, which need layouts"),
    (select_instructions, choose_warps, "products have warps of their own liking"),
    (select_instructions, assign_layouts, "an instruction says how threads hold its operands"),
    (lower_conversions, split_products, "pieces of operands are read from the buffers that it makes"),
    (split_products, plan_shared_memory, "it moves reads of shared memory, which live longer then"),
    (choose_warps, assign_layouts, "every layout has the kernel's warp bits"),
    (assign_layouts, split_reductions, "layouts say which reductions cross warps"),
    (split_reductions, lower_conversions, "it inserts conversions"),
    (split_reductions, park_tiles, "the conversions that it inserts are where warps meet and tiles wait"),
    (park_tiles, pipeline_loops, "its buffers take shared memory from the rings"),
    (park_tiles, plan_shared_memory, "it allocates buffers"),
    (split_reductions, sink_loads, "the conversions that it inserts are where warps meet"),
    (sink_loads, park_tiles, "what need not wait need not be parked"),
    (sink_loads, start_loads, "it starts early what stands behind an exchange"),
    (split_reductions, start_loads, "the conversions that it inserts are where warps meet"),
    (park_tiles, start_loads, "what it parks, and for how many blocks, decides what room there is"),
    (start_loads, pipeline_loops, "its buffers take shared memory from the rings"),
    (start_loads, plan_shared_memory, "it allocates buffers"),
    (split_reductions, pipeline_loops, "conversions that it inserts need shared memory beside the rings"),
    (raise_conversions, pipeline_loops, "a ring replaces conversions of what was loaded, not of what became of it"),
    (assign_layouts, pipeline_loops, "layouts say which loads go to other threads"),
    (assign_layouts, wait_for_products, "it puts operands of wgmma in place"),
    (wait_for_products, ring_loads, "a slot is free once a wait has covered the products that read it"),
    (raise_conversions, ring_loads, "a ring replaces conversions of what was loaded, not of what became of it"),
    (raise_conversions, split_stores, "what is left before a store stays there"),
    (split_stores, ring_loads, "rings take the shared memory that it saves"),
    (split_stores, pipeline_loops, "rings take the shared memory that it saves"),
    (split_stores, plan_shared_memory, "it allocates buffers"),
    (ring_loads, pipeline_loops, "what a producer brings is no business of the other threads"),
    (ring_loads, plan_shared_memory, "it allocates rings"),
    (insert_barriers, take_turns, "only warpgroups that meet nowhere else may wait for each other's turns"),
    (ring_loads, ring_stages, "staged operands get what shared memory is left"),
    (pipeline_loops, ring_stages, "staged operands get what shared memory is left"),
    (ring_stages, lower_conversions, "what is still staged goes to a single buffer"),
    (pipeline_loops, lower_conversions, "a ring replaces the conversions of what it holds"),
    (pipeline_loops, plan_shared_memory, "it allocates the rings"),
    (pipeline_loops, insert_barriers, "rings need barriers"),
    (assign_layouts, place_folds, "layouts say which folds cross warps"),
    (place_folds, lower_conversions, "it inserts conversions"),
    (assign_layouts, share_ordered, "layouts say which threads hold copies"),
    (share_ordered, plan_shared_memory, "it allocates buffers"),
    (assign_layouts, share_printed, "layouts say which threads hold what"),
    (assign_layouts, share_gathered, "layouts say which threads hold what"),
    (share_gathered, lower_conversions, "it inserts conversions"),
    (share_gathered, plan_shared_memory, "it allocates buffers"),
    (share_printed, pipeline_loops, "its buffers take shared memory from the rings"),
    (share_printed, plan_shared_memory, "it allocates buffers"),
    (lower_conversions, plan_shared_memory, "it allocates the buffers"),
    (plan_shared_memory, insert_barriers, "buffers that share bytes need barriers between them"),
)


def check_order(pipeline: tuple[Pass, ...], order: tuple[tuple[Pass, Pass, str], ...]) -> None:
    """Raise ValueError when two passes stand in the wrong order."""
    place = {p: i for i, p in enumerate(pipeline)}
    for earlier, later, reason in order:
        if earlier in place and later in place and place[earlier] > place[later]:
            raise ValueError(f"{earlier.__name__} must run before {later.__name__}: {reason}")


check_order(PIPELINE, ORDER)


def run_passes(function: Function, target: Target, observer: Observer | None = None) -> None:
    """Run all passes on `function` (changed in place); `observer(name, function)` sees it after each.

    Afterwards every tile of rank 1 or more has a layout, and the options hold `num_warps`, `num_warps_reason` and
    `shared_bytes`.
    """
    for step in PIPELINE:
        step(function, target)
        if observer is not None:
            observer(step.__name__, function)
