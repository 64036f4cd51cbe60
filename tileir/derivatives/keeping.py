"""Values that loops carry, kept in a workspace: the starts of so many iterations as it has room for.

The workspace is an array of int32 or int64 with the axes (block, slot, word). A loop of n iterations runs in segments
of ceil(n / slots); what it carries is stored at the start of each. Backwards, an iteration runs the loop again from its
segment's start: with n slots nothing is recomputed, with about sqrt(n) each iteration recomputes half as many, with one
slot the loop runs from its beginning each time. Bits are stored, so that what is restored is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from tilewright.tileir.core import Op, Value
from tilewright.tileir.derivatives.emitter import Emitter, block_number
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType, int8, int16, int32, int64
from tilewright.tileir.ops.arith import CeilDiv, Constant, FloorDiv, Max, Min, Ne
from tilewright.tileir.ops.arrays import Extent
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.ops.convert import Bitcast
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.types import TileType

FEW = 4
"""Loops of so many iterations, a constant, recompute: at most 6 of them, which is cheaper than memory."""
_WORDS = {8: int8, 16: int16, 32: int32, 64: int64}


@dataclass(frozen=True, slots=True)
class Need:
    """What a workspace must have: words per block and slot, and bits of a word. `trips`, the most iterations of a loop
    that uses it, where all are constants (1: one slot is enough). `parts`, positions of parameters of which blocks load
    the same elements."""

    words: int = 0
    bits: int = 32
    trips: int | None = None
    parts: frozenset[int] = frozenset()


def trips_of(op: Op) -> int | None:
    """The number of iterations of a for loop, if it is a constant."""
    if not isinstance(op, For):
        return None
    bounds = [v.op.value if isinstance(v.op, Constant) else None for v in (op.lower, op.upper, op.step)]
    if any(bound is None for bound in bounds):
        return None
    return len(range(*(int(bound) for bound in bounds if bound is not None)))


def is_short(op: Op) -> bool:
    """Whether a loop has so few iterations that recomputing is cheaper than memory."""
    trips = trips_of(op)
    return trips is not None and trips <= FEW


def need_of(loops: Mapping[Op, Sequence[int]]) -> Need:
    """What is needed for these loops, of each the positions of the carried values that are kept."""
    trips = [trips_of(op) for op in loops]
    known = [count for count in trips if count is not None]
    need = needed_by([value for _, values in _placed(loops) for value in values])
    return replace(need, trips=max(known, default=None) if len(known) == len(trips) else None)


def needed_by(values: Sequence[Value]) -> Need:
    """What these tiles take, in one slot."""
    wide = any(value.type.dtype.bitwidth == 64 for value in values)
    return Need(sum(_size(value.type) for value in values), 64 if wide else 32, 1)


def places_of(values: Sequence[Value]) -> dict[Value, int]:
    """The index of each tile on the last axis of a workspace. Larger ones come first, so that each lies at a multiple
    of its size."""
    places: dict[Value, int] = {}
    offset = 0
    for value in sorted(values, key=lambda value: -_size(value.type)):
        places[value] = offset // _size(value.type)
        offset += _size(value.type)
    return places


def check_words(workspace: Value, need: Need) -> None:
    """TileTypeError for a workspace whose words are too narrow."""
    if workspace.type.dtype.bitwidth < need.bits:
        raise TileTypeError(f"the workspace must be an array of int{need.bits}, not of {workspace.type.dtype}")


def kept_in(workspace: Value, loops: Mapping[Op, Sequence[int]]) -> dict[Op, Kept]:
    """How each of these loops keeps its values in the workspace."""
    check_words(workspace, need_of(loops))
    offsets = places_of([value for _, group in _placed(loops) for value in group])
    return {op: Kept(op, workspace, {v: offsets[v] for v in group}) for op, group in _placed(loops)}


def _placed(loops: Mapping[Op, Sequence[int]]) -> list[tuple[For, list[Value]]]:
    """Each loop with the parameters of the values that are kept."""
    return [(op, [op.loop.params[1 + k] for k in positions]) for op, positions in loops.items() if isinstance(op, For)]


def _size(type_: TileType) -> int:
    return prod(type_.shape)


@dataclass(slots=True)
class Kept:
    """One loop and where the values lie that it carries: per parameter the tile's index on the last axis."""

    loop: For
    workspace: Value
    places: dict[Value, int]

    def forward(self, r: Reverse) -> None:
        """Append the loop in segments, each of which stores what it begins with."""
        op, b = self.loop, r.b
        lower, upper, step = (r.now(v) for v in (op.lower, op.upper, op.step))
        count, every = self._segments(r)
        types, hints = [p.type.erased() for p in op.loop.params], [p.hint for p in op.loop.params]
        with r.inside(types, ["", *hints[1:]]) as segments:
            begin, *carried = segments.params
            self._store(r, b.value(FloorDiv(lhs=begin, rhs=every)), carried)
            first = b.add(lower, b.mul(begin, step))
            end = b.value(Min(lhs=upper, rhs=b.add(first, b.mul(every, step))))
            with r.inside(types, hints) as body:
                b.emit(Yield(values=tuple(r.replay_body(op.loop, body.params))))
            made = b.emit(For(lower=first, upper=end, step=step, init=tuple(carried), loop=body))
            b.emit(Yield(values=made.results))
        init = tuple(r.now(v) for v in op.init)
        outer = b.emit(For(lower=b.like(lower, 0), upper=count, step=every, init=init, loop=segments))
        r.know(op.results, outer.results)

    def start(self, r: Reverse, trip: Value) -> tuple[Value, list[Value]]:
        """The loop variable where an iteration's segment starts, and what the loop carries there."""
        op, b = self.loop, r.b
        lower, step = r.now(op.lower), r.now(op.step)
        _, every = self._segments(r)
        done = b.value(FloorDiv(lhs=b.sub(trip, lower), rhs=step))
        slot = b.value(FloorDiv(lhs=done, rhs=every))
        values = [
            self._load(b, slot, param, self.places[param]) if param in self.places else r.now(init)
            for param, init in zip(op.loop.params[1:], op.init, strict=True)]
        return b.add(lower, b.mul(b.mul(slot, every), step)), values

    def _segments(self, r: Reverse) -> tuple[Value, Value]:
        """The number of iterations, and how many of them make a segment."""
        op, b = self.loop, r.b
        lower, upper, step = (r.now(v) for v in (op.lower, op.upper, op.step))
        zero, one = b.like(lower, 0), b.like(lower, 1)
        count = b.value(Max(lhs=b.value(CeilDiv(lhs=b.sub(upper, lower), rhs=step)), rhs=zero))
        slots = b.cast(b.value(Extent(array=self.workspace, axis=1)), lower.type.dtype)
        return count, b.value(Max(lhs=b.value(CeilDiv(lhs=count, rhs=slots)), rhs=one))

    def _store(self, r: Reverse, slot: Value, carried: Sequence[Value]) -> None:
        b = r.b
        for param, value in zip(self.loop.loop.params[1:], carried, strict=True):
            if param in self.places:
                store_tile(b, self.workspace, self._index(b, slot, self.places[param]), value)

    def _load(self, b: Emitter, slot: Value, param: Value, place: int) -> Value:
        return load_tile(b, self.workspace, self._index(b, slot, place), param)

    def _index(self, b: Emitter, slot: Value, place: int) -> tuple[Value, Value, Value]:
        return block_number(b), b.cast(slot, int32), b.number(place)


def store_tile(b: Emitter, workspace: Value, index: tuple[Value, ...], value: Value, check_bounds: bool = True) -> None:
    """Store a tile's bits at a place: block, slot, and the tile's index on the last axis."""
    bits = b.reshape(_bits(b, value, workspace.type.dtype), (1, 1, _size(value.type)))
    b.emit(Store(array=workspace, index=index, value=bits, steps=bits.type.shape, order=(0, 1, 2),
                 check_bounds=check_bounds))


def load_tile(
    b: Emitter, workspace: Value, index: tuple[Value, ...], like: Value, check_bounds: bool = True,
) -> Value:
    """The tile that was stored there, of the type of another one."""
    type_ = like.type.erased()
    shape = (1, 1, _size(type_))
    bits = b.value(Load(array=workspace, index=index, shape=shape, steps=shape, order=(0, 1, 2),
                        check_bounds=check_bounds))
    return _of_bits(b, b.reshape(bits, type_.shape), type_.dtype)


def _bits(b: Emitter, value: Value, word: DType) -> Value:
    """The bits of a tile as words."""
    dtype = value.type.dtype
    if dtype.is_float:
        value = b.value(Bitcast(src=value, dtype=_WORDS[dtype.bitwidth]))
    return b.cast(value, word)


def _of_bits(b: Emitter, words: Value, dtype: DType) -> Value:
    if dtype.is_float:
        return b.value(Bitcast(src=b.cast(words, _WORDS[dtype.bitwidth]), dtype=dtype))
    return b.cast(words, dtype) if dtype.is_int else b.compare(Ne, words, b.like(words, 0))
