"""Cut tiles into sub-tiles: several blocks of a longer grid compute what one computed, each its own sub-tile.

    before: %i: i32 = block_id(axis=0)
            %a: tile<256x64xbf16> = load(array=%x, index=(%i, %k), steps=(256, 64), ...)
    after:  %0: i32 = block_id(axis=0)                            // the grid has twice as many blocks along its axis 0
            %i: i32 = floordiv(lhs=%0, rhs=%two)
            %rank: i32 = mod(lhs=%0, rhs=%two)
            %1: i32 = %i * 2 + %rank
            %a: tile<128x64xbf16> = load(array=%x, index=(%1, %k), steps=(128, 64), ...)

Tiles that are not cut are the same in all of these blocks, and the first of them alone stores what all compute. The
caller chooses the tiles (analysis/axes.py finds what must be cut together), and says how blocks exchange values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import origins
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.folding import continued, function_of
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import For, If, Yield
from tilewright.tileir.ops.fold import ReduceWith, ScanWith
from tilewright.tileir.ops.memory import Scatter, TileAccess
from tilewright.tileir.ops.reduce import ReduceSum, Reduction
from tilewright.tileir.ops.shape import Broadcast, Iota
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.even_parts import EvenParts, even_parts
from tilewright.tileir.rewrite import Rewriter, rewrite

# The grid axis along which the blocks lie that compute one block's tiles.
AXIS = 0


def cut_tiles(
    unit: Unit, chosen: Mapping[Value, int], count: int, gather: Callable[[Value], Op], even: bool = False,
    shared: For | None = None,
) -> None:
    """Cut the tiles `chosen`, each along its axis, into `count` sub-tiles. `gather` makes the op that gives a block the
    partial results of all, along a new first axis. `even`: blocks get as much of an array each where that is allowed
    (see even_parts.py). `shared`: a loop that only adds up, of which each block runs every `count`-th iteration."""
    _Cut(unit, chosen, count, gather, even_parts(unit, chosen, count) if even and chosen else None, shared).run()


def unshare(function: Function) -> None:
    """Give every use of a constant or iota its own copy, right before the user: one may be cut, another not."""
    used: set[Value] = set()

    def rule(b: Rewriter, op: Op) -> None:
        def own(value: Value) -> Value:
            if not is_tile(value) or value.op is None or not value.op.rematerializable:
                return value
            if value in used:
                return b.value(value.op.clone({}))
            used.add(value)
            return value

        op.map_operands(own)
        b.keep(op)

    rewrite(function, rule)


class Disorder(NamedTuple):
    """Why a cut would change the order of accesses: an op that orders all those of its block, or (`memory`) one that
    writes memory which is accessed in another way elsewhere."""

    op: Op
    memory: Value | None = None


def disorder(unit: Unit, chosen: Mapping[Value, int]) -> Disorder | None:
    """None if the cut of these tiles, each along its axis, keeps the order of accesses.

    Two accesses of one array, of which one writes, stay in one block only if both cut the array at the same positions.
    Each written array must therefore be accessed in one way throughout.
    """
    acting = [op for op in unit.function.walk() if op.effectful]
    for op in acting:
        if op.effects().ordered or isinstance(op, Atomic):
            return Disorder(op)
    dependences = unit.dependences
    once = {op for op in acting if all(isinstance(outer, If) for outer in unit.around(op))}
    ways: dict[Value, set[Any]] = {}
    written: dict[Value, Op] = {}
    for op in acting:
        effects = op.effects()
        for memory in (*effects.reads, *effects.writes):
            ways.setdefault(dependences.alias_class(memory), set()).add(_way(op, chosen, once))
        written.update((dependences.alias_class(memory), op) for memory in effects.writes)
    found = (Disorder(op, memory) for memory, op in written.items() if len(ways[memory]) > 1 or None in ways[memory])
    return next(found, None)


# The first block alone writes what all compute.
_WHOLE = "whole"


def _way(op: Op, chosen: Mapping[Value, int], once: set[Op]) -> Any:
    """How an op cuts an array; None if several blocks may access the same element."""
    if isinstance(op, TileAccess):
        axis = chosen.get(op.tile)
        if axis is None:
            return _WHOLE if op.effects().writes else op
        same_grid = op.steps[axis] == op.tile.type.shape[axis]
        return (op.array, op.order[axis], op.steps[axis]) if same_grid else None
    if any(is_tile(v) and v in chosen for v in (*op.operands, *op.results)):
        return op if isinstance(op, Scatter) and op in once else None
    return _WHOLE if op.effects().writes else op


def alike(values: Iterable[Value], unit: Unit, count: int) -> bool:
    """Whether the `count` blocks that compute one block's tiles have the same values, in the same iteration of each
    loop: none is computed from the block index along AXIS, but for that of the block that they stand for alone."""

    def stands_for_all(value: Value) -> bool:
        op = value.op
        return (isinstance(op, arith.FloorDiv) and isinstance(op.lhs.op, BlockId)
                and isinstance(op.rhs.op, arith.Constant) and op.rhs.op.value == count)

    found = origins(values, unit.parents, stands_for_all)
    return not any(isinstance(v.op, BlockId) and v.op.axis == AXIS for v in found)


class _Cut:
    def __init__(
        self, unit: Unit, chosen: Mapping[Value, int], blocks: int, gather: Callable[[Value], Op],
        even: EvenParts | None, shared: For | None,
    ) -> None:
        function = unit.function
        self.unit = unit
        self.chosen = dict(chosen)
        self.blocks = blocks
        self.gather = gather
        self.even = even
        self.shared = shared
        self.wide = _wide(unit, chosen, blocks)
        top = Builder(Block(), function.span)
        self.number = top.value(BlockId(axis=AXIS))
        self.count = top.number(blocks)
        self.rank = top.value(arith.Mod(lhs=self.number, rhs=self.count), "rank")
        self.zero = top.number(0)
        self.first = top.value(arith.Eq(lhs=self.rank, rhs=self.zero), "first")
        if even is not None:
            even.emit(top, top.value(arith.FloorDiv(lhs=self.number, rhs=self.count)), self.rank, blocks)
        self.top = top.block.ops

    def run(self) -> None:
        for value, axis in self.chosen.items():
            shape = list(value.type.shape)
            shape[axis] //= self.blocks
            value.reshape(tuple(shape))
        rewrite(self.unit.function, self._rule)
        self.unit.function.body.ops[:0] = self.top
        self.unit.forget()
        dce(self.unit)

    def _rule(self, b: Rewriter, op: Op) -> None:
        if isinstance(op, (BlockId, NumBlocks)) and op.axis == AXIS:
            self._of_grid(b, op)
        elif isinstance(op, Iota) and op.result in self.chosen:
            self._count(b, op)
        elif op is self.shared:
            self._share(b, op)
        elif isinstance(op, Reduction) and self.chosen.get(op.src) in op.axes:
            self._combine(b, op)
        elif isinstance(op, ScanWith) and self.chosen.get(op.srcs[0]) == op.axis:
            self._continue(b, op)
        elif (op.effects().writes or op.effects().io) and not self._is_cut(op):
            self._once(b, op)
        else:
            if self.even is not None and isinstance(op, arith.Lt) and op in self.even.tests:
                op.rhs = self.even.limit(b, op)
            self._fit(b, op)
            b.keep(op)

    def _is_cut(self, op: Op) -> bool:
        return any(v in self.chosen for v in (*op.operands, *op.results))

    def _of_grid(self, b: Rewriter, op: BlockId | NumBlocks) -> None:
        """The block index that the kernel sees is that of the block that these stand for."""
        whole = self.number
        if isinstance(op, NumBlocks):
            whole = b.value(NumBlocks(axis=AXIS))
        b.replace(op.result, b.value(arith.FloorDiv(lhs=whole, rhs=self.count)))

    def _count(self, b: Rewriter, op: Iota) -> None:
        """This block's part of 0, 1, 2, ..."""
        size = op.size // self.blocks
        part = b.value(Iota(size=size, dtype=op.dtype))
        if self.even is not None:
            b.replace(op.result, part)
            return
        start = b.cast(b.value(arith.Mul(lhs=self.rank, rhs=b.number(size))), op.dtype)
        made = b.value(arith.Add(lhs=part, rhs=b.value(Broadcast(src=start, shape=(size,)))))
        b.replace(op.result, made)

    def _combine(self, b: Rewriter, op: Reduction) -> None:
        """Reduce the partial results of the blocks once more."""
        part = b.value(type(op)(src=op.src, **op.attributes))
        every = b.value(self.gather(part))
        b.replace(op.result, b.value(type(op)(src=every, **{**op.attributes, "axes": (0,)})))

    def _share(self, b: Rewriter, op: Op) -> None:
        """Run every so manieth iteration, and add up the sums of the blocks."""
        assert isinstance(op, For)
        rank, count = (b.cast(v, op.lower.type.dtype) for v in (self.rank, self.count))
        op.lower = b.value(arith.Add(lhs=op.lower, rhs=b.value(arith.Mul(lhs=rank, rhs=op.step))))
        op.step = b.value(arith.Mul(lhs=op.step, rhs=count))
        b.keep(op)
        for old in op.results:
            b.replace(old, b.value(ReduceSum(src=b.value(self.gather(old)), axes=(0,))))

    def _continue(self, b: Rewriter, op: ScanWith) -> None:
        """Scan this block's part, and combine it with what the blocks before it hold in all."""
        body = function_of(b, op, swapped=op.reverse)
        totals = b.emit(ReduceWith(srcs=op.srcs, axis=op.axis, combine=body)).results
        every = [b.value(self.gather(v)) for v in totals]
        b.keep(op)
        for old, new in zip(op.results, continued(b, op, op.results, every, self.rank), strict=True):
            self.chosen[new] = op.axis
            b.replace(old, new)

    def _once(self, b: Rewriter, op: Op) -> None:
        """The first block performs what all would perform alike."""
        with b.into() as then:
            b.keep(op)
            b.emit(Yield(values=()))
        with b.into() as orelse:
            b.emit(Yield(values=()))
        b.emit(If(cond=self.first, then=then, orelse=orelse))

    def _fit(self, b: Rewriter, op: Op) -> None:
        """Change the attributes that repeat a shape, and the indices of accesses."""
        if isinstance(op, arith.Constant):
            op.type = op.result.type
        elif isinstance(op, TileAccess):
            self._access(b, op, op.tile)
        if "shape" in op.fields:
            tile = op.value if isinstance(op, Scatter) else op.results[0]
            if is_tile(tile):
                op.shape = tile.type.shape  # type: ignore[attr-defined]

    def _access(self, b: Rewriter, op: TileAccess, tile: Value) -> None:
        axis = self.chosen.get(tile)
        if axis is None:
            return
        part = tile.type.shape[axis]
        if self.even is not None:
            op.array = self.even.part(op.array, op.order[axis])
            op.steps = (*op.steps[:axis], part, *op.steps[axis + 1:])
            return
        ratio = op.steps[axis] // part
        op.steps = (*op.steps[:axis], part, *op.steps[axis + 1:])
        place = self._place(b, op.index[axis], ratio, int64 if op in self.wide else int32)
        op.index = (*op.index[:axis], place, *op.index[axis + 1:])

    def _place(self, b: Rewriter, index: Value, ratio: int, dtype: DType) -> Value:
        """index * ratio + rank."""
        rank, index = b.cast(self.rank, dtype), b.cast(index, dtype)
        return b.value(arith.Add(lhs=b.value(arith.Mul(lhs=index, rhs=b.number(ratio, dtype))), rhs=rank))


def _wide(unit: Unit, chosen: Mapping[Value, int], blocks: int) -> set[Op]:
    """The accesses whose indices need 64 bits: in 32 bits an index far outside the array could wrap into it."""
    known, (low, high) = unit.facts, int32.int_range
    out: set[Op] = set()
    for op in unit.function.walk():
        if isinstance(op, TileAccess):
            axis = chosen.get(op.tile)
            if axis is not None:
                fact, ratio = known[op.index[axis]], op.steps[axis] * blocks // op.tile.type.shape[axis]
                if fact.low * ratio < low or (fact.high + 1) * ratio > high:
                    out.add(op)
    return out
