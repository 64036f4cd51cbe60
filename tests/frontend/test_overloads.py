"""Operators of frozen dataclasses and named tuples, Python's math and methods on constants, and comprehensions."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as ct


@dataclass(frozen=True)
class Complex:
    """A complex number: tiles of real and imaginary parts."""

    re: Any
    im: Any

    def __add__(self, other):
        return Complex(self.re + other.re, self.im + other.im)

    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __rmul__(self, factor):
        return Complex(factor * self.re, factor * self.im)

    def __matmul__(self, other):
        return self.re * other.re + self.im * other.im

    def __neg__(self):
        return Complex(-self.re, -self.im)

    def __invert__(self):
        return Complex(self.re, -self.im)

    def __abs__(self):
        return ct.sqrt(self.re * self.re + self.im * self.im)

    def __eq__(self, other):
        return (self.re == other.re) & (self.im == other.im)

    def __lt__(self, bound):
        return abs(self) < bound


def result(function: Callable[[Any, Any], Any]) -> Any:
    """What a function of the numbers z and w gives, as real and imaginary part."""

    @ct.tile_kernel
    def kernel(x, out):
        z = Complex(ct.load(x, (0, 0), (1, 4)), ct.load(x, (1, 0), (1, 4)))
        w = Complex(ct.load(x, (2, 0), (1, 4)), ct.load(x, (3, 0), (1, 4)))
        value = function(z, w)
        ct.store(out, (0, 0), value.re)
        ct.store(out, (1, 0), value.im)

    out = np.zeros((2, 4), np.float64)
    kernel[(1,)](X, out)
    return out[0] + 1j * out[1]


def increased(z, w):
    z += w
    return z


X = np.array([[1.0, 2, -3, 0], [4, -1, 0, 2], [3, 2, 1, 0], [1, -1, 1, -1]])
Z, W = X[0] + 1j * X[1], X[2] + 1j * X[3]


@pytest.mark.parametrize("function, want", [
    (lambda z, w: z + w, Z + W), (lambda z, w: z * w, Z * W), (lambda z, w: 2.0 * z, 2 * Z), (lambda z, w: -z, -Z),
    (lambda z, w: ~z, Z.conj()), (lambda z, w: Complex(z @ w, z.im), (Z * W.conj()).real + 1j * Z.imag),
    (lambda z, w: Complex(abs(z), w.re), abs(Z) + 1j * W.real), (increased, Z + W),
    (lambda z, w: Complex(ct.where(z == w, 1.0, 2.0), ct.where(z < 3.0, 1.0, 2.0)),
     np.where(Z == W, 1, 2) + 1j * np.where(abs(Z) < 3, 1, 2)),
], ids=["add", "mul", "rmul", "neg", "invert", "matmul", "abs", "iadd", "compare"])
def test_operators(function: Any, want: Any) -> None:
    np.testing.assert_allclose(result(function), want)


class Interval(NamedTuple):
    """Sides by name: what it has no operators for it does as a tuple."""

    low: Any
    high: Any

    def __mul__(self, other):
        ends = tuple(x * y for x in self for y in other)
        return Interval(functools.reduce(min, ends), functools.reduce(max, ends))

    def __rsub__(self, number):
        return Interval(number - self.high, number - self.low)


def test_operators_of_named_tuples() -> None:
    @ct.tile_kernel
    def kernel(x, out):
        a, b = Interval(x, x + 2.0), Interval(-1.0, 3.0)
        for i, value in enumerate(a * b + (1.0 - a)):
            ct.store(out, i, value)

    out = np.zeros(4)
    kernel[(1,)](2.0, out)
    assert out.tolist() == [-4, 12, -3, -1]


def test_an_operator_that_is_not_there() -> None:
    with pytest.raises(ct.TileTypeError, match="-: expected a tile or a number, got a Complex object"):
        result(lambda z, w: z - w)


def test_constants(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel():
        n = ct.zeros((16,), ct.float32).shape[0]
        print(math.sqrt(n), math.ceil(n / 3), math.log2(n), math.gcd(n, 6), math.prod((2, n)), math.isclose(n, 16.0))
        print((3, n, 3).index(n), (3, n, 3).count(3))
        print(tuple(i * n for i in range(3)), tuple(a for a in (n, 1, 2) if a < n))

    kernel[(1,)]()
    assert capfd.readouterr().out.splitlines() == [
        "4.0 6 4.0 2 32 True", "1 2", "(0, 16, 32) (1, 2)"]


def test_methods_of_constants(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(name: ct.Constant[str], n: ct.Constant[int]):
        print(n.bit_length(), (-n).bit_count(), 2.0.is_integer(), name.upper(), name.removeprefix("re"))
        ct.static_assert(name.startswith(("re", "si")) and not name.endswith("lu ") and name.find("l") == 2)
        rounds = n.bit_length() - 1
        t = ct.zeros((1 << rounds,), ct.int32)
        print(t.shape)

    kernel[(1,)]("relu", 12)
    assert capfd.readouterr().out.splitlines() == ["4 2 True RELU lu", "(8,)"]


def test_identity_of_what_there_is_once(capfd: pytest.CaptureFixture[str]) -> None:
    def relu(t: Any) -> Any:
        return ct.maximum(t, 0.0)

    @ct.tile_kernel
    def kernel(x, act: ct.Constant[Any], causal: ct.Constant[bool]):
        print(x.dtype is ct.float16, x.dtype is not ct.float32, act is relu, act == relu, act is ct.exp, causal is True)

    kernel[(1,)](np.zeros(1, np.float16), relu, False)
    kernel[(1,)](np.zeros(1, np.float32), ct.exp, True)
    assert capfd.readouterr().out.splitlines() == [
        "True True True True False False", "False False False False True True"]


@functools.cache
def cube(t: Any) -> Any:
    return t * t * t


class Parts(enum.IntFlag):
    BIAS = 1
    SCALE = 2


def test_functions_that_keep_their_results_and_flags(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(parts: ct.Constant[Parts]) -> None:
        t = ct.full((2,), 3.0, ct.float32)
        print(cube(t), cube(2), Parts.BIAS in parts, Parts.SCALE in parts)

    kernel[(1,)](Parts.BIAS)
    assert capfd.readouterr().out == "[27.000000, 27.000000] 8 True False\n"


def test_partial_functions(capfd: pytest.CaptureFixture[str]) -> None:
    def scaled(t: Any, by: float, shift: float = 0.0) -> Any:
        return t * by + shift

    double = functools.partial(scaled, by=2.0)
    half_up = functools.partial(functools.partial(scaled, shift=1.0), by=0.5)
    at_most = functools.partial(ct.minimum, 3.0)
    wrong: Any = functools.partial(scaled, **{"by": {2.0}})  # type: ignore[arg-type]

    @ct.tile_kernel
    def kernel():
        t = ct.arange(4, dtype=ct.float32)
        print(double(t), double(t, by=4.0, shift=1.0), half_up(t), at_most(t * t))

    @ct.tile_kernel
    def refused():
        wrong(ct.zeros((4,), ct.float32))

    kernel[(1,)]()
    assert capfd.readouterr().out.replace(".000000", "").replace("00000", "") == (
        "[0, 2, 4, 6] [1, 5, 9, 13] [1, 1.5, 2, 2.5] [0, 1, 3, 3]\n")
    with pytest.raises(ct.TileTypeError, match="what functools.partial holds is a set"):
        refused[(1,)]()


def test_unpacking_what_is_generated(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(x):
        a, b, c = (ct.load(x, i, 2) for i in range(3))
        d, e = (ct.sum(t) for t in (a, b))
        print(a + b, c, d, e)

    @ct.tile_kernel
    def too_many():
        _a, _b = (i for i in range(3))

    kernel[(1,)](np.arange(6, dtype=np.int32))
    assert capfd.readouterr().out == "[2, 4] [4, 5] 1 5\n"
    with pytest.raises(ct.TileValueError, match="too many values to unpack: expected 2, got 3"):
        too_many[(1,)]()


def test_generators_reversal_and_repetition(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(x):
        total = sum(ct.load(x, i, 2) for i in reversed(range(3)))
        print(total, sum((1, 2.5), start=3), sum(ct.load(x, i, ()) > 0 for i in range(3)))
        print(*(2 * i for i in (1, 2)), max(i * i for i in range(4)), all(i < 3 for i in range(4)), reversed((1, 2)))
        print(tuple(enumerate(range(6, 2, -2))), functools.reduce(lambda a, b: a - b, (9, 2, 3)), ("ab" * 2, (1,) * 2))

    kernel[(1,)](np.arange(6, dtype=np.int32))
    assert capfd.readouterr().out.splitlines() == [
        "[6, 9] 6.5 2", "2 4 9 False (2, 1)", "((0, 6), (1, 4)) 4 ('abab', (1, 1))"]


def test_and_or_of_constants_are_one_of_them(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel(n, bias=None, size: ct.Constant[int] = 0):
        print(size or 128, bias or "none", n and (bias or 3), bias and 1 / 0, (size or n) + 1, size == 0 and n)

    kernel[(1,)](5)
    assert capfd.readouterr().out == "128 none 1 None 6 5\n"


def test_refusals() -> None:
    @ct.tile_kernel
    def root():
        math.sqrt(ct.bid(0))

    @ct.tile_kernel
    def domain():
        math.sqrt(-1.0)

    @ct.tile_kernel
    def absent():
        (1, 2).index(3)

    @ct.tile_kernel
    def missing():
        "relu".index("x")

    @ct.tile_kernel
    def splitting():
        "a b".split()

    for kernel, error, words in ((root, ct.TileError, "math.sqrt cannot be called"),
                                 (absent, ct.TileValueError, "which is not in the tuple"),
                                 (missing, ct.TileValueError, "index: substring not found"),
                                 (splitting, ct.TileTypeError, "has no attribute split"),
                                 (domain, ct.TileValueError, "math.sqrt: ")):
        with pytest.raises(error, match=words):
            kernel[(1,)]()


def test_methods_of_tiles_in_static_eval(capfd: pytest.CaptureFixture[str]) -> None:
    @ct.tile_kernel
    def kernel():
        t = ct.arange(8, dtype=ct.int32)
        print(ct.static_eval(t.reshape((2, 4)).transpose().shape), ct.static_eval(t.astype(ct.float16).dtype))
        print(ct.static_eval(t.reshape((4, 2))))

    kernel[(1,)]()
    assert capfd.readouterr().out.splitlines() == ["(4, 2) float16", "[[0, 1], [2, 3], [4, 5], [6, 7]]"]
