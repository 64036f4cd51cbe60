"""Changes of shape, and tiles made from nothing but their indices."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, operands, require
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arrays import check_index, check_tile
from tilewright.tileir.types import SharedType, TileType, Type


class Iota(Op, opcode="iota", rematerializable=True, speculatable=True):
    """The 1-D tile 0, 1, ..., size-1 in an integer dtype (wrapping)."""

    size: int = attribute()
    dtype: DType = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(self.dtype.is_int, f"iota: expected an integer dtype, not {self.dtype}")
        return (TileType(self.dtype, (self.size,)),)


class Broadcast(Op, opcode="broadcast", cheap=True, view=True, speculatable=True):
    """Repeat a tile: rank 0 to any shape, else axes of length 1 to the wanted length (rank stays)."""

    src: Value = operand()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        check_tile("broadcast", self.src)
        old = self.src.type.shape
        ok = not old or (len(old) == len(self.shape) and all(o in (1, n) for o, n in zip(old, self.shape, strict=True)))
        require(ok, f"broadcast: shape {old} cannot be broadcast to {self.shape}")
        return (TileType(self.src.type.dtype, self.shape),)


class Reshape(Op, opcode="reshape", cheap=True, view=True, rearranges=True, speculatable=True):
    """The same elements in row-major order under another shape."""

    src: Value = operand()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        check_tile("reshape", self.src)
        new = TileType(self.src.type.dtype, self.shape)
        require(new.size == self.src.type.size, f"reshape: {self.src.type} does not have {new.size} elements")
        return (new,)


class Permute(Op, opcode="permute", cheap=True, rearranges=True, speculatable=True):
    """Reorder axes: axis k of the result is axis `axes[k]` of src."""

    src: Value = operand()
    axes: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        check_tile("permute", self.src)
        shape = self.src.type.shape
        ok = sorted(self.axes) == list(range(len(shape)))
        require(ok, f"permute: {self.axes} is not an order of the axes of {self.src.type}")
        return (TileType(self.src.type.dtype, tuple(shape[a] for a in self.axes)),)


class Cat(Op, opcode="cat"):
    """Two tiles of one type joined along an axis."""

    lhs: Value = operand()
    rhs: Value = operand()
    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        left, right = self.lhs.type.erased(), self.rhs.type.erased()
        require(left == right, f"cat: tiles differ: {left} and {right}")
        require(0 <= self.axis < left.rank, f"cat: axis {self.axis} is out of range for {left}")
        shape = tuple(2 * n if k == self.axis else n for k, n in enumerate(left.shape))
        return (TileType(left.dtype, shape),)


class Extract(Op, opcode="extract"):
    """The sub-tile of `shape` at tile coordinates `index` (integer scalars); each length divides the source's."""

    src: Value = operand()
    index: tuple[Value, ...] = operands()
    shape: tuple[int, ...] = attribute()

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        check_index("extract", *self.index)
        require(len(self.index) == src.rank == len(self.shape), f"extract: {src} needs {src.rank} indices and lengths")
        ok = all(m >= 1 and n % m == 0 for n, m in zip(src.shape, self.shape, strict=True))
        require(ok, f"extract: {self.shape} does not divide {src.shape}")
        return (TileType(src.dtype, self.shape),)


def taken(opcode: str, src: TileType | SharedType, index: TileType, axis: int) -> TileType:
    """The type of what `take` gives."""
    require(isinstance(index, TileType) and index.dtype.is_int, f"{opcode}: positions of type {index}")
    rank = len(src.shape)
    require(0 <= axis < rank, f"{opcode}: axis {axis} is out of range for {src}")
    ok = len(index.shape) == rank and all(
        n == m or k == axis for k, (n, m) in enumerate(zip(src.shape, index.shape, strict=True)))
    require(ok, f"{opcode}: {index} does not fit {src} along axis {axis}")
    return TileType(src.dtype, index.shape)


class Take(Op, opcode="take", speculatable=True):
    """At each place the element of src whose position along `axis` is `index`, modulo the length of the axis, and whose
    other positions are those of the place."""

    src: Value = operand()
    index: Value = operand()
    axis: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        require(isinstance(self.src.type, TileType), f"take: {self.src.type} is no tile")
        return (taken("take", self.src.type, self.index.type, self.axis),)
