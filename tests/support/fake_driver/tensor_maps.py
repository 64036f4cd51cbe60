"""Tensor maps that can be read: what a driver would encode in their 128 bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class TensorMap:
    """What the fake driver writes into the 128 bytes of a tensor map: dimensions innermost first, strides in bytes."""

    pointer: int
    element_bytes: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int

    FORMAT = "<QBBB5Q4Q5H"

    def pack(self) -> bytes:
        def filled(values: tuple[int, ...], count: int) -> tuple[int, ...]:
            return (*values, *[0] * (count - len(values)))

        return struct.pack(
            self.FORMAT, self.pointer, self.element_bytes, self.swizzle, len(self.dims), *filled(self.dims, 5),
            *filled(self.strides, 4), *filled(self.box, 5)).ljust(128, b"\0")

    @staticmethod
    def unpack(data: bytes) -> TensorMap:
        pointer, size, swizzle, rank, *rest = struct.unpack(TensorMap.FORMAT, data[: struct.calcsize(TensorMap.FORMAT)])
        dims, strides, box = rest[:5], rest[5:9], rest[9:]
        return TensorMap(pointer, size, tuple(dims[:rank]), tuple(strides[: rank - 1]), tuple(box[:rank]), swizzle)

    def complaint(self) -> str | None:
        """What the driver would refuse."""
        checks = {
            "address": self.pointer and self.pointer % 16 == 0,
            "extents": all(0 < n <= 1 << 32 for n in self.dims),
            "strides": all(s % 16 == 0 and 0 < s < 1 << 40 for s in self.strides),
            "box": all(0 < n <= 256 for n in self.box) and self.box[0] * self.element_bytes % 16 == 0,
            "swizzle": self.swizzle == 0 or self.box[0] * self.element_bytes <= self.swizzle,
        }
        return next((what for what, ok in checks.items() if not ok), None)
