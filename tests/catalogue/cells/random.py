"""Cells of random numbers, against Philox4x32-10 in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.kinds import F32, F64, I32, KINDS, Kind
from catalogue.cells.model import Array, Batch
from catalogue.cells.tilewise import Piece, Shape, tilewise

import tilewright as ct

SEED = 0x123456789ABCDEF0
U32 = KINDS["uint32"]
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(seed: int, sequence: Any, counter: Any) -> Array:
    """The four words, along a new first axis."""
    seq, at = (np.asarray(v).astype(np.uint64) for v in np.broadcast_arrays(sequence, counter))
    state = [at & LOW, at >> HALF, seq & LOW, seq >> HALF]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(10):
        first, second = state[0] * np.uint64(0xD2511F53), state[2] * np.uint64(0xCD9E8D57)
        state = [second >> HALF ^ state[1] ^ key[0], second & LOW, first >> HALF ^ state[3] ^ key[1], first & LOW]
        key = [key[0] + np.uint64(0x9E3779B9) & LOW, key[1] + np.uint64(0xBB67AE85) & LOW]
    return np.stack(state).astype(np.uint32)


def words(sequence: Any, offset: Any) -> Array:
    """Word `offset` of each sequence."""
    sequence, offset = np.broadcast_arrays(sequence, offset)
    four = philox(SEED, sequence, offset.astype(np.uint64) >> np.uint64(2))
    return np.asarray(np.take_along_axis(four, (offset.astype(np.int64) & 3)[None], 0)[0])


def unit(word: Array) -> Array:
    return (word >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def normal(sequence: Any, offset: Any) -> Array:
    sequence, offset = np.broadcast_arrays(sequence, np.asarray(offset).astype(np.int64))
    first, second = words(sequence, offset & ~1).astype(np.float64), unit(words(sequence, offset | 1))
    radius = np.sqrt(-2 * np.log((first + 1) * 2.0**-32))
    angle = 2 * np.pi * second.astype(np.float64)
    return np.asarray(radius * np.where(offset & 1, np.sin(angle), np.cos(angle))).astype(np.float32)


def double(sequence: Any, offset: Any) -> Array:
    """53 bits of words 2 * offset and 2 * offset + 1."""
    sequence, offset = np.broadcast_arrays(sequence, np.asarray(offset).astype(np.int64))
    four = philox(SEED, sequence, offset.astype(np.uint64) >> np.uint64(1))
    low, high = (np.where(offset & 1, four[k + 2], four[k]).astype(np.uint64) for k in (0, 1))
    return np.asarray((high << HALF | low) >> np.uint64(11)).astype(np.float64)


def normal_double(sequence: Any, offset: Any) -> Array:
    """In the extended precision of the host, rounded once."""
    offset = np.asarray(offset).astype(np.int64)
    first, second = (np.asarray(double(sequence, offset & ~1 | k)).astype(np.longdouble) for k in (0, 1))
    radius = np.sqrt(-2 * np.log((first + 1) * np.longdouble(2.0**-53)))
    angle = 8 * np.arctan(np.longdouble(1)) * second * np.longdouble(2.0**-53)
    return np.asarray(radius * np.where(offset & 1, np.sin(angle), np.cos(angle))).astype(np.float64)


def nearer(want: Array) -> Any:
    return 1e-14


def between(word: Array, low: int, high: int) -> Array:
    return ((word.astype(np.uint64) * np.uint64(high - low) >> HALF).astype(np.int64) + low).astype(np.int32)


def near(want: Array) -> Any:
    return 4e-6


def pieces(shape: Shape) -> Iterator[Piece]:
    yield Piece(("random.philox",), (shape,), lambda s: ct.random.philox(SEED, s, 5)[3],
                lambda s: philox(SEED, s, 5)[3], result=U32)
    yield Piece(("random.bits",), (shape,), lambda s: ct.random.bits(SEED, s, 6), lambda s: words(s, 6), result=U32)
    yield Piece(("random.bits",), (shape,), lambda s: ct.random.bits(SEED, 3, s), lambda s: words(3, s),
                "place in a sequence", result=U32)
    yield Piece(("random.randint", "random.randint(low)"), (shape,),
                lambda s: ct.random.randint(SEED, s, 1, low=-5, high=100), lambda s: between(words(s, 1), -5, 100),
                result=I32)
    yield Piece(("random.uniform",), (shape,), lambda s: ct.random.uniform(SEED, s), lambda s: unit(words(s, 0)),
                result=F32)
    yield Piece(("random.normal",), (shape,), lambda s: ct.random.normal(SEED, s, 3), lambda s: normal(s, 3),
                bound=near, result=F32)
    yield Piece(("random.normal",), (shape,), lambda s: ct.random.normal(SEED, 1, s), lambda s: normal(1, s),
                "place in a sequence", bound=near, result=F32)

    yield Piece(("random.uniform", "random.uniform(dtype)"), (shape,),
                lambda s: ct.random.uniform(SEED, s, 5, dtype=ct.float64), lambda s: double(s, 5) * 2.0**-53,
                result=F64)
    yield Piece(("random.uniform", "random.uniform(dtype)"), (shape,),
                lambda s: ct.random.uniform(SEED, 3, s, -1.0, 1.0, dtype=ct.float64),
                lambda s: double(3, s) * 2.0**-53 * 2 - 1, "place in a sequence", result=F64)
    yield Piece(("random.normal", "random.normal(dtype)"), (shape,),
                lambda s: ct.random.normal(SEED, s, 3, dtype=ct.float64), lambda s: normal_double(s, 3),
                bound=nearer, result=F64)
    yield Piece(("random.normal", "random.normal(dtype)"), (shape,),
                lambda s: ct.random.normal(SEED, 1, s, dtype=ct.float64), lambda s: normal_double(1, s),
                "place in a sequence", bound=nearer, result=F64)


def batches() -> Iterator[Batch]:
    kinds: tuple[tuple[Kind, Shape], ...] = ((I32, (4, 8)), (KINDS["int64"], (64,)), (U32, ()))
    for kind, shape in kinds:
        yield tilewise(f"random-{kind}", (kind,), kind, list(pieces(shape)))
