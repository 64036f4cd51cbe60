"""Matrix multiplies: tensor-core instructions on the fragments of a warp, or multiply-adds of each thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.fragments import fragment_of
from tilewright.backend_ptx.layouts.mma import Fragment, ProductLayouts
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.registry import lower, refuse
from tilewright.backend_ptx.ops import matmul as ops
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import axis_shifts, log2
from tilewright.tileir.layouts.queries import register_flats
from tilewright.tileir.ops.matmul import Mma, MmaScaled

refuse(Mma, "select_instructions chooses an instruction first", "this is a defect of the backend, please report it")
refuse(MmaScaled, "scale_operands makes another multiply of it", "this is a defect of the backend, please report it")

Word = tuple[int | None, ...]
Place = tuple[int, int, int]  # (batch, row, column) of an element of lane 0 of warp 0


@lru_cache(maxsize=512)
def register_places(layout: Layout) -> dict[Place, int]:
    """Which register of a thread holds an element, by the element's place as lane 0 of warp 0 sees it."""
    *_, row, column = axis_shifts(layout.shape)
    m, n = layout.shape[-2:]
    batch = row + log2(m)
    return {(f >> batch, f >> row & (m - 1), f >> column & (n - 1)): r for r, f in enumerate(register_flats(layout))}


class Step(NamedTuple):
    """One instruction: its place (k-step, batch, row, column); its operands' registers in words of packed elements.
    None: the tile has no such element."""

    place: tuple[int, int, int, int]
    acc: tuple[int | None, ...]
    a: tuple[Word, ...]
    b: tuple[Word, ...]


@lru_cache(maxsize=128)
def _steps(acc: Layout, a: Layout, b: Layout, fragment: Fragment) -> tuple[Step, ...]:
    """Every instruction of a warp, all of k for one k-step before the next."""
    accs, left, right = register_places(acc), register_places(a), register_places(b)
    origins = sorted(p for p in accs if p[1] % fragment.m == 0 and p[2] % fragment.n == 0)
    halves = range(2 if fragment.m == 16 else 1)
    words = range(2 if fragment.k > 4 * fragment.pack else 1)
    assert all(accs.get((b, m, n + 1), accs[b, m, n] + 1) == accs[b, m, n] + 1 for b, m, n in origins), "no pairs"
    out = []
    for k in range(0, a.shape[-1], fragment.k):
        for batch, m, n in origins:
            out.append(Step(
                (k // fragment.k, batch, m, n),
                tuple(accs.get((batch, m + 8 * h, n + e)) for h in halves for e in range(2)),
                tuple(tuple(left.get((batch, m + 8 * h, k + 4 * fragment.pack * w + e)) for e in range(fragment.pack))
                      for w in words for h in halves),
                tuple(tuple(right.get((batch, k + 4 * fragment.pack * w + e, n)) for e in range(fragment.pack))
                      for w in words)))
    return tuple(out)


def packed_words(b: Builder, value: Val, active: Val | None = None) -> Callable[[Word], Val]:
    """The packed 32-bit registers of an operand by its elements' registers, each made once: zero for what is missing,
    and in threads that are not `active`."""
    held = "double" if value.elem == "double" else "i32"
    zeros = b.const(value.elem, 0, value.n)

    @cache
    def word(registers: Word) -> Val:
        if all(r is None for r in registers):
            return b.const(held, 0)
        if len(registers) == 8:  # four bits each: element i + 4 beside element i, in the same order for a and b
            low, high = (b.and_(word(part), 0x0F0F0F0F) for part in (registers[:4], registers[4:]))
            return b.or_(low, b.shl(high, 4))
        chosen = [value.n if r is None else r for r in registers]
        found = b.bitcast(b.shuffle(value, chosen, zeros if None in registers else None), held, 0)
        return found if active is None else b.select(active, found, b.const(held, 0))

    return word


def _active(ctx: Context, layout: Layout, fragment: Fragment) -> Val | None:
    """Whether the lanes of an operand, [m, k], hold elements of their own along k; None if all do."""
    depth, word = log2(layout.shape[-1]), log2(fragment.pack)
    idle = sum(1 << bit for bit in range(2) if word + bit >= depth)
    if not idle:
        return None
    return ctx.once(("active along k", idle), lambda b: b.icmp("eq", b.and_(ctx.tid, idle), 0))


@lower(ops.MmaSync)
def mma_sync(ctx: Context, op: ops.MmaSync) -> None:
    b, record, fragment = ctx.b, instruction(op.instruction), fragment_of(op.instruction)
    layouts = ProductLayouts(*(ctx.layout(v) for v in (op.acc, op.a, op.b)))
    operands = [ctx[op.a], ctx[op.b]]
    if op.swapped:
        layouts, operands = layouts.turned(), operands[::-1]
    active = _active(ctx, layouts.a, fragment)
    left, right = (packed_words(b, value, active) for value in operands)
    scales = _scale_words(ctx, op)
    start: Val = ctx[op.acc]
    packed = record.results[0] == "i32" and start.elem == "half"
    alone = packed and layouts.acc.shape[-1] == 1  # a register of each pair is missing
    if alone:
        start = b.shuffle(start, [i for r in range(start.n) for i in (r, start.n)], b.const("half", 0, start.n))
    if packed:  # registers 2 i and 2 i + 1 share a 32-bit register, as _steps asserts
        start = b.bitcast(start, "i32", start.n // 2)
    sums = [b.extract(start, r) for r in range(start.n)]
    zero = b.const(record.results[0], 0)
    for step in _steps(*layouts, fragment):
        words = [*(left(r) for r in step.a), *(right(r) for r in step.b), *scales(*step.place)]
        places = [r if r is None or alone else r // 2 for r in step.acc[::2]] if packed else step.acc
        added = [zero if p is None else sums[p] for p in places]
        for place, value in zip(places, record.emit(b, *words, *added), strict=True):
            if place is not None:
                sums[place] = value
    result = b.vector(sums)
    if packed:
        result = b.bitcast(result, "half", 2 * result.n)
    ctx.set(op.result, b.shuffle(result, range(0, result.n, 2)) if alone else result)


def _scale_words(ctx: Context, op: ops.MmaSync) -> Callable[..., tuple[Val, ...]]:
    """The words of A's and B's scales of an instruction by its `Step.place`; none without scales."""
    if not op.scales:
        return lambda *place: ()
    runs = instruction(op.instruction).facts["scales"]
    (left, rows), (right, columns) = ((packed_words(ctx.b, ctx[v]), register_places(ctx.layout(v))) for v in op.scales)
    return lambda k, batch, m, n: (
        left(tuple(rows[batch, m, k * runs + r] if r < runs else None for r in range(4))),
        right(tuple(columns[batch, k * runs + r, n] if r < runs else None for r in range(4))))


@lower(ops.MmaFma)
def mma_fma(ctx: Context, op: ops.MmaFma) -> None:
    """One vector multiply-add over all of the thread's accumulators for each k."""
    b, acc = ctx.b, ctx[op.acc]
    add: Callable[[Val, Val, Val], Val] = b.fma if acc.is_float else lambda x, y, z: b.add(b.mul(x, y), z)
    for left, right in _outer(ctx.layout(op.acc), ctx.layout(op.a), ctx.layout(op.b)):
        acc = add(b.shuffle(ctx[op.a], left), b.shuffle(ctx[op.b], right), acc)
    ctx.set(op.result, acc)


@lru_cache(maxsize=128)
def _outer(acc: Layout, a: Layout, b: Layout) -> tuple[tuple[list[int], list[int]], ...]:
    """For each k the registers of a and b that each accumulator needs."""
    left, right = register_places(a), register_places(b)
    places = sorted(register_places(acc).items(), key=lambda item: item[1])

    def of(k: int) -> Iterator[tuple[int, int]]:
        for (batch, m, n), _ in places:
            yield left[batch, m, k], right[batch, k, n]

    return tuple(tuple(map(list, zip(*of(k), strict=True))) for k in range(a.shape[-1]))  # type: ignore[misc]
