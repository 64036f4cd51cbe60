"""Reductions of some bits of an axis: those within a warp, before or after a cross-warp shuffle."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, optional_operand, require
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.layouts.reduced import kept_shape
from tilewright.tileir.ops.reduce import reduction_of
from tilewright.tileir.types import TileType, Type


def require_axes(opcode: str, shape: tuple[int, ...], axes: tuple[int, ...], keep: tuple[int, ...]) -> None:
    ok = len(axes) == len(keep) and all(0 <= a < len(shape) for a in axes)
    require(ok and all(m < shape[a] for a, m in zip(axes, keep, strict=True)),
            f"{opcode}: axes {axes} and kept bits {keep} do not fit shape {shape}")


class ReduceBits(Op, opcode="reduce_bits", reduces=True):
    """Combine elements whose indices along `axes` agree in the bits of `keep` (a mask per axis).

    The axes stay, with one element for each value of the kept bits, in ascending order. `kind` is that
    of a reduction (`REDUCTIONS`), and the options are those of all reductions.
    """

    src: Value = operand()
    axes: tuple[int, ...] = attribute()
    keep: tuple[int, ...] = attribute()
    kind: str = attribute()
    propagate_nan: bool = attribute(default=False)
    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        require_axes("reduce_bits", src.shape, self.axes, self.keep)
        reduction_of(self.kind)
        return (TileType(src.dtype, kept_shape(src.shape, self.axes, self.keep)),)


class ArgReduceBits(Op, opcode="arg_reduce_bits", reduces=True):
    """The extreme value and its index among elements whose index along `axis` agrees in the bits of `keep`.

    The axis stays, as in reduce_bits. `index` holds the index that each element stands for, by default its own position
    along the axis. `largest` and `propagate_nan` say which value wins, as argmax and argmin do; ties go to the smallest
    index.
    """

    src: Value = operand()
    index: Value | None = optional_operand()
    axis: int = attribute()
    keep: int = attribute()
    largest: bool = attribute()
    propagate_nan: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        require_axes("arg_reduce_bits", src.shape, (self.axis,), (self.keep,))
        if self.index is not None:
            ok = self.index.type.erased() == TileType(int32, src.shape)
            require(ok, f"arg_reduce_bits: indices of type {self.index.type} for {src}")
        shape = kept_shape(src.shape, (self.axis,), (self.keep,))
        return (TileType(src.dtype, shape), TileType(int32, shape))
