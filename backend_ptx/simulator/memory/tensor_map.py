"""Tensor maps: what the 128 bytes of one say, and which bytes of global and shared memory a box of one covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tilewright.backend_ptx.map_records import FAR, MOST, WRAP
from tilewright.backend_ptx.simulator.errors import SimError, Unfenced, Unsupported
from tilewright.backend_ptx.simulator.memory.memory import GLOBAL, Memory
from tilewright.backend_ptx.simulator.memory.segment import READ_GRAIN

Array = np.ndarray[Any, Any]
MAX_BOX = 256
_SWIZZLES = (0, 32, 64, 128)
# A swizzle combines address bits 4.. with as many bits from 7 on.
_SWIZZLE_BITS = {0: 0, 32: 1, 64: 3, 128: 7}


def swizzled(addresses: Array, swizzle: int) -> Array:
    """Where bytes at these linear addresses of shared memory really are, for rows of `swizzle` bytes."""
    return np.asarray(addresses ^ (addresses >> 7 & _SWIZZLE_BITS[swizzle]) << 4)


@dataclass(frozen=True)
class TensorMapArgument:
    """An argument that is a tensor map of `array`, as cuTensorMapEncodeTiled makes one with zero fill.

    Dimension k, innermost first, is axis axes[k] of the array and box[k] elements long; rows of `swizzle` bytes (0:
    none) are swizzled. `rounds`: float32 elements become tfloat32. `clips`: the axes along which it clips slices, each
    with two more dimensions (`tensor_maps.TensorMapSpec`). Raises ValueError where the driver would refuse it.
    """

    array: Array
    axes: Sequence[int]
    box: Sequence[int]
    swizzle: int = 0
    rounds: bool = False
    clips: Sequence[int] = ()

    def __post_init__(self) -> None:
        size = self.array.itemsize
        inner = self.box[0] * size
        # The launcher replaces the stride of an axis of one element, along which nobody moves.
        strides = [self.array.strides[a] if self.array.shape[a] != 1 else 16 for a in self.axes]
        refusals = [
            (sorted(self.axes) != list(range(self.array.ndim)), "axes are not those of the array"),
            (len(self.box) != len(self.axes) or not 1 <= self.rank <= 5, "1 to 5 axes, a box length for each"),
            (self.axes[0] in self.clips, "the innermost axis is clipped"),
            (self.swizzle not in _SWIZZLES, f"swizzle {self.swizzle}"),
            (self.array.__array_interface__["data"][0] % 16 != 0, "base is not a multiple of 16"),
            (self.array.shape[self.axes[0]] > 1 and strides[0] != size, "innermost elements are not adjacent"),
            (any(s % 16 or s < 0 for s in strides[1:]), f"strides {strides[1:]} are not multiples of 16"),
            (any(not 1 <= n <= MAX_BOX for n in self.box), f"box {tuple(self.box)}"),
            (inner % 16 != 0, f"rows of {inner} bytes are not multiples of 16"),
            (self.swizzle > 0 and inner > self.swizzle, f"rows of {inner} bytes exceed the swizzle"),
        ]
        for refused, reason in refusals:
            if refused:
                raise ValueError(f"no tensor map of {self.array.shape}: {reason}")

    @property
    def rank(self) -> int:
        """Dimensions of the map."""
        return len(self.axes) + 2 * len(self.clips)

    @property
    def dims(self) -> list[tuple[int, int, int]]:
        """(extent, stride in bytes, box length) of each, innermost first."""
        shape, strides = self.array.shape, self.array.strides
        out = [(FAR if axis in self.clips else shape[axis], strides[axis], n)
               for axis, n in zip(self.axes, self.box, strict=True)]
        for axis in self.clips:
            out += (shape[axis] + 1, strides[axis], 1), (MOST, WRAP - strides[axis], 1)
        return out


@dataclass(frozen=True)
class TensorMapTable:
    """An argument that is the address of tensor maps in global memory, which the host has put there."""

    maps: Sequence[TensorMapArgument]


@dataclass(frozen=True)
class PlacedMap:
    """A tensor map of an array that has an address.

    `acquired`: of a map in global memory, the threads of the present block that have fenced it; None for a parameter.
    """

    name: str
    map: TensorMapArgument
    base: int
    acquired: set[int] | None = None

    @property
    def bytes(self) -> int:
        """Bytes of a box, inside the array or not."""
        return prod(self.map.box) * self.map.array.itemsize

    def _elements(self, start: Sequence[int]) -> tuple[Array, Array]:
        """Addresses of the box's elements, innermost fastest, and which of them lie inside the array."""
        address, inside = np.full(1, self.base, np.int64), np.ones(1, bool)
        begin = start[0] * self.map.array.itemsize
        if begin % READ_GRAIN and start[0] < MOST:  # "illegal instruction", says an H200
            raise SimError(f"a box of {self.name} begins at byte {begin} of a row, no multiple of {READ_GRAIN}")
        for (extent, stride, length), first in zip(self.map.dims, start, strict=True):
            index = np.int64(first) + np.arange(length, dtype=np.int64)
            ok = (index >= 0) & (index < extent)
            address = (index[:, None] * stride + address).reshape(-1)
            inside = (ok[:, None] & inside).reshape(-1)
        return address, inside

    def read(self, memory: Memory, start: Sequence[int], thread: int) -> Array:
        """The box's bytes; zero outside the array."""
        size = self.map.array.itemsize
        address, inside = self._elements(start)
        out = np.zeros((len(address), size), np.uint8)
        per = READ_GRAIN // size
        # Whole 16-byte chunks at once where the box lies so: it costs less than elements.
        whole = inside.reshape(-1, per).all(axis=1) & (address.reshape(-1, per)[:, 0] % READ_GRAIN == 0)
        pieces = np.nonzero(whole)[0]
        out.reshape(-1, READ_GRAIN)[pieces] = _load(memory, address.reshape(-1, per)[pieces, 0], READ_GRAIN, thread)
        rest = np.nonzero(inside & ~np.repeat(whole, per))[0]
        out[rest] = _load(memory, address[rest], size, thread)
        if self.map.rounds:
            bits = out.view(np.uint32)
            even = bits + np.uint32(0xFFF) + (bits >> np.uint32(13) & np.uint32(1))
            up = np.where(np.isnan(bits.view(np.float32)), bits, even)
            bits[...] = up & np.uint32(0xFFFFE000)
        return out.reshape(-1, READ_GRAIN)

    def write(self, memory: Memory, start: Sequence[int], data: Array, thread: int) -> None:
        """Store the box's bytes; what lies outside the array is dropped."""
        size = self.map.array.itemsize
        address, inside = self._elements(start)
        chosen = np.nonzero(inside)[0]
        if len(chosen):
            threads = np.full(len(chosen), thread)
            memory.store(
                GLOBAL, address[chosen].astype(np.uint64), data.reshape(-1, size)[chosen], size, threads
            )

    def shared_chunks(self, address: int) -> Array:
        """Addresses of the box's 16-byte chunks in shared memory."""
        inner = self.map.box[0] * self.map.array.itemsize
        if self.map.swizzle and inner != self.map.swizzle:
            raise Unsupported(f"a box with rows of {inner} bytes and a swizzle of {self.map.swizzle}")
        if address % 128:
            raise SimError(f"a bulk copy from or to shared address {address:#x}, no multiple of 128")
        linear = address + np.arange(self.bytes // READ_GRAIN, dtype=np.int64) * READ_GRAIN
        return swizzled(linear, self.map.swizzle).astype(np.uint64)


def _load(memory: Memory, addresses: Array, size: int, thread: int) -> Array:
    return memory.load(GLOBAL, addresses.astype(np.uint64), size, size, np.full(len(addresses), thread))


def placed_map(memory: Memory, address: int, thread: int) -> PlacedMap:
    """The tensor map at a generic address, whether or not the thread may use it."""
    found = memory.tensor_maps.get(address)
    if not isinstance(found, PlacedMap):
        raise SimError(f"there is no tensor map at {address:#x}", [thread])
    return found


def find_map(memory: Memory, address: int, rank: int, thread: int) -> PlacedMap:
    """The tensor map at a generic address, for an instruction of a thread with that many axes (0: any)."""
    found = placed_map(memory, address, thread)
    if found.acquired is not None and thread not in found.acquired:
        raise Unfenced(f"{found.name}: the host has written this tensor map, and no fence has acquired it", [thread])
    if rank and found.map.rank != rank:
        raise SimError(f"{found.name} has {found.map.rank} axes, the instruction {rank}", [thread])
    return found


def forget_fences(memory: Memory) -> None:
    """A new block: its threads have fenced no tensor map."""
    for found in memory.tensor_maps.values():
        if isinstance(found, PlacedMap) and found.acquired is not None:
            found.acquired.clear()
