"""wgmma's matrix descriptors: which 16-byte chunks of shared memory hold an operand (PTX ISA, "Matrix descriptor").

Bits 0-13 start address / 16, 16-29 leading offset / 16, 32-45 stride offset / 16, 49-51 base offset, 62-63 swizzle.
A step is 32 bytes deep along k where rows run along k, 16 elements where they run along m or n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import SimError
from tilewright.backend_ptx.simulator.memory.tensor_map import swizzled

Array = np.ndarray[Any, Any]
_SWIZZLE = (0, 128, 64, 32)
_RESERVED = sum(1 << bit for bit in (14, 15, 30, 31, 46, 47, 48, *range(52, 62)))
_TRANSPOSED_K = 16  # elements of 2 bytes


@dataclass(frozen=True)
class Descriptor:
    """The fields, in bytes; a swizzle of 0 is none."""

    start: int
    leading: int
    stride: int
    swizzle: int

    def rows_along_k(self, first: int, count: int) -> Array:
        """Addresses [count, 2] of the 16-byte chunks of rows (of m or n) first.. of a step."""
        row = (first + np.arange(count))[:, None]
        chunk = np.arange(2)[None, :]
        if not self.swizzle:
            return np.asarray(self.start + row // 8 * self.stride + chunk * self.leading + row % 8 * 16)
        return swizzled(self.start + row // 8 * self.stride + row % 8 * self.swizzle + chunk * 16, self.swizzle)

    def rows_across_k(self, first: int, count: int) -> Array:
        """Addresses [16, count / 8] of the chunks of 8 two-byte elements along m or n, per element of k."""
        k = np.arange(_TRANSPOSED_K)[:, None]
        chunk = (first // 8 + np.arange(count // 8))[None, :]
        if not self.swizzle:
            return np.asarray(self.start + chunk * self.stride + k // 8 * self.leading + k % 8 * 16)
        per = self.swizzle // 16
        pattern = chunk // per * self.leading + k // 8 * self.stride
        return swizzled(self.start + pattern + k % 8 * self.swizzle + chunk % per * 16, self.swizzle)


def decode(bits: int) -> Descriptor:
    """The descriptor in a 64-bit register."""
    if bits & _RESERVED:
        raise SimError(f"a matrix descriptor with reserved bits set: {bits:#018x}")
    if bits >> 49 & 7:
        raise SimError(f"a matrix descriptor with a base offset, which only unaligned patterns need: {bits:#018x}")
    start, leading, stride = ((bits >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    return Descriptor(start, leading, stride, _SWIZZLE[bits >> 62])


def operand(bits: int, trans: bool, first: int, count: int) -> Array:
    """Addresses of the chunks that hold rows first.. (of m or n) of a step."""
    found = decode(bits)
    return found.rows_across_k(first, count) if trans else found.rows_along_k(first, count)


def to_rows(chunks: Array, trans: bool, count: int) -> Array:
    """The bytes [chunks, 16] read at `operand`'s addresses as 32-bit words along k, [count, words]."""
    if not trans:
        return np.ascontiguousarray(chunks).view(np.uint32).reshape(count, 8)
    elements = np.ascontiguousarray(chunks).view(np.uint16).reshape(_TRANSPOSED_K, count)
    return np.ascontiguousarray(elements.T).view(np.uint32)
