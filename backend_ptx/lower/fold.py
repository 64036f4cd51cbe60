"""Reductions and scans by a function: pairs of registers, then lanes by shuffles, from the axis' lowest bit up.

Combining along bit k joins neighbouring runs of 2^k elements, so the function need not commute. No axis crosses warps
(see make_folds_warp_local). The function's body stands in the op on scalars; here it runs on a thread's vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registers import from_lane, halves
from tilewright.backend_ptx.lower.registry import lower, lowering_of
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE, LANE_BITS, REGISTER, distributed, log2
from tilewright.tileir.ops import fold as ops
from tilewright.tileir.types import TileType

Parts = Sequence[Val]
Place = tuple[str, int]  # "register" or "lane", and the number of the bit


@lower(ops.ReduceWith)
def reduce_with(ctx: Context, op: ops.ReduceWith) -> None:
    b = ctx.b
    parts: Parts = [ctx[v] for v in op.srcs]
    left = list(range(log2(parts[0].n)))  # the bits of the register number that are not reduced yet
    for dim, bit in _axis_bits(ctx.layout(op.srcs[0]), op.axis):
        if dim == REGISTER:
            first, second = halves(b, parts, left.index(bit))
            left.remove(bit)
        else:
            other = [from_lane(b, p, "bfly", b.const("i32", 1 << bit)) for p in parts]
            first = tuple(b.select(ctx.thread_bit(bit), o, p) for p, o in zip(parts, other, strict=True))
            second = tuple(b.select(ctx.thread_bit(bit), p, o) for p, o in zip(parts, other, strict=True))
        parts = _combine(ctx, op, first, second)
    for result, value in zip(op.results, parts, strict=True):
        ctx.set(result, value if result.type.shape else b.extract(value, 0))


@lower(ops.ScanWith)
def scan_with(ctx: Context, op: ops.ScanWith) -> None:
    parts: Parts = [ctx[v] for v in op.srcs]
    done = _Done(op.reverse)
    for place in _axis_bits(ctx.layout(op.srcs[0]), op.axis):
        parts = _join_runs(ctx, op, parts, place, done)
        done.add(place)
    for result, value in zip(op.results, parts, strict=True):
        ctx.set(result, value)


def _axis_bits(layout: Layout, axis: int) -> list[Place]:
    """Where each bit of the axis' index lies, the lowest first."""
    found: dict[int, Place] = {}
    for dim in (REGISTER, LANE):
        for bit, basis in enumerate(layout.bases(dim)):
            if basis[axis]:
                found[basis[axis]] = dim, bit
    assert len(found) == log2(layout.shape[axis]), "make_folds_warp_local has not run"
    return [found[weight] for weight in sorted(found)]


class _Done:
    """The bits along which runs are scanned already, and where the last element of a run lies (reversed: the first)."""

    def __init__(self, reverse: bool) -> None:
        self.reverse = reverse
        self.masks = {REGISTER: 0, LANE: 0}

    def add(self, place: Place) -> None:
        self.masks[place[0]] |= 1 << place[1]

    def source(self, dim: str, number: int, place: Place) -> int:
        """The register (or for lanes: what `number` = 0 becomes) that holds the end of the run before."""
        bit = 1 << place[1] if place[0] == dim else 0
        if self.reverse:
            return (number | bit) & ~self.masks[dim]
        return (number | self.masks[dim]) & ~bit


def _join_runs(ctx: Context, op: ops.ScanWith, parts: Parts, place: Place, done: _Done) -> Parts:
    """Combine the end of each first run of a pair into all elements of the second one."""
    b, n = ctx.b, parts[0].n
    dim, bit = place
    behind = [r for r in range(n) if dim == LANE or bool(r >> bit & 1) is not done.reverse]
    sources = [done.source(REGISTER, r, place) for r in behind]
    needed = sorted(set(sources))
    ends = [b.shuffle(p, needed) for p in parts]
    if dim == LANE or done.masks[LANE]:
        lane = _source_lane(ctx, place, done)
        ends = [from_lane(b, p, "idx", lane) for p in ends]
    ends = [b.shuffle(p, [needed.index(s) for s in sources]) for p in ends]
    joined = _combine(ctx, op, ends, [b.shuffle(p, behind) for p in parts])
    if dim == LANE:
        second = ctx.thread_bit(bit)
        return [b.select(second, p, j) if done.reverse else b.select(second, j, p)
                for p, j in zip(parts, joined, strict=True)]
    number = {r: k for k, r in enumerate(behind)}
    wide = [b.shuffle(j, [number.get(r, 0) for r in range(n)]) for j in joined]
    return [b.shuffle(p, [n + r if r in number else r for r in range(n)], w) for p, w in zip(parts, wide, strict=True)]


def _source_lane(ctx: Context, place: Place, done: _Done) -> Val:
    """The lane that holds the end of the run before this lane's."""
    b, mask = ctx.b, done.masks[LANE]
    bit = 1 << place[1] if place[0] == LANE else 0
    if done.reverse:
        return b.and_(b.or_(ctx.lane(), bit), ~mask & 31)
    return b.and_(b.or_(ctx.lane(), mask), ~bit & 31)


# ---- the function ---------------------------------------------------------------------------------------------------


def _combine(ctx: Context, op: ops.Fold, first: Parts, second: Parts) -> Parts:
    """The body, its scalars replaced by a thread's vectors; one from outside is the same for all elements."""
    n = first[0].n
    layout = distributed((n,), [1 << k for k in range(log2(n))], [0] * LANE_BITS, [0] * log2(ctx.warps))

    def vector(scalar: Value, fragment: Val) -> Value:
        made = Value(TileType(scalar.type.dtype, (n,), layout))
        ctx.set(made, fragment)
        return made

    given = [vector(param, part) for param, part in zip(op.combine.params, (*first, *second), strict=True)]
    made = op.of_tiles(given, lambda v: vector(v, ctx.b.splat(ctx[v], n)), lambda wide: lowering_of(wide)(ctx, wide))
    return [ctx[v] for v in made]
