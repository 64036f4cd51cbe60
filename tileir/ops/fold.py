"""Reductions and scans by any associative function of scalars, which stands in the op as a body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.tileir.core import Block, Op, Value, attribute, body, operands, require
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import erased_types, require_types, yielded_types
from tilewright.tileir.types import TileType, Type


class Fold(Op, reduces=True):
    """N tiles of one shape are combined along `axis`.

    `combine` takes 2 N scalars, first an element of each tile that comes earlier in the order, then one of each that
    comes later, and yields N scalars of the same dtypes. It is associative, and made of constants and element-wise ops.
    """

    srcs: tuple[Value, ...] = operands()
    axis: int = attribute()
    combine: Block = body()

    def of_tiles(
        self, tiles: Sequence[Value], spread: Callable[[Value], Value], emit: Callable[[Op], object],
    ) -> list[Value]:
        """The function of tiles of one shape and layout, or of scalars, in place of its parameters: its ops go to
        `emit`. `spread` gives the tile for a scalar that the body takes from outside."""
        shape, layout = tiles[0].type.shape, tiles[0].type.layout
        values = dict(zip(self.combine.params, tiles, strict=True))

        def value(of: Value) -> Value:
            if of not in values:
                values[of] = spread(of)
            return values[of]

        for inner in self.combine.ops[:-1]:
            if isinstance(inner, Constant):
                made: Op = Constant(value=inner.value, type=TileType(inner.type.dtype, shape))
            else:
                made = inner.clone({v: value(v) for v in inner.operands})
            for old, new in zip(inner.results, made.results, strict=True):
                new.reshape(shape)
                values[old] = new.lay_out(layout) if shape else new
            emit(made)
        return [value(v) for v in self.combine.terminator.operands]

    def check_srcs(self) -> tuple[TileType, ...]:
        """The types of the tiles."""
        types = tuple(v.type.erased() for v in self.srcs)
        require(bool(types), f"{self.opcode}: there are no tiles")
        shape = types[0].shape
        require(all(t.shape == shape for t in types), f"{self.opcode}: the tiles have different shapes")
        require(0 <= self.axis < len(shape), f"{self.opcode}: axis {self.axis} is out of range for {types[0]}")
        scalars = tuple(TileType(t.dtype) for t in types)
        require_types(f"{self.opcode}: parameters", erased_types(tuple(self.combine.params)), scalars * 2)
        given = yielded_types(f"{self.opcode}: the body", self.combine)
        require_types(f"{self.opcode}: yielded values", given, scalars)
        return types


class ReduceWith(Fold, opcode="reduce_with"):
    """All elements along the axis combined in their order, in any grouping; the axis disappears."""

    def infer(self) -> tuple[Type, ...]:
        def without(shape: tuple[int, ...]) -> tuple[int, ...]:
            return shape[: self.axis] + shape[self.axis + 1 :]

        return tuple(TileType(t.dtype, without(t.shape)) for t in self.check_srcs())


class ScanWith(Fold, opcode="scan_with"):
    """Each element combined with all before it (with `reverse`: all behind it, from the end on), itself included."""

    reverse: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        return self.check_srcs()
