"""Which elements of a tile this thread holds: the thread's part of the index of each axis, and index vectors."""

from __future__ import annotations

from functools import lru_cache

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE, LANE_BITS, WARP, is_plain
from tilewright.tileir.layouts.queries import copies, register_offsets, thread_bases

Run = tuple[int, int, int]  # first bit of the thread number, number of bits, what the first one contributes


@lru_cache(maxsize=1024)
def _runs(layout: Layout, axis: int) -> tuple[Run, ...]:
    """The bits of the thread number that move along an axis, joined where consecutive bits contribute 1, 2, 4, ..."""
    runs: list[Run] = []
    for dim, bit, basis in thread_bases(layout):
        if not basis[axis]:
            continue
        number = bit if dim == LANE else bit + LANE_BITS
        if runs:
            first, count, start = runs[-1]
            if number == first + count and basis[axis] == start << count and start & (start - 1) == 0:
                runs[-1] = (first, count + 1, start)
                continue
        runs.append((number, 1, basis[axis]))
    return tuple(runs)


def thread_index(ctx: Context, layout: Layout, axis: int) -> Val:
    """The thread's contribution to the index along an axis (i32): the index of its register 0."""
    runs = _runs(layout, axis)

    def make(b: Builder) -> Val:
        out = b.const("i32", 0)
        for first, count, start in runs:
            out = b.xor(out, _field(b, ctx, first, count, start))
        return out

    return ctx.once(("thread index", runs), make)


def _field(b: Builder, ctx: Context, first: int, count: int, start: int) -> Val:
    """Bits first.. of the thread number as a number, times `start`."""
    bits = b.lshr(ctx.tid, first)
    if (1 << first + count) < ctx.warps << LANE_BITS:
        bits = b.and_(bits, (1 << count) - 1)
    return b.mul(bits, start)


def index_vector(ctx: Context, layout: Layout, axis: int) -> Val:
    """The index along an axis of every element that the thread holds, <R x i32>."""
    key = ("index vector", layout, axis)

    def make(b: Builder) -> Val:
        offsets = [o[axis] for o in register_offsets(layout)]
        thread = b.splat(thread_index(ctx, layout, axis), len(offsets))
        if not any(offsets):
            return thread
        return b.binary("add" if is_plain(layout) else "xor", thread, b.const_vector("i32", offsets))

    return ctx.once(key, make)


def owner(ctx: Context, layout: Layout, free: int = 0) -> Val | None:
    """Whether this thread acts for all that hold the same elements; None if every thread does. Those whose
    numbers differ only in the bits of `free` act together."""
    mask = (copies(layout, LANE) | copies(layout, WARP) << LANE_BITS) & ~free
    if not mask:
        return None
    return ctx.once(("owner", mask), lambda b: b.icmp("eq", b.and_(ctx.tid, mask), 0))
