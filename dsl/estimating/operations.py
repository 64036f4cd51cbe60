"""How many operations a counted launch computes."""

from __future__ import annotations

from tilewright.estimating.flops import flops_of
from tilewright.tileir.core import Block


def operations(runs: dict[Block, int]) -> dict[str, int]:
    """By kind, over all blocks; `runs` says how often each body runs."""
    out: dict[str, int] = {}
    for block, times in runs.items():
        for op in block.ops:
            found = flops_of(op)
            if found is not None and times:
                kind, count = found
                out[kind] = out.get(kind, 0) + count * times
    return out
