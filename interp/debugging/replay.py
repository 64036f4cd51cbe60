"""One op of a function on given values: what the interpreter makes of what another executor has handed to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.interp import handlers  # noqa: F401  (fills the table of handlers)
from tilewright.interp.arrays import bind_array
from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.debugging.show import shown
from tilewright.interp.formats import format_of
from tilewright.interp.lowering import Lowering
from tilewright.interp.options import DEFAULT, ExecutionOptions
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import Yield
from tilewright.tileir.types import ArrayType, ListType, TileType

Array = Any  # an ndarray, in the dtype that an array of these elements has
Place = tuple[int, int, int]


class OneOp:
    """An op without control flow. `inputs` are the tiles that it reads, `arrays` the array parameters of its function;
    constants, and the ops by which it gets from a parameter to a part of that, come along."""

    def __init__(self, op: Op) -> None:
        self.inputs: list[Value] = []
        self.arrays: list[Value] = []
        self.op = op
        mapping: dict[Value, Value] = {}
        body = Block()
        self._bring(op, body, mapping)
        copy = op.clone(mapping)
        body.ops += [copy, Yield(values=copy.results)]
        for value in (*self.inputs, *self.arrays):
            body.params.append(mapping[value])
            mapping[value].owner = body
        function = Function("replay", body)
        self._copies = copy.results
        self._low = Lowering(
            function, frozenset(), frozenset(range(len(body.params))), Dependences(function))

    def _bring(self, op: Op, body: Block, mapping: dict[Value, Value]) -> None:
        for value in op.operands:
            if value in mapping:
                continue
            maker = value.op
            if maker is not None and (isinstance(maker, Constant) or not isinstance(value.type, TileType)):
                self._bring(maker, body, mapping)
                body.ops.append(maker.clone(mapping))
                continue
            mapping[value] = Value(value.type, value.hint)
            (self.inputs if isinstance(value.type, TileType) else self.arrays).append(value)

    def __call__(
        self, tiles: Sequence[Array], arrays: Mapping[Value, Any], block: Place, grid: Place, *, poison: bool = False,
    ) -> list[Array]:
        """The results for these inputs in a block; `arrays` has the memory of each array parameter."""
        regs: Regs = [None] * self._low.slots
        ids = (np.int32(block[0]), np.int32(block[1]), np.int32(block[2]))
        regs[0] = Chunk(1, ids, grid, ExecutionOptions(poison=True) if poison else DEFAULT)
        bound = [*map(_held, tiles, self.inputs), *(_bound(arrays[value], value) for value in self.arrays)]
        for slot, value in zip(self._low.params, bound, strict=True):
            regs[slot] = value
        with np.errstate(all="ignore"):
            self._low.run(regs)
        return [np.asarray(shown(regs[self._low.slot(copy)], copy)) for copy in self._copies]


def _held(tile: Array, value: Value) -> Array:
    """A tile as a register holds it."""
    format_ = format_of(value.type.dtype)
    return format_.decode(np.ascontiguousarray(tile).view(format_.memory)).reshape(value.type.shape)[()]


def _bound(array: Any, value: Value) -> Any:
    type_ = value.type
    if isinstance(type_, ArrayType):
        return bind_array(array, type_.dtype, type_.rank, value.hint)
    if isinstance(type_, ListType):
        return [bind_array(item, type_.element.dtype, type_.element.rank, value.hint) for item in array]
    return array
