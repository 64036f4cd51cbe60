"""Reductions and scans by a function: the body runs on arrays, over the tree that the GPU code follows as well."""

from __future__ import annotations

from collections.abc import Callable
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
        count = len(op.srcs)
        firsts, seconds = op.combine.params[:count], op.combine.params[count:]
        self.params = low.slot_list((*low.joined(firsts, op.results), *low.joined(seconds, op.results)))
        self.values = low.slot_list(low.joined(op.combine.terminator.operands, op.results))
        self.varying = low.follow(op.combine)

    def prepare(self, regs: Regs, rank: int) -> Regs:
        """Registers for the body; scalars that differ by block stand over the axes of the tile."""
        sub = regs.copy()
        for slot in self.varying:
            if sub[slot] is not None:
                sub[slot] = sub[slot].reshape(-1, *(1,) * rank)
        return sub

    def __call__(self, regs: Regs, first: Arrays, second: Arrays) -> Arrays:
        shape = first[0].shape
        for slot, value in zip(self.params, (*first, *second), strict=True):
            regs[slot] = None if value is None else np.ascontiguousarray(value)
        self.run(regs)
        return each([regs[slot] for slot in self.values], lambda v: np.broadcast_to(v, shape))


def each(values: Arrays, change: Callable[[Any], Any]) -> Arrays:
    """A change of all arrays; None stays."""
    return [None if v is None else change(v) for v in values]


def _sources(op: fold.Fold, low: Lowering) -> Any:
    """A function from registers to the source arrays, the folded axis last."""
    srcs = low.joined(op.srcs, op.results)
    slots = low.slot_list(srcs)
    batched = any(low.varies(r) for r in op.results)
    grow = [batched and not low.varies(v) for v in srcs]

    def sources(regs: Regs) -> Arrays:
        values = [spread(regs[s], regs[0].count) if g else regs[s] for s, g in zip(slots, grow, strict=True)]
        return each(values, lambda v: np.moveaxis(v, op.axis + batched, -1))

    return sources


@impl_step(fold.ReduceWith)
def reduce_with(op: fold.ReduceWith, low: Lowering) -> Step:
    combine, sources = Combine(op, low), _sources(op, low)
    results, rank = low.slot_list(low.joined(op.results)), len(op.srcs[0].type.shape)

    def step(regs: Regs) -> None:
        values = sources(regs)
        sub = combine.prepare(regs, rank)
        while values[0].shape[-1] > 1:
            values = combine(sub, each(values, lambda v: v[..., 0::2]), each(values, lambda v: v[..., 1::2]))
        for slot, value in zip(results, values, strict=True):
            regs[slot] = None if value is None else value[..., 0]

    return step


@impl_step(fold.ScanWith)
def scan_with(op: fold.ScanWith, low: Lowering) -> Step:
    combine, sources = Combine(op, low), _sources(op, low)
    results, rank = low.slot_list(low.joined(op.results)), len(op.srcs[0].type.shape)
    n = op.srcs[0].type.shape[op.axis]
    batched = any(low.varies(r) for r in op.results)
    step_of = slice(None, None, -1) if op.reverse else slice(None)

    def step(regs: Regs) -> None:
        values = each(sources(regs), lambda v: v[..., step_of])
        sub = combine.prepare(regs, rank)
        done = 1
        while done < n:  # runs of `done` elements are scanned: join each second one to the one before it
            values = _doubled(combine, sub, values, n, done)
            done *= 2
        for slot, value in zip(results, values, strict=True):
            regs[slot] = None if value is None else np.moveaxis(value[..., step_of], -1, op.axis + batched)

    return step


def _doubled(combine: Combine, regs: Regs, values: Arrays, n: int, done: int) -> Arrays:
    """Arrays of which runs of `done` elements are scanned as arrays of which runs of twice as many are."""
    shape = values[0].shape
    pairs = each(values, lambda v: v.reshape(*shape[:-1], n // (2 * done), 2, done))
    half, flat = pairs[0][..., 1, :].shape, (*shape[:-1], n // 2)
    last = each(pairs, lambda p: np.broadcast_to(p[..., 0, -1:], half).reshape(flat))
    joined = combine(regs, last, each(pairs, lambda p: p[..., 1, :].reshape(flat)))
    out: Arrays = []
    for pair, after in zip(pairs, joined, strict=True):
        if pair is None and after is None:
            out.append(None)
            continue
        dtype = (after if pair is None else pair).dtype
        parts = [np.zeros(half, dtype) if pair is None else pair[..., 0, :],
                 np.zeros(half, dtype) if after is None else after.reshape(half)]
        out.append(np.stack(parts, axis=-2).reshape(shape))
    return out
