"""Split loops where a branch or a mask no longer changes, so that most iterations run without it. The rewriting is that
of `split_ranges`."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.analysis.unit import ALL, Preserved
from tilewright.tileir.ops.control import For
from tilewright.tileir.passes.split_ranges import Known, split_ranges


def split_loops(c: Compilation) -> Preserved:
    """Before tiles are cut for clusters, whose CTAs run the same iterations."""

    if not c.limits.split_loops:
        return ALL

    def tell(loop: For, known: Sequence[Known]) -> None:
        c.plan.split = True
        words = dict.fromkeys(decisions.settled(k.op.span, k.op.result.hint, k.value) for k in known)
        c.decide(decisions.loop_split(list(words), loop.span))

    return split_ranges(c, tell)
