"""Reductions along axes. The order of combination is unspecified."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.types import TileType, Type


class Reduction(Op):
    """Combine a tile along `axes` (distinct, ascending); those axes disappear. The dtype is kept."""

    src: Value = operand()
    axes: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        ok = list(self.axes) == sorted(set(self.axes)) and all(0 <= a < src.rank for a in self.axes)
        require(ok, f"{self.opcode}: axes {self.axes} do not fit {src}")
        return (TileType(src.dtype, tuple(n for k, n in enumerate(src.shape) if k not in self.axes)),)


class ReduceSum(Reduction, opcode="reduce_sum"):
    """Sum. Integers wrap; float16 and bfloat16 may accumulate in float32 and round once."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class ReduceProd(Reduction, opcode="reduce_prod"):
    """Product. Integers wrap."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class ReduceMax(Reduction, opcode="reduce_max"):
    """Maximum; NaNs are skipped unless `propagate_nan` (all NaN gives NaN)."""

    propagate_nan: bool = attribute(default=False)
    ftz: bool = attribute(default=False)


class ReduceMin(Reduction, opcode="reduce_min"):
    """Minimum; NaNs are skipped unless `propagate_nan` (all NaN gives NaN)."""

    propagate_nan: bool = attribute(default=False)
    ftz: bool = attribute(default=False)


class ArgReduction(Op):
    """Index (i32) of an extreme along one axis, which disappears. Ties: the smallest index. A NaN is the worst value,
    or with `propagate_nan` the best; only NaNs give 0 without it, the first NaN with it (also index 0)."""

    src: Value = operand()
    axis: int = attribute()
    propagate_nan: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        require(0 <= self.axis < src.rank, f"{self.opcode}: axis {self.axis} is out of range for {src}")
        return (TileType(int32, src.shape[: self.axis] + src.shape[self.axis + 1 :]),)


class ArgMax(ArgReduction, opcode="argmax"):
    """Index of the maximum."""


class ArgMin(ArgReduction, opcode="argmin"):
    """Index of the minimum."""
