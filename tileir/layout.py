"""Linear layouts over F2: maps from bits of (register, lane, warp) or of an offset to bits of a tile index.

The idea is that of "Linear Layouts" (arXiv 2505.23819). A layout has named input dimensions, each a list of basis
vectors. Input bit i of dimension `d` that is set contributes basis `bases[d][i]`, a tuple with one integer per tile
axis; contributions are combined by XOR. Tile dimensions are powers of two, so every index is a set of bits.

The questions asked of layouts live in `tileir/layouts/`, and what instructions and memory ask of them (fragments, bank
conflicts) in `backend_ptx/layouts/`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Basis = tuple[int, ...]


class Layout:
    """An immutable, hashable linear map. `dims` are ordered (name, bases) pairs; `shape` is the tile's shape.

    A zero basis is a broadcast: inputs that differ in that bit hold the same element.
    """

    __slots__ = ("dims", "shape", "_hash")
    dims: tuple[tuple[str, tuple[Basis, ...]], ...]
    shape: tuple[int, ...]

    def __init__(self, dims: Mapping[str, Sequence[Sequence[int]]] | Sequence[tuple[str, Sequence[Sequence[int]]]],
                 shape: Sequence[int]) -> None:
        pairs = dims.items() if isinstance(dims, Mapping) else dims
        self.dims = tuple((name, tuple(tuple(b) for b in bases)) for name, bases in pairs)
        self.shape = tuple(shape)
        self._hash = hash((self.dims, self.shape))

    def bases(self, name: str) -> tuple[Basis, ...]:
        """The basis vectors of one input dimension, least significant bit first; () if there is none."""
        for dim, bases in self.dims:
            if dim == name:
                return bases
        return ()

    def size(self, name: str) -> int:
        """How many values the input dimension takes."""
        return 1 << len(self.bases(name))

    def apply(self, **inputs: int) -> tuple[int, ...]:
        """The tile index at the given inputs (missing dimensions count as 0)."""
        index = [0] * len(self.shape)
        for dim, bases in self.dims:
            value = inputs.get(dim, 0)
            for bit, basis in enumerate(bases):
                if value >> bit & 1:
                    for axis, part in enumerate(basis):
                        index[axis] ^= part
        return tuple(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.dims == other.dims and self.shape == other.shape

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Layout({self})"

    def __str__(self) -> str:
        def vector(basis: Basis) -> str:
            return "(" + ", ".join(map(str, basis)) + ("," if len(basis) == 1 else "") + ")"

        parts = [f"{dim}=[{', '.join(map(vector, bases))}]" for dim, bases in self.dims]
        return f"linear<{'x'.join(map(str, self.shape))}, {', '.join(parts)}>"
