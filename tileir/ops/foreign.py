"""Functions of other compilers."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operands, require
from tilewright.tileir.dtypes import DType
from tilewright.tileir.types import TileType, Type


class Foreign(Op, opcode="foreign", elementwise=True):
    """A function of another compiler (tileir/foreign.py), of each element of some tiles of one shape."""

    args: tuple[Value, ...] = operands()
    name: str = attribute()
    dtype: DType = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(bool(self.args), "foreign: there are no operands")
        shapes = {value.type.shape for value in self.args}
        require(len(shapes) == 1, f"foreign: the operands have the shapes {', '.join(map(str, sorted(shapes)))}")
        return (TileType(self.dtype, *shapes),)
