"""Cells of matrix products: every pair of dtypes, ranks, batches, accumulators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.case import Bound
from catalogue.cells.kinds import (
    BF16,
    BOOL,
    E2M1,
    E4M3,
    E5M2,
    E5M3,
    E8M0,
    F16,
    F32,
    F64,
    FLOATS,
    I32,
    INTS,
    KINDS,
    LIMITS,
    TF32,
    Kind,
)
from catalogue.cells.mixed import promoted
from catalogue.cells.model import Array, Batch
from catalogue.cells.tilewise import Piece, Shape, tilewise
from catalogue.cells.unary import to_kind

import tilewright as ct

I8, U8 = KINDS["int8"], KINDS["uint8"]
# (x, y, accumulator): all that `mma` takes.
PAIRS: tuple[tuple[Kind, Kind, Kind], ...] = (
    (F16, F16, F16), (F16, F16, F32), (BF16, BF16, F32), (F32, F32, F32), (TF32, TF32, F32), (F64, F64, F64),
    (E4M3, E4M3, F16), (E4M3, E4M3, F32), (E5M2, E5M2, F16), (E5M2, E5M2, F32), (I8, I8, I32), (U8, U8, I32),
    (I8, U8, I32), (U8, I8, I32),
)
# (x, y, accumulator) shapes: ranks 2 to 4, batches that broadcast, one element, a whole instruction and more.
SHAPES: tuple[tuple[str, tuple[Shape, Shape, Shape]], ...] = (
    ("whole", ((16, 16), (16, 8), (16, 8))), ("whole", ((64, 32), (32, 32), (64, 32))),
    ("one element", ((1, 1), (1, 1), (1, 1))), ("narrow", ((2, 4), (4, 2), (2, 2))),
    ("narrow", ((1, 32), (32, 16), (1, 16))), ("narrow", ((32, 1), (1, 16), (32, 16))),
    ("batch", ((2, 16, 16), (2, 16, 8), (2, 16, 8))), ("batch, broadcast", ((2, 4, 16), (16, 4), (2, 4, 4))),
    ("batch, broadcast", ((2, 1, 4, 8), (4, 8, 4), (2, 4, 4, 4))),
    ("batch", ((2, 2, 4, 8), (2, 2, 8, 4), (2, 2, 4, 4))),
)


def small(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Sums of products of these are exact in every accumulator."""
    low = -3 if kind.is_float or kind.dtype.is_signed else 0
    numbers = rng.integers(low, 4, shape).astype(np.float64)
    return kind.hold(numbers) if kind.is_float else numbers.astype(kind.host)


def exact(x: Array, y: Array, kinds: tuple[Kind, Kind]) -> Array:
    """The product in float64 or, of integers, in int64."""
    a, b = (k.values(v) if k.is_float else v.astype(np.int64) for k, v in zip(kinds, (x, y), strict=True))
    return np.asarray(a @ b)


def mma_batches() -> Iterator[Batch]:
    for x, y, acc in PAIRS:
        def reference(a: Array, b: Array, c: Array, x: Kind = x, y: Kind = y, acc: Kind = acc) -> Array:
            return (exact(a, b, (x, y)) + c.astype(np.float64 if acc.is_float else np.int64)).astype(acc.host)

        names = ("mma",)
        pieces = [Piece(names, shapes, ct.mma, reference, boundary, ragged=k == 1, draw=small)
                  for k, (boundary, shapes) in enumerate(SHAPES)]
        if x in (E4M3, E5M2):
            pieces.append(Piece(("mma(use_fast_acc)",), SHAPES[1][1], fast, reference, "whole", draw=small))
        if x in (E4M3, E5M2) and acc is F32:
            pieces += [Piece((name,), SHAPES[1][1], function, reference, "rounding", coarse(32), draw=unit)
                       for name, function in (("mma", ct.mma), ("mma(use_fast_acc)", fast))]
        elif acc.is_float:
            pieces.append(Piece(names, SHAPES[1][1], ct.mma, reference, "rounding", rounding(acc, 32), draw=ordinary))
            pieces.append(Piece(names, SHAPES[0][1], ct.mma, reference, "boundary values", draw=with_specials))
        yield tilewise(f"mma-{x}-{y}-{acc}", (x, y, acc), acc, pieces, f"{x} with {y} to {acc}")


def fast(a: Any, b: Any, c: Any) -> Any:
    return ct.mma(a, b, acc=c, use_fast_acc=True)


def ordinary(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    return kind.hold(to_kind(rng.standard_normal(shape), kind))


def unit(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    return kind.hold(to_kind(rng.uniform(-1, 1, shape), kind))


def with_specials(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Zeros and small numbers with an infinity and a NaN among them, as far as there are such."""
    out = kind.values(small(kind, shape, rng))
    flat = out.reshape(-1)
    if LIMITS[kind.name].has_nan:
        flat[rng.integers(0, flat.size)] = np.nan
    if LIMITS[kind.name].has_inf:
        flat[rng.integers(0, flat.size)] = np.inf
    flat[rng.integers(0, flat.size)] = -0.0
    return kind.hold(out)


def rounding(acc: Kind, depth: int) -> Bound:
    """docs/architecture.md: depth * eps of the accumulator * sum |a||b|, whose terms are below 16 here."""
    eps = 2.0 ** -LIMITS[acc.name].mantissa
    return lambda want: depth * eps * 3 * depth**0.5


def coarse(depth: int) -> Bound:
    """8-bit floats in float32: 2**-12 * (sum |a||b| + |acc|), as tensor cores of sm_90a add them (arXiv 2412.19437,
    3.3.2); of operands up to 1."""
    return lambda want: 2.0**-12 * (depth + 1)


# -- matmul ------------------------------------------------------------------------------------------------------------

MATMUL: tuple[tuple[str, tuple[Shape, Shape]], ...] = (
    ("vectors", ((16,), (16,))), ("vector and matrix", ((16,), (16, 8))), ("matrix and vector", ((8, 16), (16,))),
    ("whole", ((16, 16), (16, 8))), ("whole", ((4, 8), (8, 4))), ("batch", ((2, 4, 8), (2, 8, 4))),
    ("batch, broadcast", ((2, 4, 8), (8, 4))), ("batch, broadcast", ((1, 2, 4, 8), (2, 1, 8, 4))),
    ("vector and batch", ((8,), (2, 8, 4))),
)
PROMOTED = (BOOL, *INTS, *FLOATS)
OPERANDS = (F16, BF16, F32, F64, TF32, E4M3, E5M2, I8, U8)


def matmul_result(x: Kind, y: Kind) -> Kind | None:
    """The common dtype, if there are products of it."""
    common = x if x is y else promoted(x, y) if x in PROMOTED and y in PROMOTED else None
    return common if common in OPERANDS else None


def matmul_batches() -> Iterator[Batch]:
    for x in (*PROMOTED, TF32, E4M3, E5M2):
        for y in (*PROMOTED, TF32, E4M3, E5M2):
            result = matmul_result(x, y)
            if result is None:
                continue

            def reference(a: Array, b: Array, x: Kind = x, y: Kind = y, result: Kind = result) -> Array:
                product = exact(a, b, (x, y))
                return product.astype(result.host) if not result.is_float else result.hold(_round(product, result))

            shapes_here = MATMUL if x is y else MATMUL[3:6]
            pieces = [Piece((name,), shapes, function, reference, boundary,
                            draw=tiny if result in (E4M3, E5M2) else small, rank=max(map(len, shapes)))
                      for boundary, shapes in shapes_here
                      for name, function in (("matmul", ct.matmul), ("operator @", _at))]
            yield tilewise(f"matmul-{x}-{y}", (x, y), result, pieces, x.name if x is y else f"{x} with {y}")


def _at(x: Any, y: Any) -> Any:
    return x @ y


def _round(numbers: Array, kind: Kind) -> Array:
    return to_kind(np.asarray(numbers), kind)


def tiny(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    return kind.hold(rng.integers(-1, 2, shape).astype(np.float64))


# -- mma_scaled --------------------------------------------------------------------------------------------------------

SCALED: tuple[tuple[Kind, Kind, int], ...] = ((E4M3, E8M0, 32), (E5M2, E8M0, 32), (E2M1, E8M0, 16), (E2M1, E8M0, 32),
                                              (E2M1, E4M3, 16), (E2M1, E5M3, 16), (E2M1, E5M3, 32))


def scaled_batches() -> Iterator[Batch]:
    for kind, scale, block in SCALED:
        def reference(a: Array, sa: Array, b: Array, sb: Array, c: Array, kind: Kind = kind, scale: Kind = scale,
                      block: int = block) -> Array:
            left = kind.values(a) * np.repeat(scale.values(sa), block, axis=-1)
            right = kind.values(b) * np.repeat(scale.values(sb), block, axis=-2)
            return (left @ right + c).astype(np.float32)

        pieces = []
        for boundary, batch, m, n, k in (("whole", (), 16, 8, 64), ("one block", (), 4, 4, block),
                                         ("batch", (2,), 8, 8, 64)):
            shapes = ((*batch, m, k), (*batch, m, k // block), (*batch, k, n), (*batch, k // block, n), (*batch, m, n))
            pieces.append(Piece(("mma_scaled",), shapes, ct.mma_scaled, reference, boundary))
        yield tilewise(f"mma-scaled-{kind}-{scale}-{block}", (kind, scale, kind, scale, F32), F32, pieces,
                       f"{kind} scaled by {scale}, blocks of {block}", draw=scalable)


def scalable(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Small numbers and powers of two near 1: sums of products are exact in float32."""
    if kind in (E8M0, E5M3):
        return kind.hold(rng.choice([0.5, 1.0, 2.0], shape))
    numbers = rng.choice([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], shape)
    return kind.hold(numbers)


def batches() -> Iterator[Batch]:
    yield from mma_batches()
    yield from matmul_batches()
    yield from scaled_batches()
