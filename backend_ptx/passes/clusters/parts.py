"""The rewriting of `form_clusters`: cut tiles get shorter, and accesses go to the sub-tile of this CTA."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.control import If, Yield
from tilewright.tileir.ops.memory import Scatter, TileAccess
from tilewright.tileir.ops.reduce import Reduction
from tilewright.tileir.ops.shape import Broadcast, Iota
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, rewrite

# The grid axis along which the CTAs of a cluster lie.
AXIS = 0


class ClusterSplit:
    """`chosen`: the tiles that are cut into `ctas` sub-tiles, each with its axis."""

    def __init__(self, unit: Unit, chosen: Mapping[Value, int], ctas: int) -> None:
        function = unit.function
        self.unit = unit
        self.chosen = chosen
        self.ctas = ctas
        self.wide = _wide(unit, chosen, ctas)
        top = Builder(Block(), function.span)
        self.number = top.value(BlockId(axis=AXIS))
        self.count = top.number(ctas)
        self.rank = top.value(arith.Mod(lhs=self.number, rhs=self.count), "rank")
        self.zero = top.number(0)
        self.first = top.value(arith.Eq(lhs=self.rank, rhs=self.zero), "first")
        self.top = top.block.ops

    def run(self) -> None:
        for value, axis in self.chosen.items():
            shape = list(value.type.shape)
            shape[axis] //= self.ctas
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
        elif isinstance(op, Reduction) and self.chosen.get(op.src) in op.axes:
            self._combine(b, op)
        elif (op.effects().writes or op.effects().io) and not self._is_cut(op):
            self._once(b, op)
        else:
            self._fit(b, op)
            b.keep(op)

    def _is_cut(self, op: Op) -> bool:
        return any(v in self.chosen for v in (*op.operands, *op.results))

    def _of_grid(self, b: Rewriter, op: BlockId | NumBlocks) -> None:
        """The block index that the kernel sees is the index of the cluster."""
        whole = self.number
        if isinstance(op, NumBlocks):
            whole = b.value(NumBlocks(axis=AXIS))
        b.replace(op.result, b.value(arith.FloorDiv(lhs=whole, rhs=self.count)))

    def _count(self, b: Rewriter, op: Iota) -> None:
        """This CTA's part of 0, 1, 2, ..."""
        size = op.size // self.ctas
        part = b.value(Iota(size=size, dtype=op.dtype))
        start = b.cast(b.value(arith.Mul(lhs=self.rank, rhs=b.number(size))), op.dtype)
        made = b.value(arith.Add(lhs=part, rhs=b.value(Broadcast(src=start, shape=(size,)))))
        b.replace(op.result, made)

    def _combine(self, b: Rewriter, op: Reduction) -> None:
        """Reduce the partial results of the CTAs once more."""
        part = b.value(type(op)(src=op.src, **op.attributes))
        every = b.value(ClusterGather(src=part, ctas=self.ctas))
        b.replace(op.result, b.value(type(op)(src=every, **{**op.attributes, "axes": (0,)})))

    def _once(self, b: Rewriter, op: Op) -> None:
        """The first CTA of the cluster performs what all would perform alike."""
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
        ratio = op.steps[axis] // part
        op.steps = (*op.steps[:axis], part, *op.steps[axis + 1:])
        place = self._place(b, op.index[axis], ratio, int64 if op in self.wide else int32)
        op.index = (*op.index[:axis], place, *op.index[axis + 1:])

    def _place(self, b: Rewriter, index: Value, ratio: int, dtype: DType) -> Value:
        """index * ratio + rank."""
        rank, index = b.cast(self.rank, dtype), b.cast(index, dtype)
        return b.value(arith.Add(lhs=b.value(arith.Mul(lhs=index, rhs=b.number(ratio, dtype))), rhs=rank))


def _wide(unit: Unit, chosen: Mapping[Value, int], ctas: int) -> set[Op]:
    """The accesses whose indices need 64 bits: in 32 bits an index far outside the array could wrap into it."""
    known, (low, high) = unit.facts, int32.int_range
    out: set[Op] = set()
    for op in unit.function.walk():
        if isinstance(op, TileAccess):
            axis = chosen.get(op.tile)
            if axis is not None:
                fact, ratio = known[op.index[axis]], op.steps[axis] * ctas // op.tile.type.shape[axis]
                if fact.low * ratio < low or (fact.high + 1) * ratio > high:
                    out.add(op)
    return out
