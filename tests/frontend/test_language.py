"""Helpers, closures, tuples, dataclasses, enums, views, lists, static evaluation: what they compute."""

from __future__ import annotations

import contextlib
import enum
import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from frontend_support import ir, result

import tilewright as ct

SCALE = 3
SETTINGS = (2, ("low", 5))


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 4


@dataclass(frozen=True)
class Config:
    rows: int
    columns: int = 4
    dtype: Any = ct.float32

    @property
    def area(self) -> int:
        return self.rows * self.columns

    def scaled(self, factor: int) -> Config:
        return Config(self.rows * factor, self.columns)

    @staticmethod
    def double(x: Any) -> Any:
        return x * 2

    def __getitem__(self, i: Any) -> Any:
        return self.rows + i

    def __call__(self, x: Any) -> Any:
        return x + self.columns


CONFIG = Config(8)


def value(function: Any, *args: Any) -> float:
    return float(result(function, *args)[0])


# -- Helpers ---------------------------------------------------------------------------------------------------------


def affine(x, /, a=2, *rest, b, **more):
    for_rest = 0
    if len(rest) > 0:
        for_rest = rest[0]
    return x * a + b + for_rest + more.get("c", 0) + (100 if "d" in more else 0)


def test_every_kind_of_parameter() -> None:
    assert value(lambda: affine(3, b=1)) == 7
    assert value(lambda: affine(3, 4, 5, b=1)) == 18
    assert value(lambda: affine(3, b=1, c=10, d=0)) == 117
    assert value(lambda: affine(*(3, 4), **keywords(b=1))) == 13


def keywords(**kwargs):
    return kwargs


def test_binding_errors() -> None:
    for call, text in ((lambda: affine(1), '"b" is missing'), (lambda: affine(1, 2, a=3, b=1), '"a" is given twice'),
                       (lambda: affine(x=1, b=1), '"x"')):
        with pytest.raises(ct.TileTypeError, match=text):
            value(call)


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


def test_recursion_that_ends_while_compiling() -> None:
    assert value(lambda: factorial(6)) == 720
    with pytest.raises(ct.TileRecursionError):
        value(lambda: factorial(-1))


def test_closures_see_later_assignments() -> None:
    def compute(x):
        def add(y, step=1):
            return x + y + offset * step

        offset = 10
        first = add(1)
        offset = 20
        return first * 1000 + add(1, step=2)

    assert value(compute, 5) == 16 * 1000 + 46


def test_functions_are_values() -> None:
    def compute(x):
        def twice(f):
            return lambda y: f(f(y))

        g = twice(lambda y: y * SCALE)
        return g(x) + operator.sub(x, 1) + (ct.maximum if x is not None else ct.minimum)(x, 2)

    assert value(compute, 4) == 36 + 3 + 4


@ct.function
def marked(x):
    return x + 1


@ct.function(host=True)
def marked_for_both(x):
    return x + 2


def test_marked_functions() -> None:
    assert value(lambda: marked(1) + marked_for_both(1)) == 5
    assert marked_for_both(1) == 3
    with pytest.raises(RuntimeError):
        marked(1)


def test_globals_are_read_once() -> None:
    global SCALE
    kernel = ct.tile_kernel(reads_scale)
    x = np.zeros(1, np.int32)
    kernel[(1,)](x, 1)
    try:
        SCALE = 50
        kernel[(1,)](x, 2)
    finally:
        SCALE = 3
    assert x[0] == 6


def reads_scale(x, n: ct.Constant[int]):
    ct.store(x, (0,), SCALE * n)


# -- Tuples, dataclasses, enums --------------------------------------------------------------------------------------


def test_tuples() -> None:
    def compute():
        a, (b, c) = SETTINGS
        t = (a, c, *(7, 8)) + (9,)
        same = t[1:3] == (5, 7) and b == "low" and 8 in t and 6 not in t
        return t[-1] * 100 + len(t) * 10 + (1 if same else 0)

    assert value(compute) == 951


def test_dataclasses() -> None:
    def compute():
        c = Config(2, columns=3)
        d = replace(c.scaled(5), columns=7)
        return (c.area, d.area, CONFIG.columns, Config.double(3), c[1], CONFIG(1), d.dtype == ct.float32)

    for i, want in enumerate((6, 70, 4, 6, 3, 5, 1)):
        assert value(lambda i=i: compute()[i]) == want


def test_a_dataclass_goes_through_branches_and_loops() -> None:
    def compute(n):
        c = Config(0, n)
        for i in range(3):
            c = Config(c.rows + i, c.columns * 2)
        if n > 2:
            c = replace(c, rows=c.rows + 100)
        return c.rows * 1000 + c.columns

    assert value(compute, 3) == 103 * 1000 + 24
    assert value(compute, 1) == 3 * 1000 + 8


def test_enums() -> None:
    def compute(mode):
        first = 1 if mode == Mode.FAST else 2
        return first * 1000 + mode.value * 100 + Level.HIGH * 10 + (1 if Mode(2) == Mode.EXACT else 0)

    assert value(lambda: compute(Mode.FAST)) == 1141
    assert value(lambda: len(Mode.EXACT.name)) == 5
    with pytest.raises(ct.TileValueError):
        value(lambda: Mode(7).value)


def test_strings_and_getattr() -> None:
    def compute(x):
        name = "sha" + "pe"
        assert_rank = len(getattr(ct.zeros((2, 4), ct.int8), name))
        return assert_rank + (10 if f"{x}-{name}" == "3-shape" else 0)

    assert value(lambda: compute(3)) == 12


# -- Static evaluation -----------------------------------------------------------------------------------------------

TABLE = {"a": [1, 2, 3]}


def test_static_eval_and_iter() -> None:
    def compute(x):
        total = x
        for i, weight in ct.static_iter(enumerate(TABLE["a"])):
            total = total + (i + 1) * weight
        shape = ct.static_eval(tuple(max(2, n) for n in (1, 4)))
        t = ct.zeros(shape, ct.int32)
        ct.static_assert(t.shape == (2, 4))
        squares = tuple(k * k for k in ct.static_iter(range(5)) if k % 2)
        return total + squares[1] + i

    assert value(compute, 1) == 1 + 14 + 9 + 2


def test_static_eval_sees_types_of_tiles() -> None:
    def compute(x):
        t = ct.zeros((4, 8), ct.float16)
        ct.static_assert(repr(t) == "<tile[float16, (4, 8)]>")
        return ct.static_eval(t.shape[1] if t.dtype is ct.float16 else x + 1)

    assert value(compute, 1) == 8


@pytest.mark.parametrize("compute,error", [
    (lambda x: ct.static_eval(bool(x)), ct.TileStaticEvalError), (lambda x: ct.static_eval([1]), ct.TileTypeError),
    (lambda x: ct.static_eval(1 // 0), ct.TileStaticEvalError),
    (lambda x: ct.static_eval(ct.static_eval(1)), ct.TileStaticEvalError),
    (lambda x: ct.static_assert(1), ct.TileTypeError),
    (lambda x: ct.static_assert(2 > 3, "no"), ct.TileStaticAssertionError),
    (lambda x: ct.ensure_constant(x), ct.TileStaticAssertionError),
])
def test_static_errors(compute: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        value(compute, 1)


# -- Arrays, views, lists --------------------------------------------------------------------------------------------


def test_slices_of_arrays() -> None:
    @ct.tile_kernel
    def kernel(a, out, n: int):
        part = a.slice(0, 2, n).slice(axis=-1, start=1, stop=5)
        ct.static_assert(part.ndim == 2)
        t = ct.load(part, (0, 0), (4, 4), padding_mode=ct.PaddingMode.ZERO)
        ct.store(out, (0, 0), t)
        ct.store(out, (4, 0), part.shape[0] * 10 + part.shape[1])

    a = np.arange(48, dtype=np.int32).reshape(6, 8)
    out = np.zeros((5, 4), np.int32)
    kernel[(1,)](a, out, 5)
    assert (out[:3] == a[2:5, 1:5]).all() and (out[3] == 0).all()
    assert out[4, 0] == 34


def test_tiled_views() -> None:
    @ct.tile_kernel
    def kernel(a, out, counts):
        view = a.tiled_view((4,), padding_mode=ct.PaddingMode.ZERO, traversal_steps=3)
        i = ct.bid(0)
        target = out.tiled_view((1, 4))
        target.store((i, 0), view.load(i))
        counts.tiled_view(()).store(0, view.num_tiles(0))

    a = np.arange(1, 12, dtype=np.float32)
    out, counts = np.zeros((4, 4), np.float32), np.zeros(1, np.int32)
    kernel[(4,)](a, out, counts)
    padded = np.concatenate([a, np.zeros(4, np.float32)])
    assert (out == np.stack([padded[3 * i : 3 * i + 4] for i in range(4)])).all() and counts[0] == 4


def test_lists_of_arrays() -> None:
    @ct.tile_kernel
    def kernel(xs, out):
        total = ct.zeros((4,), ct.float32)
        for i in range(len(xs)):
            x = xs[i]
            total = total + ct.load(x, (0,), (4,), padding_mode=ct.PaddingMode.ZERO) * x.shape[0]
        ct.store(out, (0,), total)

    xs = [np.arange(n, dtype=np.float32) for n in (2, 3, 4)]
    out = np.zeros(4, np.float32)
    kernel[(1,)](xs, out)
    want = np.zeros(4, np.float32)
    for x in xs:
        want[: len(x)] += x * len(x)
    assert (out == want).all()


def test_advanced_indexing() -> None:
    @ct.tile_kernel
    def kernel(a, rows, out):
        at = ct.load(rows, (0,), (4,))
        t = ct.load_advanced_indexing(a, (at, ct.Slice(2, 4)), padding_mode=ct.PaddingMode.ZERO)
        ct.store_advanced_indexing(out, (ct.Slice(0, 4), ct.arange(4, dtype=ct.int32)), t + 1)

    a = np.arange(30, dtype=np.int32).reshape(5, 6)
    out = np.zeros((4, 4), np.int32)
    kernel[(1,)](a, np.array([3, -1, 0, 9], np.int32), out)
    want = np.array([a[3, 2:6], [0] * 4, a[0, 2:6], [0] * 4]) + 1
    assert (out == want).all()


def test_tuple_arguments() -> None:
    @ct.tile_kernel
    def kernel(pair, out):
        (x, factor), n = pair
        ct.store(out, (0,), ct.load(x, (0,), (4,)) * factor + n)

    out = np.zeros(4, np.float32)
    kernel[(1,)]((((x := np.arange(4, dtype=np.float32)), 2.0), 1), out)
    assert (out == x * 2 + 1).all()
    assert [p.hint for p in ir(kernel, ((x, 2.0), 1), out).params] == ["pair.0.0", "pair.0.1", "pair.1", "out"]


# -- Functions made of other ops -------------------------------------------------------------------------------------


def test_insert_and_extract() -> None:
    def compute(i):
        t = ct.arange(16, dtype=ct.int32).reshape((4, 4))
        part = t.extract((i, 0), (2, 2))
        return ct.insert(t, (0, i), part * 100)

    got = result(compute, 1, shape=(4, 4), dtype=np.int32)
    want = np.arange(16).reshape(4, 4)
    want[0:2, 2:4] = want[2:4, 0:2].copy() * 100
    assert (got == want).all()


def test_astile() -> None:
    got = result(lambda n: ct.astile(((1, n), (n * 2, 4.5)), dtype=ct.float32), 3, shape=(2, 2), dtype=np.float32)
    assert got.tolist() == [[1, 3], [6, 4.5]]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "bfloat16"])
def test_packing(dtype: str) -> None:
    numpy = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)

    @ct.tile_kernel
    def kernel(x, packed, back):
        t = ct.load(x, (0,), (8,))
        raw = ct.pack_to_bytes(t)
        ct.store(packed, (0,), raw)
        ct.store(back, (0,), ct.unpack_from_bytes(raw, x.dtype))

    x = np.array([0, 1, -2, 3, 100, -100, 7, 0.5]).astype(numpy) if dtype != "uint16" else np.arange(8).astype(numpy)
    packed, back = np.zeros(8 * numpy.itemsize, np.uint8), np.zeros(8, numpy)
    kernel[(1,)](x, packed, back)
    assert packed.tobytes() == x.tobytes() and back.tobytes() == x.tobytes()


def test_four_bit_packing() -> None:
    @ct.tile_kernel
    def kernel(raw, values, back):
        t = ct.unpack_from_bytes(ct.load(raw, (0,), (8,)), ct.float4_e2m1fn)
        ct.store(values, (0,), t.astype(ct.float32))
        ct.store(back, (0,), ct.pack_to_bytes(t))

    codes = np.arange(16, dtype=np.uint8)
    raw = codes[::2] | codes[1::2] << 4
    values, back = np.zeros(16, np.float32), np.zeros(8, np.uint8)
    kernel[(1,)](raw, values, back)
    assert values.tolist() == codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32).tolist()
    assert (back == raw).all()


def test_scaled_product() -> None:
    @ct.tile_kernel
    def kernel(x, xs, y, ys, out):
        a = ct.load(x, (0, 0), (4, 64)).astype(ct.float8_e4m3fn)
        b = ct.load(y, (0, 0), (64, 8)).astype(ct.float8_e4m3fn)
        sa = ct.load(xs, (0, 0), (4, 2)).astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RZ)
        sb = ct.load(ys, (0, 0), (2, 8)).astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RZ)
        ct.store(out, (0, 0), ct.mma_scaled(a, sa, b, sb, ct.zeros((4, 8), ct.float32)))

    rng = np.random.default_rng(0)
    x, y = rng.integers(-3, 4, (4, 64)).astype(np.float32), rng.integers(-3, 4, (64, 8)).astype(np.float32)
    xs, ys = 2.0 ** rng.integers(-2, 3, (4, 2)), 2.0 ** rng.integers(-2, 3, (2, 8))
    out = np.zeros((4, 8), np.float32)
    kernel[(1,)](x, xs.astype(np.float32), y, ys.astype(np.float32), out)
    assert (out == (x * np.repeat(xs, 32, 1)) @ (y * np.repeat(ys, 32, 0))).all()


def test_matmul_ranks() -> None:
    def compute():
        a = ct.arange(8, dtype=ct.float32).reshape((2, 4))
        v = ct.arange(4, dtype=ct.float32)
        batch = ct.arange(16, dtype=ct.float32).reshape((2, 4, 2))
        return ct.sum(a @ v) * 1000000 + (v @ v) * 1000 + ct.sum(a @ batch)

    a, v = np.arange(8.0).reshape(2, 4), np.arange(4.0)
    want = (a @ v).sum() * 1e6 + (v @ v) * 1000 + (a @ np.arange(16.0).reshape(2, 4, 2)).sum()
    assert math.isclose(value(compute), want, rel_tol=1e-6)


# -- Context managers ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def traced(out, first, last=9):
    position = ct.atomic_add(out, 0, 1)
    ct.scatter(out, position + 1, first)
    yield position
    ct.scatter(out, ct.atomic_add(out, 0, 1) + 1, last)


def test_with_runs_both_parts_on_every_way_out() -> None:
    @ct.tile_kernel
    def kernel(out, n: int):
        ct.store(out, (0,), 0)
        for i in range(3):
            with traced(out, 1) as a, traced(out, 2, last=8):
                if n == i:
                    break
                ct.scatter(out, 30 + i, a)
        with traced(out, 3, 7):
            if n == 1:
                return
        ct.scatter(out, 40, 1)

    def trace(n: int) -> list[int]:
        out = np.zeros(50, np.int32)
        kernel.interpret((1,), out, n, mode="single")
        return [*out[1 : out[0] + 1].tolist(), *out[30:33].tolist(), int(out[40])]

    assert trace(1) == [1, 2, 8, 9, 1, 2, 8, 9, 3, 7, 0, 0, 0, 0]
    assert trace(5) == [*[1, 2, 8, 9] * 3, 3, 7, 0, 4, 8, 1]


def test_with_needs_a_context_manager_entered_once() -> None:
    def twice(x):
        manager = traced(x, 1)
        with manager:
            with manager:
                pass
        return 0

    for function, text in ((twice, "entered before"), (lambda x: with_(x), "expected a context manager")):
        with pytest.raises(ct.TileTypeError, match=text):
            value(function, np.zeros(50, np.int32))


def with_(x):
    with x:
        pass
    return 0
