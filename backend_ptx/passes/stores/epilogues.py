"""What a split store needs of loads, sub-tile by sub-tile: part of `split_stores`.

    before: %r: tile<128x256xbf16, #1> = load(array=%residual, index=(%i, %j), ...)
            %c: tile<128x256xbf16, #0> = convert_layout(src=%r)                   // 64 KB of shared memory
            %s: tile<128x256xf32, #0> = add(lhs=%acc, rhs=cast(src=%c, ...))
            store(array=%y, index=(%i, %j), value=cast(src=%s, ...), ...)
    after:  %r0: tile<128x64xbf16, #2> = load(array=%residual, index=(%i, %j * 4), ...)   // others too
            %acc = wgmma_wait(...)
            shared_store(buffer=%0, value=%r0) ; %c0: tile<128x64xbf16, #3> = shared_load(buffer=%0)
            %s0: tile<128x64xf32, #3> = add(lhs=extract(src=%acc, index=(0, 0)), rhs=cast(src=%c0, ...))
            shared_store(buffer=%0, value=cast(src=%s0, ...))                     // the buffer of the store, 16 KB
            ...

The element-wise ops between the loads and the store are repeated for each sub-tile. As many sub-tiles as registers can
hold are loaded as soon as the last loop before the store is over, each other one when the one that far before it has
been used. Beside them, rows that are repeated (a bias) are loaded part by part, too: a whole row takes a quarter of the
registers that an accumulator of as many columns leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice, product
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.exchange import within_warp
from tilewright.backend_ptx.layouts.memory import conversion_cost, tile_access
from tilewright.backend_ptx.ops.shared import SharedLoad, SharedStore
from tilewright.backend_ptx.passes.stores.pieces import Pieces
from tilewright.backend_ptx.resources.registers import OTHER, registers_at
from tilewright.backend_ptx.roles import consumer_registers
from tilewright.tileir.analysis.chains import after_inner_blocks, chain_to, only_used_by
from tilewright.tileir.analysis.words import is_uniform, registers_of
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.shape import Extract
from tilewright.tileir.rewrite import Rewriter
from tilewright.tileir.sub_tiles import SubTile, SubTilePlaces


class Loaded(NamedTuple):
    """A load whose tile, as `part.value` says after a conversion, is loaded part by part in this layout."""

    load: Load
    part: SubTile
    layout: Layout
    wanted: Layout


class Epilogue(NamedTuple):
    """The element-wise `ops` that nothing but a store needs, in program order, and the loads among what they take.
    `ahead` sub-tiles of each are loaded before `place`."""

    ops: list[Op]
    loads: list[Loaded]
    place: Op
    ahead: int


def find_epilogue(store: Store, ends: Collection[Op], source: Value, pieces: Pieces, movable: Collection[Load],
                  c: Compilation) -> Epilogue | None:
    """The epilogue that ends in a store whose tile `source` is cut into pieces; None if it loads no tile that could be
    cut likewise, or nothing but such tiles, which need no registers beside others, or if a ring may carry what it loads
    (in an innermost loop). `ends`: the store and its conversion."""
    ops = chain_to(ends, source, c)
    after = after_inner_blocks(c.homes[store], store)
    innermost = after[:1] == c.homes[store].ops[:1] and any(op.repeats for op in c.around(store))
    taken = dict.fromkeys(v for op in ops for v in op.operands if v.type.shape == source.type.shape and v.op not in ops)
    parts = (SubTile(value, pieces.shape, tuple(range(len(pieces.shape)))).origin(c) for value in taken)
    found = [Loaded(load, part, *_layouts(load, part, c.plan.warps)) for part in parts
             if (load := _load_of(part.value, c)) in movable and load in after and tuple(load.steps) == load.shape]
    whole = [load for load, *_ in found if load.shape == source.type.shape]
    if innermost or not whole or len(whole) == sum(not is_uniform(value) for value in taken):
        return None
    made = [after.index(v.op) + 1 for load, *_ in found for v in load.index if v.op in after]
    ahead = _ahead(ops, found, after, pieces.count, c)
    names = dict.fromkeys(load.array.hint or decisions.AN_ARRAY for load, *_ in found)
    c.decide(decisions.epilogue(list(names), pieces.shape, ahead, pieces.count, store.span))
    return Epilogue(ops, found, after[max(made, default=0)], ahead)


def _ahead(ops: list[Op], loads: list[Loaded], after: list[Op], count: int, c: Compilation) -> int:
    """How many sub-tiles registers can hold beside the one in use and what is live before the first op, without what
    is loaded by then; at least one, as ptxas spills no less without."""
    each = sum(registers_of(Value(x.part.value.type.with_shape(x.part.shape).with_layout(x.layout))) for x in loads)
    early = sum(registers_of(x.part.value) for x in loads if after.index(x.load) < after.index(ops[0]))
    most = consumer_registers(c.plan.teams * c.plan.warps, c.hints.occupancy, c.target)
    alive = dict(registers_at(c.function))[ops[0]] - early
    return max(1, min(count, (most - alive - OTHER) // each - 1))


def _load_of(value: Value, c: Compilation) -> Load | None:
    """The load of a value that is used once, converted perhaps."""
    op = value.op
    if isinstance(op, ConvertLayout) and only_used_by(op.src, [op], c):
        op = op.src.op
    return op if isinstance(op, Load) and len(c.uses[value]) == 1 else None


def _layouts(load: Load, part: SubTile, warps: int) -> tuple[Layout, Layout]:
    """How threads load a sub-tile, the cheapest way, a conversion included to what its users need; and that."""
    access = tile_access(load.array.type, load.order, part.shape, part.shape)
    wanted = transform.extract(part.value.type.layout, part.shape)
    assert wanted is not None
    found = wanted, within_warp(wanted, access.order, access.vector), access.preferred(warps)

    def cost(layout: Layout) -> int:
        return access.cost(layout) + conversion_cost(layout, wanted, access.element_bytes)

    return min((layout for layout in found if layout is not None), key=cost), wanted


# ---- sub-tiles --------------------------------------------------------------------------------------------------


def _emit_part(b: Rewriter, part: SubTile, place: tuple[int, ...], known: Mapping[Value, Value]) -> Value:
    """The part at this place of the store's tile, of what is `known`."""
    value, shape, axes = part
    if value in known:
        return known[value]
    source, op = part.source, value.op
    made: Op
    if isinstance(op, Constant):
        made = Constant(value=op.value, type=value.type.with_shape(shape))
    elif source is None:
        index = tuple(b.number(0 if axis is None else place[axis]) for axis in axes)
        made = Extract(src=value, index=index, shape=shape)
    else:
        inner = _emit_part(b, source, place, known)
        assert op is not None
        made = Cast(src=inner, dtype=op.dtype) if isinstance(op, Cast) else type(op)(src=inner, shape=shape)
    return b.value(made, value.hint).lay_out(transform.extract(value.type.layout, shape))


class SubTiles:
    """Makes the sub-tiles of what a store takes."""

    def __init__(self, source: Value, pieces: Pieces, epilogue: Epilogue | None) -> None:
        self.source, self.pieces, self.epilogue = source, pieces, epilogue
        self.every = list(product(*(range(n // m) for n, m in zip(source.type.shape, pieces.shape, strict=True))))
        self.loaded: list[dict[Value, Value]] = []
        self.loading: Iterator[dict[Value, Value]] = iter(())

    def begin(self, b: Rewriter, epilogue: Epilogue) -> None:
        """At the epilogue's place: load the first sub-tiles."""
        self.loading = self._loads(b, epilogue)
        self.loaded = list(islice(self.loading, epilogue.ahead))

    def _loads(self, b: Rewriter, epilogue: Epilogue) -> Iterator[dict[Value, Value]]:
        """Emits the loads of one sub-tile after another."""
        places = []
        for load, part, *_ in epilogue.loads:
            with b.at(load.span):
                places.append(SubTilePlaces(b, load, part.shape))
        for place in self.every:
            made = {}
            for (load, part, layout, _), of_load in zip(epilogue.loads, places, strict=True):
                attributes = {**load.attributes, "steps": part.shape, "shape": part.shape}
                with b.at(load.span):
                    index = of_load.index(b, tuple(0 if axis is None else place[axis] for axis in part.axes))
                    value = b.value(Load(array=load.array, index=index, **attributes), load.result.hint)
                made[part.value] = value.lay_out(layout)
            yield made

    def make(self, b: Rewriter, place: tuple[int, ...], buffer: Value | None) -> Value:
        """The next sub-tile, at this place. `buffer`: where the store will put it, free until then."""
        axes, parts = tuple(range(len(place))), dict[Value, Value]()
        if self.epilogue is None:
            return _emit_part(b, SubTile(self.source, self.pieces.shape, axes), place, parts)
        loaded = self.loaded.pop(0)
        for _, part, _, wanted in self.epilogue.loads:
            parts[part.value] = self._converted(b, loaded[part.value], wanted, buffer)
        self.loaded += islice(self.loading, 1)
        for op in self.epilogue.ops:
            parts.update({v: _emit_part(b, SubTile(v, self.pieces.shape, axes), place, parts) for v in op.operands
                          if v.type.shape == self.source.type.shape})
            copy = op.clone(parts)
            copy.results[0].reshape(self.pieces.shape)
            copy.results[0].lay_out(self.pieces.source)
            b.keep(copy)
        return parts[self.source]

    def _converted(self, b: Rewriter, part: Value, wanted: Layout, buffer: Value | None) -> Value:
        """A loaded sub-tile in the layout of its users, through the store's buffer if it fits that."""
        if part.type.layout == wanted:
            return part
        if buffer is None or (buffer.type.dtype, buffer.type.shape) != (part.type.dtype, part.type.shape):
            return b.value(ConvertLayout(src=part), part.hint).lay_out(wanted)
        b.emit(SharedStore(buffer=buffer, slot=None, value=part))
        return b.value(SharedLoad(buffer=buffer, slot=None, index=(), shape=part.type.shape), part.hint).lay_out(wanted)
