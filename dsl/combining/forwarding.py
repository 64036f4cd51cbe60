"""Loads of what the same block has stored or loaded before take that tile, so that no memory lies between them.

Before:

    store(array=%t, index=(%i), value=%v, steps=(16), order=(0))
    %w: tile<16xf32> = load(array=%t, index=(%i), shape=(16), steps=(16), order=(0))

After, %v stands for %w. Where the tile may reach beyond the array and the load's padding counts, a select puts it
there. The value has the array's dtype: what rounding the store made stays, and no product is fused into a later sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.combining.pieces import Piece
from tilewright.combining.regions import Regions
from tilewright.interp.affine import Form
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts, facts
from tilewright.tileir.analysis.uses import uses
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.enums import MemoryOrder, PaddingMode
from tilewright.tileir.ops.arith import Constant, Select
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.passes.select_paddings import inside
from tilewright.tileir.types import TileType

Shapes = Sequence[tuple[int, ...] | None]
PADDINGS = {
    PaddingMode.ZERO: 0.0, PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: math.nan, PaddingMode.POS_INF: math.inf,
    PaddingMode.NEG_INF: -math.inf,
}


def forward(piece: Piece, grid: tuple[int, int, int], shapes: Shapes) -> None:
    """Change the loads of a function, in place. `shapes`: the extents of the arrays, by parameter; None for scalars."""
    _Forwarding(piece, grid, shapes).run()


class _Forwarding:
    def __init__(self, piece: Piece, grid: tuple[int, int, int], shapes: Shapes) -> None:
        self.function = piece.function
        known = {k: shape for k, shape in enumerate(shapes) if shape is not None}
        self.forms = Regions(self.function, grid, known, {}).forms
        self.shapes = {self.function.params[k]: shape for k, shape in known.items()}
        self.uses = uses(self.function)
        self.facts: Facts = facts(self.function)
        self.stored: dict[Value, Store] = {}  # by array: the tile that holds what was stored last
        self.loaded: dict[Value, list[Load]] = {}  # by array: what was loaded since
        self.renamed: dict[Value, Value] = {}

    def run(self) -> None:
        dependences = Dependences(self.function)
        block = self.function.body
        old, block.ops = block.ops, []
        for op in old:
            written = dependences.summary(op).writes
            for array in [a for a in self.shapes if dependences.alias_class(a) in written]:
                self.stored.pop(array, None)
                self.loaded.pop(array, None)
            self._visit(op, block)
            if isinstance(op, Store) and op.array in self.shapes and op.memory_order is MemoryOrder.WEAK:
                self.stored[op.array] = op
            if isinstance(op, Load) and op.memory_order is MemoryOrder.WEAK and op in block.ops[-1:]:
                self.loaded.setdefault(op.array, []).append(op)
        for op in self.function.walk():
            op.replace_operands(self.renamed)

    def _visit(self, op: Op, into: Block) -> None:
        """Append an op, or what stands for it; the ops in its bodies are looked at in the same way."""
        if isinstance(op, Load) and self._same_tile(op):
            builder = Builder(into, op.span)
            value = self.renamed.get(self.stored[op.array].value, self.stored[op.array].value)
            self.renamed[op.result] = self._padded(builder, op, value)
            return
        again = self._loaded_before(op) if isinstance(op, Load) else None
        if again is not None:
            self.renamed[op.result] = again.result
            return
        into.ops.append(op)
        for inner in op.blocks:
            old, inner.ops = inner.ops, []
            for nested in old:
                self._visit(nested, inner)

    def _same_tile(self, op: Load) -> bool:
        """Whether a load reads just the tile that was stored last, and that can stand for it."""
        store = self.stored.get(op.array)
        if store is None or op.memory_order is not MemoryOrder.WEAK:
            return False
        return self._lie_alike(op, store) and (not self._needs_padding(op) or op.padding is PaddingMode.ZERO
                                               or op.result.type.dtype.arithmetic)

    def _loaded_before(self, op: Load) -> Load | None:
        """A load of the same tile whose paddings may stand for those of this one, which are undetermined."""
        if op.padding is not PaddingMode.UNDETERMINED or op.memory_order is not MemoryOrder.WEAK:
            return None
        return next((other for other in self.loaded.get(op.array, ()) if self._lie_alike(op, other)), None)

    def _lie_alike(self, one: Load | Store, other: Load | Store) -> bool:
        ours, theirs = self._places(one), self._places(other)
        tiles = [(op.tile.type.shape, op.steps, op.order) for op in (one, other)]
        return tiles[0] == tiles[1] and None not in ours and ours == theirs

    def _places(self, op: Load | Store) -> list[Form | None]:
        forms = [self.forms.of(index) for index in op.index]
        return [None if form is None or form.turns else form for form in forms]

    def _needs_padding(self, op: Load) -> bool:
        """Whether elements outside the array count."""
        if op.padding is PaddingMode.UNDETERMINED or not op.check_bounds:
            return False
        return self._reaches_out(op) and not self._unseen(op.result, op)

    def _reaches_out(self, op: Load) -> bool:
        shape = self.shapes[op.array]
        for index, step, length, axis in zip(op.index, op.steps, op.shape, op.order, strict=True):
            form = self.forms.of(index)
            assert form is not None
            low, high = form.bounds(self.forms.grid)
            if low < 0 or high * step + length > shape[axis]:
                return True
        return False

    def _unseen(self, value: Value, load: Load) -> bool:
        """Whether the elements outside the array go nowhere but to stores that skip them."""
        return all(self._skips(user, value, load) for user in self.uses.get(value, ()))

    def _skips(self, user: Op, value: Value, load: Load) -> bool:
        if isinstance(user, Store):
            shape = self.shapes.get(user.array)
            same = (user.steps, user.order) == (load.steps, load.order) and self._places(user) == self._places(load)
            return shape is not None and user.check_bounds and same and all(
                mine <= other for mine, other in zip(shape, self.shapes[load.array], strict=True))
        return bool(user.elementwise) and not user.effectful and not user.blocks and all(
            self._unseen(result, load) for result in user.results)

    def _padded(self, builder: Builder, op: Load, value: Value) -> Value:
        if not self._needs_padding(op):
            return value
        type_: TileType = op.result.type
        number = PADDINGS[op.padding]
        padding = number if type_.dtype.is_float else type_.dtype.is_int and int(number)  # False for bools
        mask = inside(builder, op, self.facts)
        return builder.value(Select(cond=mask, lhs=value, rhs=builder.value(Constant(value=padding, type=type_))))
