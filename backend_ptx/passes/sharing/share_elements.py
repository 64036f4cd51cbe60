"""Store every printed tile to shared memory, where the one printing thread can read all of it, and count the elements
of tiles there, where each thread adds what it holds.

    before: print(values=(%x), ...)                                    // %x: tile<8x8xf32, #0>
    after:  %0: shared<8x8xf32, #1> = shared_alloc(type=...)           // #1: row-major
            shared_store(buffer=%0, value=%x)
            print(values=(%0), ...)

    before: %n: tile<256xi32, #2> = histogram(src=%y, bins=256)
    after:  %0: shared<256xi32, #3> = shared_alloc(type=...)           // #3: row-major
            shared_store(buffer=%0, value=%zeros)
            shared_count(buffer=%0, numbers=%y)
            %n: tile<256xi32, #2> = shared_load(buffer=%0, ...)
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.shared import SharedCount, loaded, put
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.layouts.buffers import linear_shared
from tilewright.tileir.ops.output import Print
from tilewright.tileir.passes.count_in_buffers import Counters, count_in_buffers
from tilewright.tileir.rewrite import Rewriter, rewrite_kinds

# One thread prints slowly, and the driver's buffer holds 1 MiB per launch.
MOST_ELEMENTS = 4096


def share_elements(c: Compilation) -> Preserved:
    """Needs layouts. TileUnsupportedFeatureError where a print has more than MOST_ELEMENTS elements."""
    counters = Counters(lambda b, zeros: put(b, zeros, linear_shared(zeros.type.shape)), SharedCount, loaded)
    return count_in_buffers(c, counters) & rewrite_kinds(c, {Print: _share})


def _share(rewriter: Rewriter, op: Print) -> None:
    size = sum(v.type.size for v in op.values)
    if size > MOST_ELEMENTS:
        raise TileUnsupportedFeatureError(
            f"print: {size} elements at once; a GPU prints up to {MOST_ELEMENTS}", op.span,
            hints=["print a part (ct.extract) or a reduction, or run the kernel in the interpreter"])
    op.values = tuple(put(rewriter, v, linear_shared(v.type.shape)) if v.type.shape else v for v in op.values)
    rewriter.keep(op)
