"""Questions about the grid and about arrays, and views of arrays."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import int32
from tilewright.tileir.types import ArrayType, ListType, TileType, Type


class BlockId(Op, opcode="block_id", speculatable=True):
    """This block's coordinate along a grid axis (0, 1 or 2), i32."""

    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(self.axis in (0, 1, 2), f"block_id: axis {self.axis} is not 0, 1 or 2")
        return (TileType(int32),)


class NumBlocks(Op, opcode="num_blocks", speculatable=True):
    """The grid's size along an axis, i32."""

    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(self.axis in (0, 1, 2), f"num_blocks: axis {self.axis} is not 0, 1 or 2")
        return (TileType(int32),)


class LaunchedBlock(Op, opcode="launched_block", speculatable=True):
    """The number of this block among those that are launched, i32. In a kernel that loops over the blocks of its grid
    (`walk_grid`) these may be fewer; the interpreter launches each block of a grid."""

    def infer(self) -> tuple[Type, ...]:
        return (TileType(int32),)


class LaunchedBlocks(Op, opcode="launched_blocks", speculatable=True):
    """How many blocks are launched, i32."""

    def infer(self) -> tuple[Type, ...]:
        return (TileType(int32),)


def array_of(opcode: str, value: Value) -> ArrayType:
    """The type of an array operand."""
    type_ = value.type
    if not isinstance(type_, ArrayType):  # the text of types costs more than the rest of the check
        raise TileTypeError(f"{opcode}: expected an array, got {type_}")
    return type_


def check_index(opcode: str, *values: Value) -> None:
    """Indices and bounds are integer scalars."""
    for value in values:
        is_index = isinstance(value.type, TileType) and not value.type.shape and value.type.dtype.is_int
        if not is_index:
            raise TileTypeError(f"{opcode}: index of type {value.type}")


def check_tile(opcode: str, value: Value) -> None:
    """Neither an array nor a buffer in shared memory, which have a shape and a dtype too."""
    require(isinstance(value.type, TileType), f"{opcode}: expected a tile, got {value.type}")


class Extent(Op, opcode="extent", speculatable=True):
    """Length of an array along an axis, in the array's index dtype."""

    array: Value = operand()
    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        array = array_of("extent", self.array)
        require(0 <= self.axis < array.rank, f"extent: axis {self.axis} is out of range for {array}")
        return (TileType(array.index),)


class Stride(Op, opcode="stride", speculatable=True):
    """Stride of an array along an axis, in elements, in the array's index dtype."""

    array: Value = operand()
    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        array = array_of("stride", self.array)
        require(0 <= self.axis < array.rank, f"stride: axis {self.axis} is out of range for {array}")
        return (TileType(array.index),)


class AssumeDivisible(
    Op, opcode="assume_divisible", elementwise=True, cheap=True, same_elements=True, speculatable=True
):
    """src, promised to be a multiple of `divisor`."""

    src: Value = operand()
    divisor: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        type_ = self.src.type
        require(isinstance(type_, TileType) and type_.dtype.is_int, f"assume_divisible: expected integers, got {type_}")
        require(self.divisor >= 1, f"assume_divisible: the divisor is {self.divisor}")
        return (type_.erased(),)


class SliceArray(Op, opcode="slice_array"):
    """The view start:stop of an array along an axis (0 <= start <= stop <= extent, promised by the caller).

    `type` is the view's type with what is known of it. The view aliases its source.
    """

    array: Value = operand()
    start: Value = operand()
    stop: Value = operand()
    axis: int = attribute()
    type: ArrayType = attribute()

    def infer(self) -> tuple[Type, ...]:
        array = array_of("slice_array", self.array)
        ok = (array.dtype, array.rank, array.index) == (self.type.dtype, self.type.rank, self.type.index)
        require(ok, f"slice_array: a view of {array} cannot be {self.type}")
        require(0 <= self.axis < array.rank, f"slice_array: axis {self.axis} is out of range for {array}")
        check_index("slice_array", self.start, self.stop)
        return (self.type,)


class RawView(Op, opcode="raw_view"):
    """The memory of an array from its first element on, as an array of one axis and stride 1 whose end is not known.

    `type` is that array's type. The view aliases its source.
    """

    array: Value = operand()
    type: ArrayType = attribute()

    def infer(self) -> tuple[Type, ...]:
        array = array_of("raw_view", self.array)
        ok = self.type.dtype is array.dtype and self.type.strides == (1,) and self.type.extents == (None,)
        require(ok, f"raw_view: the memory of {array} cannot be {self.type}")
        return (self.type,)


class ListLength(Op, opcode="list_length"):
    """Number of arrays in a list, i32."""

    list: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        require(isinstance(self.list.type, ListType), f"list_length: expected a list, got {self.list.type}")
        return (TileType(int32),)


class ListItem(Op, opcode="list_item"):
    """The array at a position of a list. All items of one list may alias each other."""

    list: Value = operand()
    index: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        require(isinstance(self.list.type, ListType), f"list_item: expected a list, got {self.list.type}")
        check_index("list_item", self.index)
        return (self.list.type.element,)
