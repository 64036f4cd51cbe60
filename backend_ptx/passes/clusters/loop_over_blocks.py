"""Run the blocks of a grid as iterations of as many CTAs as fit the GPU, where products add up tiles from rings, or
multiply what threads compute of them: the producer then fills the rings for the next block while this one is stored,
and no block waits for its first tiles. Where blocks only count, each CTA adds the counts of its blocks once. The
rewriting is that of `walk_grid`."""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.passes.clusters.groups import group_blocks
from tilewright.backend_ptx.passes.matmul.operands import dense_axis
from tilewright.backend_ptx.passes.pipelining.legality import brought_loads
from tilewright.backend_ptx.resources.pipes import TENSOR, bounds, takes_longer_than_operands
from tilewright.tileir.analysis.accumulation import only_adds_up
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.ops.memory import Scatter
from tilewright.tileir.passes.add_once import only_counts
from tilewright.tileir.passes.walk_grid import walk_grid

# Elements of rows from whose multiples on TMA brings a line of 128 bytes in one request. In two, it takes longer than
# the tensor cores, and CTAs that keep in step wait for it together: 4000x4104x4200 by 128x256x64 takes 296 us on an
# H100, 332 in a loop over blocks.
WHOLE_LINES = 16


def loop_over_blocks(c: Compilation) -> Preserved:
    """After `form_clusters`, whose CTAs share a block, and `select_instructions`."""
    allowed, falling = c.function.switches.loop_over_blocks and c.limits.loop_over_blocks, c.plan.falling
    counts = only_counts(c)
    if not (allowed and c.plan.cluster == 1 and (counts or _pays(c))):
        return group_blocks(c) if falling else ALL
    walk_grid(c, falling)
    c.plan.looped = True
    long = decisions.LOOPED_BY_LENGTH if falling else decisions.LOOPED
    c.decide(decisions.LOOPED_TO_COUNT if counts else long)
    return NONE


def _pays(c: Compilation) -> bool:
    """Operands that threads turn and store want the shared memory that buffers of stores then keep: tfloat32 4096^3 by
    128x256x32, b as [K, N] turned so, takes 489 us on an H100, 730 in a loop over blocks. Threads may gather beside TMA
    where they scatter the product, too, and its MMAs take longer than its operands to come. Where threads compute
    operands of products for as long as the tensor cores multiply, two CTAs share an SM, and their blocks overlap
    anyway: attention over 64 channels takes 6 percent longer in a loop over blocks, over 128 channels 9 percent less
    with 1024 tokens, 1 percent with 4096 (H100)."""
    products = [op for op in c.function.walk() if isinstance(op, Product)]
    taken = all(op.unit.asynchronous and (op.unit.transposes(op) or dense_axis(op.b) == 0) for op in products)
    gathers = c.has(Scatter) and all(takes_longer_than_operands(op, c.target) for op in products)
    chained = all(bound.pipe == TENSOR for bound in bounds(c.function, c.target) if TENSOR in bound.cycles)
    return taken and only_adds_up(c, products, brought_loads(c), WHOLE_LINES, gathers, chained, c.plan.falling)
