"""What a thread holds of a Tile IR value: LLVM element types, vectors, and array handles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tilewright.backend_ptx.abi import LLVM_SCALAR
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.tileir.dtypes import DType
from tilewright.tileir.layouts.queries import registers
from tilewright.tileir.types import ArrayType, TileType


def elem_of(dtype: DType) -> str:
    """The LLVM type of one element in a register. Masks are i1; fp8 and fp4 are their bits."""
    return "i1" if dtype.is_bool else LLVM_SCALAR[dtype.ir]


def lanes_of(type: TileType) -> int:
    """Length of the thread's vector; 0 for a scalar, which every thread holds."""
    if not type.shape:
        return 0
    assert type.layout is not None, f"{type} has no layout"
    return registers(type.layout)


@dataclass(frozen=True, slots=True)
class ArrayRef:
    """An array in global memory: address of element 0, extents and strides in elements (of the array's index type).

    `read_only`: nothing writes it while the kernel runs.
    """

    type: ArrayType
    pointer: Val
    extents: tuple[Val, ...]
    strides: tuple[Val, ...]
    read_only: bool


class ListRef(NamedTuple):
    """A list of arrays: the address of its records and its length."""

    table: Val
    length: Val


class AccumulatorRef(NamedTuple):
    """A tile in the accumulators' space of a matrix unit: its address there."""

    address: Val


Fragment = Val | ArrayRef | ListRef | AccumulatorRef


def flatten(fragment: Fragment) -> list[Val]:
    """The values of a fragment that may differ at run time, for phis."""
    if isinstance(fragment, Val):
        return [fragment]
    if isinstance(fragment, ArrayRef):
        return [fragment.pointer, *fragment.extents, *fragment.strides]
    return list(fragment)


def rebuild(pattern: Fragment, values: Sequence[Val], type: Any) -> Fragment:
    """The fragment of `type`, of the form of `pattern`, made of the values that `flatten` gave.

    Arrays may come from different places then, of which one may be written.
    """
    if isinstance(pattern, Val):
        return values[0]
    if not isinstance(pattern, ArrayRef):
        return pattern.__class__(*values)
    rank = len(pattern.extents)
    return replace(pattern, type=type, pointer=values[0], extents=tuple(values[1 : 1 + rank]),
                   strides=tuple(values[1 + rank :]), read_only=False)
