"""Debug stores in the IR: arrays that get what an op computes, for each block and each iteration of its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.arguments.arrays import numpy_dtype
from tilewright.comparing.copies import copies
from tilewright.comparing.sites import Site
from tilewright.launching.grid import Grid
from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import carry, hand_on
from tilewright.tileir.core import Block, Function, Op, Value, clone_block
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arith import Add, FloorDiv, Mul, Sub
from tilewright.tileir.ops.arrays import BlockId
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.memory import Scatter, Store
from tilewright.tileir.types import ArrayType, TileType

UNWRITTEN = 0xA5  # each byte of an array of probes before the run
ALIGN = 256


@dataclass(frozen=True)
class Probe:
    """An array for what stands at `site` in all blocks: of `value`; or, of a store, a second array to write to, like
    the one it writes (`store`)."""

    site: Site
    value: Value | None = None
    store: Op | None = None

    def bytes(self, blocks: int) -> int:
        """What the array takes."""
        if self.value is None:
            return 0
        tile = self.value.type
        return int(blocks * self.site.slots * tile.size * tile.dtype.bytes)


def blank(array: Any) -> Any:
    """An array like another one whose elements nobody has written."""
    [copy] = copies([array])
    if copy.size:
        copy.base[...] = UNWRITTEN
    return copy


def can_probe(value: Value) -> bool:
    """Whether arrays can hold the tile."""
    return isinstance(value.type, TileType) and (value.type.dtype.bitwidth >= 8 or value.type.dtype.is_bool)


class Probed:
    """A copy of a function with probes: `function`, and `arrays` makes what its new parameters take."""

    def __init__(self, function: Function, probes: Sequence[Probe], grid: Grid) -> None:
        self._original, self._grid = function, grid
        self.blocks = grid.size[0] * grid.size[1] * grid.size[2]
        self.probes = probes
        self._mapping: dict[Value, Value] = {}
        body = clone_block(function.body, self._mapping)
        self.function = Function(function.name, body, function.hints, function.span)
        self.function.aliases, self.function.switches = function.aliases, function.switches
        self._op: dict[Op, Op] = dict(zip(function.walk(), body.walk(), strict=True))
        self._block = {block: copy for old, new in self._op.items()
                       for block, copy in zip(old.blocks, new.blocks, strict=True)}
        self._counters: dict[Op, Value] = {}
        self._number = self._block_number() if any(p.value is not None for p in probes) else None
        for loop in dict.fromkeys(loop for p in probes if p.value is not None for loop in p.site.loops):
            self._counters[loop] = self._counter(loop)
        for probe in probes:
            self._insert(probe)

    def arrays(self, values: Sequence[Any]) -> list[Any]:
        """The arrays for the new parameters, filled with UNWRITTEN; `values` are the other arguments."""
        import numpy

        out = []
        for probe in self.probes:
            if probe.store is not None:
                index = self._parameter(probe.store)
                out.append(blank(values[index]))
                continue
            dtype = numpy_dtype(_array_type(probe, self.blocks).dtype)
            shape = _array_type(probe, self.blocks).extents
            room = numpy.full(probe.bytes(self.blocks) + ALIGN, UNWRITTEN, numpy.uint8)
            start = -room.__array_interface__["data"][0] % ALIGN
            out.append(room[start : start + probe.bytes(self.blocks)].view(dtype).reshape(shape))
        return out

    def _block_number(self) -> Value:
        b = Builder(Block())
        x, y, z = self._grid.size
        number = b.value(BlockId(axis=0))
        for axis, size in ((1, x), (2, x * y)):
            if (x, y, z)[axis] > 1:
                part = b.value(Mul(lhs=b.value(BlockId(axis=axis)), rhs=b.number(size)))
                number = b.value(Add(lhs=number, rhs=part))
        self.function.body.ops[:0] = b.block.ops
        return number

    def _counter(self, loop: For | While) -> Value:
        """The number of the iteration, in the bodies of a loop of the copy."""
        copy = self._op[loop]
        b = Builder(Block(), copy.span)
        if isinstance(copy, For):
            done = b.value(FloorDiv(lhs=b.value(Sub(lhs=copy.loop.params[0], rhs=copy.lower)), rhs=copy.step))
            number = b.cast(done, int32)
            copy.loop.ops[:0] = b.block.ops
            return number
        assert isinstance(copy, While)
        parent = next(block for block in self._every_block() if copy in block.ops)
        zero = b.number(0)
        parent.ops[parent.ops.index(copy):parent.ops.index(copy)] = b.block.ops
        [inside], _ = carry(copy, [zero], ["probes"])
        more = Builder(Block(), copy.span)
        hand = more.value(Add(lhs=inside, rhs=more.number(1)))
        copy.after.ops[:0] = more.block.ops
        hand_on(copy.after, [hand])
        return copy.before.params[-1]

    def _every_block(self) -> list[Block]:
        return [self.function.body, *self._block.values()]

    def _insert(self, probe: Probe) -> None:
        if probe.store is not None:
            self._shadow(probe.store)
            return
        assert probe.value is not None and self._number is not None
        value = self._mapping[probe.value]
        array = self._add_parameter(_array_type(probe, self.blocks))
        owner = value.owner
        block = owner if isinstance(owner, Block) else next(b for b in self._every_block() if owner in b.ops)
        b = Builder(Block(), owner.span if isinstance(owner, Op) else self.function.span)
        slot = self._number
        for loop, trips in zip(probe.site.loops, probe.site.trips, strict=True):
            slot = b.value(Mul(lhs=slot, rhs=b.number(trips))) if trips > 1 else slot
            slot = b.value(Add(lhs=slot, rhs=self._counter_in(loop, block)))
        shape = value.type.shape
        if shape:
            index = (slot, *(b.number(0) for _ in shape[1:]))
            b.emit(Store(array=array, index=index, value=value, steps=shape, order=tuple(range(len(shape))),
                         allow_tma=False))
        else:
            b.emit(Scatter(array=array, indices=(slot,), value=value, mask=None, shape=()))
        at = 0 if isinstance(owner, Block) else block.ops.index(owner) + 1  # type: ignore[arg-type]
        if isinstance(owner, Block):
            at = self._behind_counters(block)
        block.ops[at:at] = b.block.ops

    def _behind_counters(self, block: Block) -> int:
        made = [value.op for value in self._counters.values()] + [self._number.op if self._number else None]
        return max((i + 1 for i, op in enumerate(block.ops) if op in made), default=0)

    def _counter_in(self, loop: Op, block: Block) -> Value:
        """The counter as seen in a block: the two bodies of a `while` have parameters of their own for it."""
        counter, copy = self._counters[loop], self._op[loop]
        if isinstance(copy, While) and self._inside(block, copy.after):
            return copy.after.params[-1]
        return counter

    def _inside(self, block: Block, outer: Block) -> bool:
        return block is outer or any(block is inner for op in outer.walk() for inner in op.blocks)

    def _add_parameter(self, type_: ArrayType) -> Value:
        value = self.function.body.add_param(type_, f"probe{len(self.function.params)}")
        return value

    def _shadow(self, store: Op) -> None:
        """A second store of the same to an array of its own."""
        copy: Any = self._op[store]
        block = next(b for b in self._every_block() if copy in b.ops)
        parameter = self.function.params[self._parameter(store)]
        mapping: dict[Value, Value] = {parameter: self._add_parameter(parameter.type)}
        way: list[Op] = []
        value = copy.array
        while value.op is not None:
            way.append(value.op)
            value = next(v for v in value.op.operands if isinstance(v.type, ArrayType))
        made = [op.clone(mapping) for op in way[::-1]]
        again = copy.clone(mapping)
        at = block.ops.index(copy) + 1
        block.ops[at:at] = [*made, again]

    def _parameter(self, store: Op) -> int:
        index = written_parameter(self._original, store)
        assert index is not None
        return index


def written_parameter(function: Function, op: Any) -> int | None:
    """The position of the array parameter that a store writes, None where it is not one for sure."""
    value: Value | None = op.array
    while value is not None and isinstance(value.owner, Op):
        value = next((v for v in value.owner.operands if isinstance(v.type, ArrayType)), None)
    return function.params.index(value) if value in function.params else None


def _array_type(probe: Probe, blocks: int) -> ArrayType:
    assert probe.value is not None
    tile = probe.value.type
    rows = blocks * probe.site.slots
    extents = (rows * tile.shape[0], *tile.shape[1:]) if tile.shape else (rows,)
    strides: list[int] = []
    step = 1
    for n in reversed(extents):
        strides.insert(0, step)
        step *= n
    small = step * tile.dtype.bytes < 1 << 31
    return ArrayType(tile.dtype, extents, tuple(strides), align=16, disjoint=True, small=small)
