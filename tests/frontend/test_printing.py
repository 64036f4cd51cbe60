"""What prints: enums, dataclasses and named tuples by their own methods; messages of assertions; through sys.stdout."""

from __future__ import annotations

import contextlib
import enum
import io
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.simulator import simulate


class Mode(enum.Enum):
    FAST = 1

    def __str__(self) -> str:
        return f"mode {self.name}"


class Level(enum.IntEnum):
    HIGH = 4


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any
    hidden: int = field(default=0, repr=False)


@dataclass(frozen=True)
class Complex:
    re: Any
    im: Any

    def __str__(self) -> str:
        return f"{self.re} + {self.im}i"


@dataclass(frozen=True)
class Named:
    x: Any

    def __repr__(self) -> str:
        return f"<{self.x}>"


class Pair(NamedTuple):
    a: Any
    b: Any


def printed(kernel: Any, *args: Any) -> str:
    """What the interpreter prints, and the generated code as well."""
    texts = []
    for run in (lambda: kernel[(1,)](*args), lambda: simulate(kernel, (1,), args, "sm_90a")):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            run()
        texts.append(text.getvalue())
    assert texts[0] == texts[1]
    return texts[0]


def test_objects_print_as_in_python() -> None:
    values = (Mode.FAST, Level.HIGH, Point(1, 2.0), Complex(1, 2), Named(3), Pair(1, Mode.FAST), Point(Named(1), "s"),
              None, (1, "a"))

    @ct.tile_kernel
    def kernel(x):
        for v in ct.static_iter(values):
            print(v, f"{v} {v!s} {v!r} {(v, 1)}", str(v), repr(v))

    want = [f"{v} {v} {v!s} {v!r} {(v, 1)} {v!s} {v!r}" for v in values]
    assert printed(kernel, np.zeros(1)).splitlines() == want


def test_objects_with_tiles() -> None:
    @ct.tile_kernel
    def kernel(x):
        i = ct.bid(0) + 2
        print(Complex(i, i + 1), Point(i, i * 2), Named(i), (Named(i), Complex(i, 1)))

    assert printed(kernel, np.zeros(1)) == "2 + 3i Point(x=2, y=4) <2> (<2>, Complex(re=2, im=1))\n"


@dataclass(frozen=True)
class Wrong:
    x: Any

    def __str__(self) -> Any:
        return self.x


def test_methods_that_give_no_string() -> None:
    @ct.tile_kernel
    def kernel(x):
        print(Wrong(ct.bid(0)))

    with pytest.raises(ct.TileTypeError, match="Wrong.__str__ returns an int32 scalar, expected a string"):
        kernel[(1,)](np.zeros(1))


@ct.tile_kernel
def checked(x, n: ct.Constant[int]):
    t = ct.load(x, (ct.bid(0), 0), (4, n))
    row, column = ct.arange(4, dtype=ct.int32)[:, None] + 4 * ct.bid(0), ct.arange(n, dtype=ct.int32)
    ct.assert_(t < 3, f"x[{row}, {column}] is {t:.2f} in block {ct.bid(0)}, 100%")


@pytest.mark.parametrize("n", [4, 256])
def test_a_message_shows_the_first_element_that_fails(n: int) -> None:
    x = np.zeros((8, n), np.float16)
    checked[(2,)](x, n)
    x[6, 2], x[7, 1] = 3.5, 9
    text = "x[6, 2] is 3.50 in block 1, 100%"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(Exception, match=r"x\[6, 2\] is 3.50 in block 1, 100%"):
        checked[(2,)](x, n)
    with contextlib.redirect_stdout(out), pytest.raises(Exception, match="trap"):
        simulate(checked, (2,), (x, n), "sm_80")
    lines = out.getvalue().splitlines()
    assert len(lines) == 2 and all(line.endswith(f"assertion failed: {text}") for line in lines)


def test_a_message_about_another_shape() -> None:
    @ct.tile_kernel
    def kernel(x):
        t = ct.load(x, 0, 4)
        ct.assert_(ct.max(t) < 3, f"{t}")

    with pytest.raises(ct.TileTypeError, match=r"shows a float32 tile of shape \(4,\), but the condition"):
        kernel[(1,)](np.zeros(4, np.float32))


def test_members_of_arrays_in_static_eval() -> None:
    @ct.tile_kernel
    def kernel(x):
        view = x.tiled_view((2, 4))
        print(ct.static_eval(x.slice(0, 0, 2).ndim), ct.static_eval(x.get_raw_memory().dtype == ct.float32),
              ct.static_eval(view.tile_shape), ct.static_eval(x.tiled_view((4, 1))).tile_shape,
              ct.static_eval(view.num_tiles(0)))
        t = ct.load(x, (0, 0), (2, 4))
        print(ct.static_eval(ct.sum(t, 1).shape), ct.static_eval(ct.flip(t, 0).reshape((-1,)).shape[0] * 2))

    assert printed(kernel, np.zeros((4, 4), np.float32)).splitlines() == ["2 True (2, 4) (4, 1) 2", "(2,) 16"]


def test_accesses_in_static_eval() -> None:
    @ct.tile_kernel
    def kernel(x):
        print(ct.static_eval(x.tiled_view(4).load(0)))

    with pytest.raises(ct.TileStaticEvalError, match="TiledView.load cannot be called here"):
        kernel[(1,)](np.zeros(4))


def test_characters_that_the_output_has_not() -> None:
    @ct.tile_kernel
    def kernel(out):
        ct.print("\u00e9", ct.load(out, 0, 1))

    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    with contextlib.redirect_stdout(ascii_only):
        kernel.interpret(1, np.ones(1, np.int32))
    assert ascii_only.buffer.getvalue() == b"\\xe9 [1]\n"
