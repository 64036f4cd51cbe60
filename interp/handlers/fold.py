"""Reductions and scans by a function: the body runs on arrays, over the tree that the GPU code follows as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs, spread
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.tileir.ops import fold

Arrays = list[Any]


class Combine:
    """The body of a fold as a function of arrays."""

    def __init__(self, op: fold.Fold, low: Lowering) -> None:
        self.run = low.block(op.combine)
        self.params = low.slot_list(op.combine.params)
        self.values = low.slot_list(op.combine.terminator.operands)
        self.varying = low.follow(op.combine)

    def prepare(self, regs: Regs, rank: int) -> Regs:
        """Registers for the body; scalars that differ by block stand over the axes of the tile."""
        sub = regs.copy()
        for slot in self.varying:
            sub[slot] = sub[slot].reshape(-1, *(1,) * rank)
        return sub

    def __call__(self, regs: Regs, first: Arrays, second: Arrays) -> Arrays:
        shape = first[0].shape
        for slot, value in zip(self.params, (*first, *second), strict=True):
            regs[slot] = np.ascontiguousarray(value)
        self.run(regs)
        return [np.broadcast_to(regs[slot], shape) for slot in self.values]


def _sources(op: fold.Fold, low: Lowering) -> Any:
    """A function from registers to the source arrays, the folded axis last."""
    slots = low.slot_list(op.srcs)
    batched = any(low.varies(r) for r in op.results)
    grow = [batched and not low.varies(v) for v in op.srcs]

    def sources(regs: Regs) -> Arrays:
        values = [spread(regs[s], regs[0].count) if g else regs[s] for s, g in zip(slots, grow, strict=True)]
        return [np.moveaxis(v, op.axis + batched, -1) for v in values]

    return sources


@impl_step(fold.ReduceWith)
def reduce_with(op: fold.ReduceWith, low: Lowering) -> Step:
    combine, sources = Combine(op, low), _sources(op, low)
    results, rank = low.slot_list(op.results), len(op.srcs[0].type.shape)

    def step(regs: Regs) -> None:
        values = sources(regs)
        sub = combine.prepare(regs, rank)
        while values[0].shape[-1] > 1:
            values = combine(sub, [v[..., 0::2] for v in values], [v[..., 1::2] for v in values])
        for slot, value in zip(results, values, strict=True):
            regs[slot] = value[..., 0]

    return step


@impl_step(fold.ScanWith)
def scan_with(op: fold.ScanWith, low: Lowering) -> Step:
    combine, sources = Combine(op, low), _sources(op, low)
    results, rank = low.slot_list(op.results), len(op.srcs[0].type.shape)
    n = op.srcs[0].type.shape[op.axis]
    batched = any(low.varies(r) for r in op.results)
    step_of = slice(None, None, -1) if op.reverse else slice(None)

    def step(regs: Regs) -> None:
        values = [v[..., step_of] for v in sources(regs)]
        sub = combine.prepare(regs, rank)
        done = 1
        while done < n:  # runs of `done` elements are scanned: join each second one to the one before it
            pairs = [v.reshape(*v.shape[:-1], n // (2 * done), 2, done) for v in values]
            behind = [p[..., 1, :] for p in pairs]
            flat = (*values[0].shape[:-1], n // 2)
            last = [np.broadcast_to(p[..., 0, -1:], b.shape) for p, b in zip(pairs, behind, strict=True)]
            joined = combine(sub, [v.reshape(flat) for v in last], [v.reshape(flat) for v in behind])
            values = [
                np.stack([p[..., 0, :], j.reshape(b.shape)], axis=-2).reshape(v.shape)
                for p, j, b, v in zip(pairs, joined, behind, values, strict=True)
            ]
            done *= 2
        for slot, value in zip(results, values, strict=True):
            regs[slot] = np.moveaxis(value[..., step_of], -1, op.axis + batched)

    return step
