"""Cells of bitcast and of bytes: every pair of dtypes of one width, packing and unpacking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.kinds import (
    ALL,
    BOOL,
    E2M1,
    TF32,
    UNSIGNED,
    Kind,
    sample,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, Place, operands, pointwise
from catalogue.cells.tilewise import Piece, tilewise

import tilewright as ct


def bitcast_batches() -> Iterator[Batch]:
    for source in ALL:
        for target in ALL:
            if source is BOOL or target is BOOL or source.bits != target.bits or source is target:
                continue
            dtype = target.dtype
            draw = tfloat_bits(source) if TF32 in (source, target) else operands((source,))
            # Kernels make tfloat32 by a conversion, and which NaN an operation makes is not specified.
            yield pointwise(f"bitcast-{source}-{target}", [Form(("bitcast",), lambda t, d=dtype: ct.bitcast(t, d))],
                            (source,), target, draw,
                            lambda x, t=target: same_bits(x, t), dtype=f"{source} to {target}",
                            ignore=np.isnan if source is TF32 else None)


def tfloat_bits(source: Kind) -> Any:
    """Bits of tfloat32 values: what the 32 bits hold below the ten that count is unspecified."""
    drawn = operands((TF32,))

    def fill(place: Place, rng: np.random.Generator) -> tuple[Array, ...]:
        (x,) = drawn(place, rng)
        return (x.view(source.host).reshape(x.shape),)

    return fill


def same_bits(x: Array, target: Kind) -> Array:
    return np.ascontiguousarray(x).view(target.host).reshape(x.shape)


# -- Bytes -------------------------------------------------------------------------------------------------------------


def byte_batches() -> Iterator[Batch]:
    uint8 = UNSIGNED[0]
    for kind in ALL:
        if kind is BOOL:
            continue
        dtype, per = kind.dtype, max(1, kind.bits // 8)
        count = 32 if kind is not E2M1 else 16
        pieces = [Piece(("pack_to_bytes",), (shape,), ct.pack_to_bytes, lambda x, k=kind: to_bytes(x, k), boundary)
                  for shape, boundary in (((2, 4, 4), "whole"), ((4, 8), "ragged"), ((32,), "whole"),
                                          ((2, 2, 2, 4), "whole"), ((), "one element"))
                  if shape or kind is not E2M1]
        yield tilewise(f"pack-{kind}", (kind,), uint8, pieces, kind.name, draw=numbers if kind is TF32 else sample)
        back = [Piece(("unpack_from_bytes",), ((n,),), lambda t, d=dtype: ct.unpack_from_bytes(t, d),
                      lambda x, k=kind: from_bytes(x, k), "whole", draw=codes_of(kind))
                for n in (8 * per, count * per)]
        yield tilewise(f"unpack-{kind}", (uint8,), kind, back, kind.name)


def to_bytes(x: Array, kind: Kind) -> Array:
    if kind is E2M1:
        codes = nibbles(x).reshape(-1, 2)
        return (codes[:, 0] | codes[:, 1] << 4).astype(np.uint8)
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


_E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def nibbles(x: Array) -> Array:
    return (np.searchsorted(_E2M1, np.abs(x)) | np.signbit(x).astype(np.int64) << 3).astype(np.uint8)


def from_bytes(x: Array, kind: Kind) -> Array:
    if kind is E2M1:
        codes = np.stack([x & 15, x >> 4], axis=1).reshape(-1)
        return np.where(codes & 8, -_E2M1[codes & 7], _E2M1[codes & 7]).astype(np.float32)
    return np.ascontiguousarray(x).view(kind.host)


def numbers(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Without NaNs, whose bits are not specified where an operation (the conversion to tfloat32) makes them."""
    x = sample(kind, shape, rng)
    return np.where(np.isnan(x), np.array(1, x.dtype), x)


def codes_of(kind: Kind) -> Callable[..., Array]:
    """Bytes below 120, so that nothing among them is a signalling NaN; of tfloat32 with nothing in the lowest bits."""

    def draw(_: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        if kind is TF32:
            return sample(TF32, (shape[0] // 4,), rng).view(np.uint8)
        return rng.integers(0, 120, shape).astype(np.uint8)

    return draw


def batches() -> Iterator[Batch]:
    yield from bitcast_batches()
    yield from byte_batches()
