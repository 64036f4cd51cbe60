"""Reductions along axes. The order of combination is unspecified."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.types import TileType, Type

if TYPE_CHECKING:
    from tilewright.tileir.builder import Builder

REDUCTIONS: dict[str, type[Reduction]] = {}
"""Every reduction by its kind: machine ops name the combination by that word (`reduce_bits`)."""


def reduction_of(kind: str) -> type[Reduction]:
    """The reduction of a kind; TileTypeError for an unknown one."""
    require(kind in REDUCTIONS, f"{kind!r} is no kind of reduction; there are {', '.join(map(repr, REDUCTIONS))}")
    return REDUCTIONS[kind]


class Reduction(Op, reduces=True):
    """Combine a tile along `axes` (distinct, ascending); those axes disappear. The dtype is kept.

    Class keywords: `kind`, the word for the combination, which every reduction declares; `idempotent`, whether an
    element combined with itself is that element; `merged_by`, the reduction that combines its partial results, where
    that is another one. `prepared` then says what it makes of each element first.
    """

    kind: ClassVar[str] = ""
    idempotent: ClassVar[bool] = False
    merged_by: ClassVar[type[Reduction] | None] = None

    src: Value = operand()
    axes: tuple[int, ...] = attribute()

    def __init_subclass__(
        cls, *, kind: str = "", idempotent: bool = False, merged_by: type[Reduction] | None = None, **more: Any,
    ) -> None:
        if not kind:
            raise TypeError(f'{cls.__name__}: a reduction declares its kind, as in kind="sum"')
        if kind in REDUCTIONS:
            raise TypeError(f"{cls.__name__}: {REDUCTIONS[kind].__name__} has the kind {kind!r} already")
        if (merged_by is not None) != (cls.prepared is not Reduction.prepared):
            raise TypeError(f"{cls.__name__}: a reduction declares both merged_by, which combines partial results, and "
                            "prepared(), which says what an element is before that; or neither")
        super().__init_subclass__(**more)
        cls.kind, cls.idempotent, cls.merged_by = kind, idempotent, merged_by
        REDUCTIONS[kind] = cls

    @property
    def reduced_axes(self) -> tuple[int, ...]:
        return self.axes

    def prepared(self, b: Builder, src: Value) -> Value:
        """What `merged_by` combines: a tile of the same type, computed from the elements of `src`."""
        return src

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        ok = list(self.axes) == sorted(set(self.axes)) and all(0 <= a < src.rank for a in self.axes)
        require(ok, f"{self.opcode}: axes {self.axes} do not fit {src}")
        return (TileType(src.dtype, tuple(n for k, n in enumerate(src.shape) if k not in self.axes)),)


class ReduceSum(Reduction, opcode="reduce_sum", kind="sum"):
    """Sum. Integers wrap; float16 and bfloat16 may accumulate in float32 and round once."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class ReduceProd(Reduction, opcode="reduce_prod", kind="prod"):
    """Product. Integers wrap."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class ReduceMax(Reduction, opcode="reduce_max", kind="max", idempotent=True):
    """Maximum; NaNs are skipped unless `propagate_nan` (all NaN gives NaN)."""

    propagate_nan: bool = attribute(default=False)
    ftz: bool = attribute(default=False)


class ReduceMin(Reduction, opcode="reduce_min", kind="min", idempotent=True):
    """Minimum; NaNs are skipped unless `propagate_nan` (all NaN gives NaN)."""

    propagate_nan: bool = attribute(default=False)
    ftz: bool = attribute(default=False)


class ArgReduction(Op, reduces=True):
    """Index (i32) of an extreme along one axis, which disappears. Ties: the smallest index. A NaN is the worst value,
    or with `propagate_nan` the best; only NaNs give 0 without it, the first NaN with it (also index 0).

    Class keyword: `largest`, whether the largest value wins or the smallest.
    """

    largest: ClassVar[bool]

    src: Value = operand()
    axis: int = attribute()
    propagate_nan: bool = attribute(default=False)

    def __init_subclass__(cls, *, largest: bool, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.largest = largest

    @property
    def reduced_axes(self) -> tuple[int, ...]:
        return (self.axis,)

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        require(0 <= self.axis < src.rank, f"{self.opcode}: axis {self.axis} is out of range for {src}")
        return (TileType(int32, src.shape[: self.axis] + src.shape[self.axis + 1 :]),)


class ArgMax(ArgReduction, opcode="argmax", largest=True):
    """Index of the maximum."""


class ArgMin(ArgReduction, opcode="argmin", largest=False):
    """Index of the minimum."""


class Histogram(Op, opcode="histogram"):
    """How often each of 0 to bins - 1 is among the elements, which are i32: an i32 tile of the shape (bins)."""

    src: Value = operand()
    bins: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        ok = isinstance(self.src.type, TileType) and self.src.type.dtype is int32
        require(ok, f"histogram: {self.src.type} is no tile of i32")
        return (TileType(int32, (self.bins,)),)
