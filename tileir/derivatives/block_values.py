"""What blocks of the kernel compute by loops, products and reductions, once for each block in the place of each tile.

    before: for block (j): for i: x_grad[j] += f(sum(u[i] * v[i]), j)
    after:  for block (i): workspace[i] = sum(u[i] * v[i]);  then for block (j): for i: x_grad[j] += f(workspace[i], j)

Gradients by their own tiles go through the blocks of the kernel once for each tile. What these compute before they come
to the tiles is the same each time: a kernel of the kernel's own grid keeps it in the workspace, of one slot, before.
"""

from __future__ import annotations

from collections.abc import Collection

from tilewright.tileir.analysis.live import taken
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.derivatives.emitter import Emitter, block_number
from tilewright.tileir.derivatives.keeping import Need, load_tile, needed_by, places_of, store_tile
from tilewright.tileir.derivatives.residuals import is_dear
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.reduce import Reduction


class BlockValues:
    """Those of a function, whose `last` ops are loops and stores of gradients, for which each tile runs them again."""

    def __init__(self, function: Function, last: Collection[Op]) -> None:
        self.function = function
        self.made = self._found(last)
        values = [value for values in self.made.values() for value in values]
        self.places = places_of(values)
        self.need: Need = needed_by(values)

    def _found(self, last: Collection[Op]) -> dict[Op, list[Value]]:
        """The ops, in reverse order, and of each the results that are needed."""
        found: dict[Op, list[Value]] = {}
        wanted: set[Value] = set()
        for op in reversed(self.function.body.ops[:-1]):
            results = [value for value in op.results if value in wanted]
            if op in last or (results and not _pays(op)):
                wanted.update(op.operands, *map(taken, op.blocks))
            elif results:
                found[op] = results
        return found

    def load(self, b: Emitter, op: Op, workspace: Value, number: Value, now: dict[Value, Value]) -> None:
        """What an op has made for a block of the kernel, by its number in the grid."""
        for value in self.made[op]:
            at = number, b.number(0), b.number(self.places[value])
            now[value] = load_tile(b, workspace, at, value, check_bounds=False)

    def kernel(self, workspace: Value, b: Emitter, now: dict[Value, Value]) -> Function:
        """The kernel that stores them, over the grid of the function. `now` maps the function's parameters to those of
        the block that `b` appends to, which holds nothing yet."""
        wanted: set[Value] = set()
        ops: list[Op] = []
        for op in reversed(self.function.body.ops[:-1]):
            if op in self.made or any(value in wanted for value in op.results):
                wanted.update(op.operands, *map(taken, op.blocks))
                ops.append(op)
        for op in reversed(ops):
            b.span = op.span
            b.block.ops.append(op.clone(now))
        number = block_number(b)
        for values in self.made.values():
            for value in values:
                at = number, b.number(0), b.number(self.places[value])
                store_tile(b, workspace, at, now[value], check_bounds=False)
        b.emit(Return())
        return Function(self.function.name, b.block, self.function.hints, self.function.span)


def _pays(op: Op) -> bool:
    """Whether what an op makes takes longer to compute than to read."""
    return is_dear(op) and not (isinstance(op, Reduction) and op.operands[0].type.size == op.result.type.size)
