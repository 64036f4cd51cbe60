"""Cells of changes of shape and of factories, over every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.conversions import converted
from catalogue.cells.kinds import ALL, BOOL, E8M0, FLOATS, I32, INTS, Kind, sample
from catalogue.cells.model import Array, Batch
from catalogue.cells.rounding import to_format
from catalogue.cells.tilewise import Piece, tilewise

import tilewright as ct

Shape = tuple[int, ...]
Change = Callable[[Any], Any]

# (names, tile shape, in the kernel, in NumPy); the boundary is the index in the list.
CHANGES: tuple[tuple[tuple[str, ...], Shape, Change, Change], ...] = (
    (("reshape",), (), lambda t: ct.reshape(t, (1, 1)), lambda x: x.reshape(1, 1)),
    (("reshape",), (16,), lambda t: ct.reshape(t, (4, 4)), lambda x: x.reshape(4, 4)),
    (("Tile.reshape",), (4, 8), lambda t: t.reshape((2, -1, 2)), lambda x: x.reshape(2, 8, 2)),
    (("reshape",), (2, 4, 4), lambda t: ct.reshape(t, (8, 4)), lambda x: x.reshape(8, 4)),
    (("Tile.reshape",), (2, 2, 2, 4), lambda t: t.reshape((-1,)), lambda x: x.reshape(-1)),
    (("Tile.item",), (1,), lambda t: t.item(), lambda x: x.reshape(())),
    (("Tile.item",), (1, 1, 1), lambda t: t.item(), lambda x: x.reshape(())),
    (("broadcast_to",), (), lambda t: ct.broadcast_to(t, (2, 4)), lambda x: np.broadcast_to(x, (2, 4))),
    (("broadcast_to",), (8,), lambda t: ct.broadcast_to(t, (4, 8)), lambda x: np.broadcast_to(x, (4, 8))),
    (("broadcast_to",), (4, 1), lambda t: ct.broadcast_to(t, (4, 8)), lambda x: np.broadcast_to(x, (4, 8))),
    (("broadcast_to",), (2, 1, 4), lambda t: ct.broadcast_to(t, (2, 2, 4, 4)),
     lambda x: np.broadcast_to(x, (2, 2, 4, 4))),
    (("broadcast_to",), (2, 1, 2, 1), lambda t: ct.broadcast_to(t, (2, 4, 2, 4)),
     lambda x: np.broadcast_to(x, (2, 4, 2, 4))),
    (("expand_dims",), (), lambda t: ct.expand_dims(t, 0), lambda x: np.expand_dims(x, 0)),
    (("expand_dims",), (8,), lambda t: ct.expand_dims(t, 1), lambda x: np.expand_dims(x, 1)),
    (("expand_dims",), (4, 8), lambda t: ct.expand_dims(t, -2), lambda x: np.expand_dims(x, -2)),
    (("expand_dims",), (2, 4, 4), lambda t: ct.expand_dims(t, axis=-1), lambda x: np.expand_dims(x, -1)),
    (("subscript t[None]",), (), lambda t: t[None], lambda x: x[None]),
    (("subscript t[:, None]",), (8,), lambda t: t[:, None], lambda x: x[:, None]),
    (("subscript t[..., None]",), (4, 8), lambda t: t[..., None], lambda x: x[..., None]),
    (("subscript t[None, :]",), (8,), lambda t: t[None, :], lambda x: x[None]),
    (("subscript t[:, None, :]",), (4, 4), lambda t: t[:, np.newaxis, :], lambda x: x[:, None]),
    (("subscript t[..., None, :]",), (2, 4, 4), lambda t: t[..., None, :], lambda x: x[..., None, :]),
    (("permute",), (4, 8), lambda t: ct.permute(t, (1, 0)), lambda x: x.T),
    (("permute",), (2, 4, 4), lambda t: ct.permute(t, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    (("Tile.permute",), (2, 4, 8), lambda t: t.permute((1, 0, -1)), lambda x: x.transpose(1, 0, 2)),
    (("permute",), (2, 2, 4, 4), lambda t: ct.permute(t, (3, 1, 0, 2)), lambda x: x.transpose(3, 1, 0, 2)),
    (("permute",), (8,), lambda t: ct.permute(t, (0,)), lambda x: x),
    (("permute",), (), lambda t: ct.permute(t, ()), lambda x: x),
    (("transpose",), (4, 8), lambda t: ct.transpose(t), lambda x: x.T),
    (("Tile.transpose",), (16, 4), lambda t: t.transpose(), lambda x: x.T),
    (("transpose",), (2, 4, 4), lambda t: ct.transpose(t, 0, 2), lambda x: x.swapaxes(0, 2)),
    (("Tile.transpose",), (2, 4, 2, 4), lambda t: t.transpose(-1, 1), lambda x: x.swapaxes(3, 1)),
    (("extract",), (8,), lambda t: ct.extract(t, (1,), (4,)), lambda x: x[4:8]),
    (("extract",), (8,), lambda t: ct.extract(t, (5,), ()), lambda x: x[5]),
    (("extract",), (4, 8), lambda t: ct.extract(t, (1, 3), (2, 2)), lambda x: x[2:4, 6:8]),
    (("Tile.extract",), (2, 4, 4), lambda t: t.extract((1, 0, 1), (1, 4, 2)), lambda x: x[1:2, :, 2:4]),
    (("Tile.extract",), (2, 2, 4, 4), lambda t: t.extract((0, 1, 1, 0), (2, 1, 2, 4)), lambda x: x[:, 1:2, 2:4]),
    (("cat",), (8,), lambda t: ct.cat((t,), 0), lambda x: x),
    (("reshape",), (4, 8), lambda t: ct.reshape(t, (32,)), lambda x: x.reshape(-1)),
    (("reshape",), (2, 2, 2, 4), lambda t: ct.reshape(t, (4, -1)), lambda x: x.reshape(4, 8)),
    (("Tile.reshape",), (), lambda t: t.reshape((1,)), lambda x: x.reshape(1)),
    (("Tile.reshape",), (8,), lambda t: t.reshape((2, 4)), lambda x: x.reshape(2, 4)),
    (("Tile.reshape",), (2, 4, 4), lambda t: t.reshape((4, 2, 4)), lambda x: x.reshape(4, 2, 4)),
    (("Tile.item",), (), lambda t: t.item(), lambda x: x),
    (("Tile.item",), (1, 1), lambda t: t.item(), lambda x: x.reshape(())),
    (("Tile.item",), (1, 1, 1, 1), lambda t: t.item(), lambda x: x.reshape(())),
    (("expand_dims",), (2, 2, 2, 4), lambda t: ct.expand_dims(t, 2), lambda x: np.expand_dims(x, 2)),
    (("Tile.permute",), (), lambda t: t.permute(()), lambda x: x),
    (("Tile.permute",), (8,), lambda t: t.permute((0,)), lambda x: x),
    (("Tile.permute",), (4, 8), lambda t: t.permute((-1, 0)), lambda x: x.T),
    (("Tile.permute",), (2, 2, 2, 4), lambda t: t.permute((2, 3, 0, 1)), lambda x: x.transpose(2, 3, 0, 1)),
    (("transpose",), (2, 2, 2, 4), lambda t: ct.transpose(t, 1, 3), lambda x: x.swapaxes(1, 3)),
    (("Tile.transpose",), (2, 4, 4), lambda t: t.transpose(axis0=1, axis1=0), lambda x: x.swapaxes(0, 1)),
    (("extract",), (2, 4, 4), lambda t: ct.extract(t, (0, 1, 1), (2, 2, 2)), lambda x: x[:, 2:4, 2:4]),
    (("extract",), (2, 2, 2, 4), lambda t: ct.extract(t, (1, 0, 1, 1), (1, 2, 1, 2)), lambda x: x[1:, :, 1:, 2:]),
    (("Tile.extract",), (8,), lambda t: t.extract((3,), (2,)), lambda x: x[6:]),
    (("Tile.extract",), (4, 8), lambda t: t.extract((1, 0), (2, 4)), lambda x: x[2:, :4]),
    (("extract",), (), lambda t: ct.extract(t, (), ()), lambda x: x),
    (("transpose",), (32, 32), lambda t: ct.transpose(t), lambda x: x.T),
    (("permute",), (8, 4, 16), lambda t: ct.permute(t, (1, 2, 0)), lambda x: x.transpose(1, 2, 0)),
    (("reshape",), (64, 16), lambda t: ct.reshape(t, (16, 64)), lambda x: x.reshape(16, 64)),
    (("broadcast_to",), (32, 1), lambda t: ct.broadcast_to(t, (32, 32)), lambda x: np.broadcast_to(x, (32, 32))),
    (("extract",), (32, 32), lambda t: ct.extract(t, (1, 2), (16, 8)), lambda x: x[16:, 16:24]),
    (("Tile.extract",), (), lambda t: t.extract((), ()), lambda x: x),
)
# (names, shapes of two tiles, in the kernel, in NumPy)
PAIRS: tuple[tuple[tuple[str, ...], tuple[Shape, Shape], Callable[..., Any], Callable[..., Any]], ...] = (
    (("cat",), ((8,), (8,)), lambda a, b: ct.cat((a, b), 0), lambda a, b: np.concatenate([a, b])),
    (("cat",), ((4, 8), (4, 8)), lambda a, b: ct.cat((a, b), 1), lambda a, b: np.concatenate([a, b], 1)),
    (("cat",), ((2, 4, 4), (2, 4, 4)), lambda a, b: ct.cat((a, b), -2), lambda a, b: np.concatenate([a, b], 1)),
    (("cat",), ((2, 2, 2, 4), (2, 2, 2, 4)), lambda a, b: ct.cat((a, b), axis=-1),
     lambda a, b: np.concatenate([a, b], 3)),
    (("cat",), ((32, 16), (32, 16)), lambda a, b: ct.cat((a, b), 1), lambda a, b: np.concatenate([a, b], 1)),
    (("insert",), ((32, 32), (8, 16)), lambda a, b: ct.insert(a, (2, 1), b), lambda a, b: _inserted(a, (16, 16), b)),
    (("insert",), ((8,), (2,)), lambda a, b: ct.insert(a, (3,), b), lambda a, b: _inserted(a, (6,), b)),
    (("Tile.insert",), ((4, 8), (2, 4)), lambda a, b: a.insert((1, 1), b), lambda a, b: _inserted(a, (2, 4), b)),
    (("insert",), ((2, 4, 4), (1, 4, 2)), lambda a, b: ct.insert(a, (1, 0, 1), b),
     lambda a, b: _inserted(a, (1, 0, 2), b)),
    (("insert",), ((2, 2, 2, 4), (2, 1, 1, 2)), lambda a, b: ct.insert(a, (0, 1, 0, 1), b),
     lambda a, b: _inserted(a, (0, 1, 0, 2), b)),
    (("Tile.insert",), ((8,), (4,)), lambda a, b: a.insert((1,), b), lambda a, b: _inserted(a, (4,), b)),
    (("Tile.insert",), ((2, 4, 4), (2, 2, 2)), lambda a, b: a.insert((0, 1, 0), b),
     lambda a, b: _inserted(a, (0, 2, 0), b)),
    (("Tile.insert",), ((2, 2, 2, 4), (1, 2, 2, 2)), lambda a, b: a.insert((1, 0, 0, 1), b),
     lambda a, b: _inserted(a, (1, 0, 0, 2), b)),
    (("insert",), ((), ()), lambda a, b: ct.insert(a, (), b), lambda a, b: b),
    (("Tile.insert",), ((), ()), lambda a, b: a.insert((), b), lambda a, b: b),
    (("insert",), ((8,), ()), lambda a, b: ct.insert(a, (5,), b), lambda a, b: _inserted(a, (5,), b)),
)


def _inserted(a: Array, start: Shape, b: Array) -> Array:
    out = a.copy()
    b = b.reshape((1,) * a.ndim) if b.ndim == 0 else b
    out[tuple(slice(s, s + n) for s, n in zip(start, b.shape, strict=True))] = b
    return out


def place_of(shape: Shape, ragged: Any) -> str:
    return ("many elements, " if int(np.prod(shape)) > 64 else "") + ("ragged" if ragged else "whole")


def change_batches() -> Iterator[Batch]:
    for kind in ALL:
        pieces = [Piece(names, (shape,), function, reference, place_of(shape, k % 2 and len(shape) > 1),
                        ragged=bool(k % 2) and len(shape) > 1)
                  for k, (names, shape, function, reference) in enumerate(CHANGES)]
        yield tilewise(f"shape-{kind}", (kind,), kind, pieces)
        pairs = [Piece(names, shapes, function, reference, place_of(shapes[0], k % 2), ragged=bool(k % 2))
                 for k, (names, shapes, function, reference) in enumerate(PAIRS)]
        yield tilewise(f"shape-two-{kind}", (kind, kind), kind, pairs)
        yield tilewise(f"shape-runtime-{kind}", (kind, I32), kind, list(runtime_pieces()))


def runtime_pieces() -> Iterator[Piece]:
    """extract and insert at run-time positions."""

    def position(_: Kind, shape: Shape, rng: np.random.Generator) -> Array:
        return rng.integers(0, 2, shape).astype(np.int32)

    def draw(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
        return position(kind, shape, rng) if len(shape) == 1 and shape[0] == 2 else sample(kind, shape, rng)

    yield Piece(("extract",), ((4, 8), ()), lambda t, i: ct.extract(t, (i, 1 - i), (2, 4)),
                lambda x, i: x[2 * i: 2 * i + 2, 4 - 4 * i: 8 - 4 * i], "run-time index", draw=draw)
    yield Piece(("extract",), ((2, 4, 4), ()), lambda t, i: ct.extract(t, (i, 0, i), (1, 2, 2)),
                lambda x, i: x[i: i + 1, 0:2, 2 * i: 2 * i + 2], "run-time index", draw=draw)
    yield Piece(("extract",), ((8,), ()), lambda t, i: ct.extract(t, (i + 3,), ()), lambda x, i: x[i + 3],
                "run-time index", draw=draw)
    yield Piece(("insert",), ((4, 8), ()), lambda t, i: ct.insert(t, (i, 1), ct.extract(t, (0, i), (2, 4))),
                lambda x, i: _inserted(x, (2 * i, 4), x[0:2, 4 * i: 4 * i + 4]), "run-time index", draw=draw)
    yield Piece(("insert",), ((2, 2, 2, 4), ()), lambda t, i: ct.insert(t, (i, i, 0, 0), ct.extract(
        t, (0, 0, 0, 0), (1, 1, 1, 1))), lambda x, i: _inserted(x, (i, i, 0, 0), x[:1, :1, :1, :1]),
        "run-time index", draw=draw)


# -- Factories ---------------------------------------------------------------------------------------------------------

SHAPES: tuple[Shape, ...] = ((), (8,), (4, 8), (2, 4, 4), (2, 2, 2, 4))


def factory_batches() -> Iterator[Batch]:
    for kind in ALL:
        source = kind if kind is not E8M0 else BOOL
        yield tilewise(f"factory-{kind}", (source,), kind, list(factory_pieces(kind, source)), kind.name)
        if kind in (*INTS, *FLOATS):
            yield tilewise(f"arange-{kind}", (I32,), kind, list(arange_pieces(kind)), kind.name)
        yield tilewise(f"astile-{kind}", (kind, kind), kind, list(astile_pieces(kind)))


def factory_pieces(kind: Kind, source: Kind) -> Iterator[Piece]:
    dtype = kind.dtype
    number = 3 if kind is not BOOL else True
    for shape in SHAPES:
        yield Piece(("full",), ((),), lambda t, s=shape: ct.full(s, number, dtype),
                    lambda x, s=shape: _filled(s, 3, kind), "constant", rank=len(shape))
        yield Piece(("full",), ((),), lambda t, s=shape: ct.full(s, t, dtype),
                    lambda x, s=shape: np.broadcast_to(converted(x, source, kind) if source is not kind else x, s),
                    "run-time value", rank=len(shape))
        yield Piece(("zeros",), ((),), lambda t, s=shape: ct.zeros(s, dtype),
                    lambda x, s=shape: _filled(s, 0, kind), "whole", rank=len(shape))
        yield Piece(("ones",), ((),), lambda t, s=shape: ct.ones(s, dtype=dtype),
                    lambda x, s=shape: _filled(s, 1, kind), "whole", rank=len(shape))
    yield Piece(("full",), ((),), lambda t: ct.full(16, number, dtype), lambda x: _filled((16,), 3, kind),
                "an int for a shape", rank=1)


def _filled(shape: Shape, number: int, kind: Kind) -> Array:
    if kind.is_float and kind not in FLOATS:
        return kind.hold(np.full(shape, to_format(np.array(float(number)), kind.name)))
    return np.full(shape, number).astype(kind.host)


def arange_pieces(kind: Kind) -> Iterator[Piece]:
    dtype, host = kind.dtype, kind.host
    for n in (1, 8, 128):
        yield Piece(("arange",), ((),), lambda t, n=n: ct.arange(n, dtype=dtype),
                    lambda x, n=n: np.arange(n).astype(host), "whole", rank=1)
    yield Piece(("arange(start)",), ((),), lambda t: ct.arange(16, dtype=dtype, start=3),
                lambda x: (np.arange(16) + 3).astype(host), "constant", rank=1)
    yield Piece(("arange(step)",), ((),), lambda t: ct.arange(16, dtype=dtype, start=5, step=0),
                lambda x: np.full(16, 5).astype(host), "constant", rank=1)
    yield Piece(("arange(start)", "arange(step)"), ((),), lambda t: ct.arange(16, dtype=dtype, start=t, step=t),
                lambda x: (np.arange(1, 17) * int(x)).astype(host), "run-time value", rank=1,
                draw=lambda kind, shape, rng: rng.integers(1, 7, shape).astype(np.int32))
    if kind.dtype.is_signed or kind.is_float:
        yield Piece(("arange(step)",), ((),), lambda t: ct.arange(16, dtype=dtype, start=4, step=-3),
                    lambda x: (4 - 3 * np.arange(16)).astype(host), "constant", rank=1)


def astile_pieces(kind: Kind) -> Iterator[Piece]:
    dtype = kind.dtype
    yield Piece(("astile",), ((), ()), lambda a, b: ct.astile(a, dtype=dtype), lambda a, b: a, "run-time value", rank=0)
    yield Piece(("astile",), ((), ()), lambda a, b: ct.astile((a, b, b, a), dtype=dtype),
                lambda a, b: np.array([a, b, b, a]), "run-time value", rank=1)
    yield Piece(("astile",), ((), ()), lambda a, b: ct.astile(((a, b), (b, b)), dtype=dtype),
                lambda a, b: np.array([[a, b], [b, b]]), "run-time value", rank=2)
    yield Piece(("astile",), ((), ()), lambda a, b: ct.astile((((a, b), (b, b)), ((b, a), (a, a))), dtype=dtype),
                lambda a, b: np.array([[[a, b], [b, b]], [[b, a], [a, a]]]), "run-time value", rank=3)
    yield Piece(("astile",), ((), ()), lambda a, b: ct.astile(((((a, b),),), (((b, a),),)), dtype=dtype),
                lambda a, b: np.array([[[[a, b]]], [[[b, a]]]]), "run-time value", rank=4)
    yield Piece(("astile",), ((), ()), lambda a, b: ct.astile((1, 1, 1, 1), dtype=dtype),
                lambda a, b: _filled((4,), 1, kind), "constant", rank=1)


def batches() -> Iterator[Batch]:
    yield from change_batches()
    yield from factory_batches()
