"""Kernels whose arguments share memory: one array under two names, shifted, transposed, of another dtype, and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tilewright as tw

Array = np.ndarray[Any, Any]


class Shared(NamedTuple):
    """A launch: `make` makes its arguments anew; `wanted` takes them and gives what the memory that the last array is a
    view of holds in the end."""

    kernel: Any
    grid: tuple[int, ...]
    make: Callable[[], tuple[Any, ...]]
    wanted: Callable[..., Any]


CASES: dict[str, Shared] = {}


def case(name: str, kernel: Any, grid: int | tuple[int, ...], make: Callable[[], tuple[Any, ...]],
         wanted: Callable[..., Any]) -> None:
    CASES[name] = Shared(kernel, grid if isinstance(grid, tuple) else (grid,), make, wanted)


def memory(a: Array) -> Array:
    """The array that a view is of."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def ramp(n: int, dtype: Any = np.float32) -> Array:
    return np.arange(n).astype(dtype)


def twice(a: Array) -> tuple[Array, Array]:
    return a, a


def normal(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


# ---- each block reads its tile, then writes it --------------------------------------------------------------------


@tw.tile_kernel
def scale(x, out, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, n) * 2.0)


@tw.tile_kernel
def add(x, y, out, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, n) + tw.load(y, i, n))


@tw.tile_kernel
def gelu(x, out, m: tw.Constant[int], n: tw.Constant[int]):
    at = tw.bid(0), tw.bid(1)
    t = tw.load(x, at, (m, n))
    tw.store(out, at, 0.5 * t * (1.0 + tw.tanh(0.7978845608 * (t + 0.044715 * t * t * t))))


@tw.tile_kernel
def rope(x, cos, sin, out, half: tw.Constant[int]):
    row = tw.bid(0)
    low, high = tw.load(x, (row, 0), (1, half)), tw.load(x, (row, 1), (1, half))
    c, s = tw.load(cos, (row, 0), (1, half)), tw.load(sin, (row, 0), (1, half))
    tw.store(out, (row, 0), low * c - high * s)
    tw.store(out, (row, 1), high * c + low * s)


@tw.tile_kernel
def dropout(x, keep, out, factor, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.where(tw.load(keep, i, n), tw.load(x, i, n) * factor, 0.0))


@tw.tile_kernel
def softmax(x, out, n: tw.Constant[int]):
    t = tw.load(x, (tw.bid(0), 0), (1, n), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, 1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, 1, keepdims=True))


def gelu_of(x: Array, *_: Any) -> Array:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def rope_of(x: Array, cos: Array, sin: Array, *_: Any) -> Array:
    low, high = np.split(x, 2, axis=1)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=1)


def softmax_of(x: Array, *_: Any) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def angles(rows: int, half: int) -> tuple[Array, Array]:
    t = normal(rows, half)
    return np.cos(t), np.sin(t)


def rope_arguments() -> tuple[Any, ...]:
    x = normal(6, 64)
    return x, *angles(6, 32), x[...], 32


def dropout_arguments() -> tuple[Any, ...]:
    x = normal(200)
    return x, normal(200) > 0, x, 2.0, 64


case("same object", scale, 4, lambda: (*twice(ramp(100)), 32), lambda x, *_: x * 2)
case("a view of all", scale, 4, lambda: ((x := ramp(100)), x[...], 32), lambda x, *_: x * 2)
case("strided, same", scale, 4, lambda: (*twice(ramp(200)[::2]), 32),
     lambda x, *_: np.stack([x * 2, x + 1], 1).reshape(-1))
case("output is the first", add, 4, lambda: ((x := ramp(100)), np.ones(100, np.float32), x, 32), lambda x, *_: x + 1)
case("output is the second", add, 4, lambda: (ramp(100), y := np.ones(100, np.float32), y, 32), lambda x, y, *_: x + y)
case("all three", add, 4, lambda: ((x := ramp(100)), x, x[:], 32), lambda x, *_: x + x)
case("half precision", scale, 2, lambda: (*twice(ramp(100, np.float16)), 64), lambda x, *_: x * 2)
case("integers", add, 4, lambda: ((x := ramp(100, np.int32)), x, x, 32), lambda x, *_: x * 2)
case("gelu", gelu, (2, 3), lambda: (*twice(normal(24, 40)), 16, 16), gelu_of)
case("rope", rope, 6, rope_arguments, rope_of)
case("dropout", dropout, 4, dropout_arguments, lambda x, keep, *_: np.where(keep, x * 2, 0))
case("softmax", softmax, 5, lambda: (*twice(normal(5, 100)), 128), softmax_of)


# ---- order inside a block -------------------------------------------------------------------------------------------


@tw.tile_kernel
def again(x, out, n: tw.Constant[int]):
    """What is read a second time has been written under the other name."""
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, n) + 1.0)
    tw.store(out, i, tw.load(x, i, n) * 2.0)


@tw.tile_kernel
def swap(x, out, n: tw.Constant[int]):
    one, two = tw.load(x, 0, n), tw.load(x, 1, n)
    tw.store(out, 0, two)
    tw.store(out, 1, one)


@tw.tile_kernel
def count(x, out, times, n: tw.Constant[int]):
    """The load is the same in every iteration, the element is not."""
    for _ in range(times):
        tw.store(out, 0, tw.load(x, 0, n) + 1.0)


@tw.tile_kernel
def move(x, out, tiles, n: tw.Constant[int]):
    """An iteration may read what the one before has written: no tile may be prefetched."""
    for k in range(tiles):
        tw.store(out, k, tw.load(x, k, n))


@tw.tile_kernel
def walk(x, out, tiles, n: tw.Constant[int]):
    k = 0
    while k < tiles:
        tw.store(out, k, tw.load(x, k, n) + 1.0)
        k += 1


@tw.tile_kernel
def persistent(x, out, tiles, n: tw.Constant[int]):
    for i in range(tw.bid(0), tiles, tw.num_blocks(0)):
        tw.store(out, i, tw.load(x, i, n) + 3.0)


@tw.tile_kernel
def bits(x, words, n: tw.Constant[int]):
    """What is stored as numbers is read as bits."""
    i = tw.bid(0)
    before = tw.load(words, i, n)
    tw.store(x, i, tw.load(x, i, n) * 2.0)
    after = tw.load(words, i, n) & 0x7FFFFFFF
    tw.store(x, i, tw.bitcast(after, tw.float32) + (before & 0).astype(tw.float32))


@tw.tile_kernel
def transpose(x, out, n: tw.Constant[int]):
    tw.store(out, (0, 0), tw.load(x, (0, 0), (n, n)))


@tw.tile_kernel
def permute(x, order, out, n: tw.Constant[int]):
    place = tw.load(order, 0, n)
    tw.scatter(out, place, tw.gather(x, tw.arange(n, dtype=tw.int32)))


@tw.tile_kernel
def total(x, out, n: tw.Constant[int]):
    tw.store(out, 0, tw.sum(tw.load(x, 0, n)))


@tw.tile_kernel
def sum_of_list(xs, out, n: tw.Constant[int]):
    acc = tw.zeros((n,), tw.float32)
    for k in range(len(xs)):
        acc = acc + tw.load(xs[k], 0, n)
        tw.store(out, 0, acc)


@tw.tile_kernel
def product(a, b, c, out, m: tw.Constant[int], k: tw.Constant[int]):
    acc = tw.load(c, (tw.bid(0), 0), (m, m)).astype(tw.float32)
    for i in range(tw.num_tiles(a, 1, (m, k))):
        acc = tw.mma(tw.load(a, (tw.bid(0), i), (m, k)), tw.load(b, (i, 0), (k, m)), acc)
    tw.store(out, (tw.bid(0), 0), acc.astype(out.dtype))


@tw.tile_kernel
def chosen(x, y, out, first, n: tw.Constant[int]):
    source = x if first else y
    tw.store(out, 0, tw.load(source, 0, n) + 1.0)
    tw.store(out, 0, tw.load(source, 0, n) + 1.0)


def swapped(x: Array, *_: Any) -> Array:
    return np.concatenate([x[32:], x[:32]])


def two_types() -> tuple[Any, ...]:
    x = ramp(100) - 50
    return x, x.view(np.int32), 32


def permuted() -> tuple[Any, ...]:
    x = ramp(64)
    return x, np.random.default_rng(1).permutation(64).astype(np.int32), x, 64


def permuted_wanted(x: Array, order: Array, *_: Any) -> Array:
    out = np.empty_like(x)
    out[order] = x
    return out


def lists() -> tuple[Any, ...]:
    x, y = ramp(32), np.ones(32, np.float32)
    return [x, y, x], x, 32


def product_arguments(place: str) -> tuple[Any, ...]:
    random = np.random.default_rng(3)
    a, b = (random.integers(-2, 3, s).astype(np.float16) for s in ((32, 64), (64, 32)))
    c = np.ones((32, 32), np.float16)
    return a, b, c, {"addend": c, "left": a[:, :32]}[place], 32, 32


def product_of(a: Array, b: Array, c: Array, out: Array, *_: Any) -> Array:
    found = (a.astype(np.float32) @ b.astype(np.float32) + 1).astype(np.float16)
    return found if memory(out) is c else np.concatenate([found, a[:, 32:]], 1)


def shifted(by: int, n: int = 100) -> Callable[[], tuple[Array, Array]]:
    """An input that begins `by` elements behind the output (before it, if negative) in the same memory."""

    def make() -> tuple[Array, Array]:
        whole = ramp(n)
        return (whole[by:], whole[:-by]) if by > 0 else (whole[:by], whole[-by:])

    return make


def moved(n: int, source: int, target: int, tiles: int, width: int, plus: int = 0) -> Array:
    """A tile after the other goes from one place of a ramp to another; both places are so long that all of it fits."""
    whole = ramp(n)
    for first in range(0, tiles * width, width):
        length = min(width, n - max(source, target) - first)
        whole[target + first :][:length] = whole[source + first :][:length] + plus
    return whole


@tw.tile_kernel
def square(x, out, n: tw.Constant[int]):
    tw.store(out, (0, 0), tw.load(x, 0, n * n).reshape((n, n)) * 2.0)


case("read again", again, 4, lambda: (*twice(ramp(100)), 32), lambda x, *_: (x + 1) * 2)
case("swap", swap, 1, lambda: (*twice(ramp(64)), 32), swapped)
case("count", count, 1, lambda: (*twice(ramp(32)), 5, 32), lambda x, *_: x + 5)
case("down by one", scale, 1, lambda: (*shifted(1, 65)(), 64), lambda x, *_: np.append(x * 2, np.float32(64)))
case("up by one", scale, 1, lambda: (*shifted(-1, 65)(), 64), lambda x, *_: np.append(np.float32(0), x * 2))
case("read again, down", again, 1, lambda: (*shifted(1, 33)(), 32),
     lambda x, *_: np.append(np.append(x[1:] + 1, x[-1]) * 2, x[-1]))
case("down a tile", move, 1, lambda: (*shifted(16)(), 6, 16), lambda *_: moved(100, 16, 0, 6, 16))
case("up a tile", move, 1, lambda: (*shifted(-16)(), 6, 16), lambda *_: moved(100, 0, 16, 6, 16))
case("up half a tile", move, 1, lambda: (*shifted(-8, 72)(), 4, 16), lambda *_: moved(72, 0, 8, 4, 16))
case("walk up", walk, 1, lambda: (*shifted(-16, 80)(), 4, 16), lambda *_: moved(80, 0, 16, 4, 16, 1))
case("persistent", persistent, 3, lambda: (*twice(ramp(300)), 10, 32), lambda x, *_: x + 3)
case("two dtypes", bits, 4, two_types, lambda x, *_: abs(x) * 2)
case("transposed", transpose, 1, lambda: ((x := normal(32, 32)), x.T, 32), lambda x, *_: x.T)
case("reversed", scale, 1, lambda: ((x := ramp(64)), x[::-1], 64), lambda x, *_: x[::-1] * 2)
case("permuted", permute, 1, permuted, permuted_wanted)
case("sum into the first", total, 1, lambda: ((x := ramp(64)), x[:1], 64), lambda x, *_: np.append(x.sum(), x[1:]))
case("other shape", square, 1, lambda: ((x := ramp(64)), x.reshape(8, 8), 8), lambda x, *_: x * 2)
case("a list and its first", sum_of_list, 1, lists, lambda xs, *_: 2 * xs[0] + 2)
case("product into its addend", product, 1, lambda: product_arguments("addend"), product_of)
case("product into its left", product, 1, lambda: product_arguments("left"), product_of)
case("chosen", chosen, 1, lambda: ((x := ramp(32)), np.ones(32, np.float32), x, True, 32), lambda x, *_: x + 2)
case("chosen, down", chosen, 1, lambda: ((x := ramp(33))[1:], np.ones(32, np.float32), x[:-1], True, 32),
     lambda x, *_: np.append(np.append(x[1:] + 1, x[-1]) + 1, x[-1]))
case("columns share nothing", scale, 4, lambda: ((x := ramp(200))[::2], x[1::2], 32),
     lambda x, *_: np.stack([x, x * 2], 1).reshape(-1))

DTYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.float16, np.float32, np.float64)
for dtype in DTYPES:
    case(f"{dtype.__name__} in place", add, 2, lambda dtype=dtype: (x := ramp(50, dtype), x, x, 32),
         lambda x, *_: x + x)
    case(f"{dtype.__name__} a tile up", move, 1, lambda dtype=dtype: ((w := ramp(48, dtype))[:-16], w[16:], 2, 16),
         lambda x, *_: np.tile(x[:16], 3))
    case(f"{dtype.__name__} half a tile down", move, 1, lambda dtype=dtype: ((w := ramp(40, dtype))[8:], w[:-8], 2, 16),
         lambda x, *_: np.append(x, x[-8:]))
