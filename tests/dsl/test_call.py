"""How kernels are called: keywords and defaults, None, constants of every kind, NumPy scalars, methods, Literal."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@tw.tile_kernel
def axpy(x, out, a=2.0, bias=None, n: tw.Constant[int] = 4):
    t = tw.load(x, tw.bid(0), n) * a
    if bias is not None:
        t += tw.load(bias, tw.bid(0), n)
    tw.store(out, tw.bid(0), t)


def run(kernel: Any, *args: Any, **named: Any) -> list[float]:
    """What a kernel with an output `out` of four elements makes."""
    out = np.zeros(4, np.float32)
    kernel[1](*args, out=out, **named)
    return list(out)


X = np.arange(4, dtype=np.float32)


def test_keywords_and_defaults() -> None:
    assert run(axpy, X) == [0, 2, 4, 6]
    assert run(axpy, x=X, a=3) == [0, 3, 6, 9]
    assert run(axpy, X, bias=X) == [0, 3, 6, 9]
    assert run(axpy, X, bias=X, a=1.0, n=2) == [0, 2, 0, 0]
    out = np.zeros(4, np.float32)
    axpy.interpret(1, X, out, n=4, mode="single")
    assert list(out) == [0, 2, 4, 6]
    f = tw.spec("f32[4]")
    assert axpy.ir(f, f) == axpy.ir(f, out=f, n=4, bias=None) != axpy.ir(f, f, bias=f)
    assert axpy.ptx(f, out=f, target="sm_80") == axpy.ptx(f, f, 2.0, None, 4, target="sm_80")


def test_keyword_only() -> None:
    @tw.tile_kernel
    def kernel(x, *, out, times=1):
        tw.store(out, 0, tw.load(x, 0, 4) * times)

    assert run(kernel, X) == [0, 1, 2, 3]
    assert run(kernel, X, times=2) == [0, 2, 4, 6]
    with pytest.raises(TypeError, match=r"takes 3 arguments \(x, out, times\), but 2 were given; those behind \* are"):
        kernel[1](X, X.copy())
    out = np.zeros(4, np.float32)
    tw.launch(None, (1,), kernel, (X, out, 3))
    assert list(out) == [0, 3, 6, 9], "a tuple is by position"


@pytest.mark.parametrize(("args", "named", "message"), [
    ((), {}, r"takes 5 arguments \(x, out, a, bias, n\), but 0 were given"),
    ((X,), {}, r"takes 5 arguments \(x, out, a, bias, n\), but 1 was given"),
    ((X,), {"n": 4}, "'out' is missing"),
    ((X, X, 1, None, 4, 5), {}, "but 6 were given"),
    ((X, X), {"x": X}, "'x' is given twice, by position and by name"),
    ((X, X), {"bais": X}, "has no parameter 'bais'; did you mean bias"),
    ((X, X), {"color": 3}, "has no parameter 'color'; it takes x, out, a, bias, n"),
])
def test_wrong_calls(args: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        axpy[1](*args, **named)
    with pytest.raises(TypeError, match=message):
        axpy.ir(*args, **named)


def test_launch_takes_all_by_position() -> None:
    with pytest.raises(TypeError, match="also those that have a default"):
        tw.launch(None, (1,), axpy, (X, X))


class Mode(enum.Enum):
    """How."""

    ADD = "add"
    NEGATE = "negate"


class Level(enum.IntEnum):
    """How much."""

    LOW = 1
    HIGH = 3


@dataclass(frozen=True)
class Options:
    """What a kernel shall do."""

    scale: float
    dtype: Any = tw.float32


class Pair(NamedTuple):
    """Two that belong together."""

    first: Any
    second: Any


def twice(t: Any) -> Any:
    return t * 2


def thrice(t: Any) -> Any:
    return t * 3


@tw.tile_kernel
def modes(x, out, mode: tw.Constant[Any]):
    t = tw.load(x, 0, 4)
    if mode == "negate" or mode is Mode.NEGATE:
        t = -t
    elif mode is None or mode is Mode.ADD:
        t = t + 1
    tw.store(out, 0, t)


@tw.tile_kernel
def applied(x, out, f: tw.Constant[Any]):
    tw.store(out, 0, f(tw.load(x, 0, 4)))


@tw.tile_kernel
def configured(x, out, options: tw.Constant[Any]):
    tw.store(out, 0, (tw.load(x, 0, 4) * options.scale).astype(options.dtype).astype(out.dtype))


@tw.tile_kernel
def filled(out, dtype: tw.Constant[Any], value: tw.Constant[Any]):
    tw.store(out, 0, tw.full((4,), value, dtype).astype(out.dtype))


@tw.tile_kernel
def paired(x, out, pair: tw.Constant[Any]):
    low, high = pair
    tw.store(out, 0, tw.load(x, 0, 4) * pair.first + (pair[1] + high - low))


def test_constants_of_every_kind() -> None:
    assert run(modes, X, mode="negate") == run(modes, X, mode=Mode.NEGATE) == [0, -1, -2, -3]
    assert run(modes, X, mode=None) == run(modes, X, mode=Mode.ADD) == [1, 2, 3, 4]
    assert run(applied, X, f=twice) == [0, 2, 4, 6]
    assert run(applied, X, f=thrice) == [0, 3, 6, 9]
    assert run(applied, X, f=tw.exp2) == [1, 2, 4, 8]
    assert run(configured, X, options=Options(1.5)) == [0, 1.5, 3, 4.5]
    assert run(configured, X, options=Options(1.5, tw.int32)) == [0, 1, 3, 4]
    assert run(configured, X, options=Options(1.5, np.dtype("int32"))) == [0, 1, 3, 4]
    assert run(paired, X, pair=Pair(2, 5)) == [8, 10, 12, 14]
    for dtype in (tw.int8, np.int8, np.dtype("int8")):
        assert run(filled, dtype=dtype, value=-3) == [-3] * 4
    assert run(filled, dtype=tw.int32, value=Level.HIGH) == [3] * 4
    assert run(filled, dtype=tw.float32, value=np.float64(0.1)) == [np.float32(0.1)] * 4


def test_each_constant_is_a_specialisation() -> None:
    x = tw.spec("f32[4]")
    texts = {applied.ir(x, x, f) for f in (twice, thrice, tw.exp2)}
    texts |= {configured.ir(x, x, Options(s, d)) for s, d in ((1.0, tw.float32), (2.0, tw.float32), (1.0, tw.int32))}
    assert len(texts) == 6
    assert run(filled, dtype=tw.int32, value=1) == run(filled, dtype=tw.int32, value=True) == [1] * 4
    assert np.signbit(run(filled, dtype=tw.float32, value=-0.0)).all()
    assert not np.signbit(run(filled, dtype=tw.float32, value=0.0)).any()


def test_named_tuples_of_arrays() -> None:
    @tw.tile_kernel
    def kernel(pair, out):
        tw.store(out, 0, tw.load(pair.first, 0, 4) * pair.second)

    assert run(kernel, Pair(X, 2.0)) == [0, 2, 4, 6]
    with pytest.raises(tw.TileTypeError, match="tuple of 2 has no attribute first"):
        run(kernel, (X, 2.0))


@tw.tile_kernel
def cast(out, value):
    tw.store(out, 0, tw.full((4,), value, value.dtype).astype(out.dtype))


SCALARS: list[tuple[Any, str]] = [
    (np.int8(-5), "int8"), (np.uint8(200), "uint8"), (np.int16(-300), "int16"), (np.int32(7), "int32"),
    (np.int64(1 << 20), "int64"), (np.uint64(3), "uint64"), (np.bool_(True), "bool_"), (np.float16(1.5), "float16"),
    (np.float32(0.1), "float32"), (np.float64(0.1), "float32"), (ml_dtypes.bfloat16(1.5), "bfloat16"),
    (Level.HIGH, "int32"), (True, "bool_"), (3, "int32"), (0.5, "float32"),
]


@pytest.mark.parametrize(("value", "dtype"), SCALARS, ids=str)
def test_scalars_keep_their_dtype(value: Any, dtype: str) -> None:
    @tw.tile_kernel
    def kernel(out, value):
        tw.static_assert(value.dtype == getattr(tw, dtype))
        tw.store(out, 0, tw.full((4,), value, value.dtype).astype(out.dtype))

    wanted = [np.float32(value)] * 4
    assert run(kernel, value=value) == wanted
    out = np.zeros(4, np.float32)
    simulate(kernel, (1,), (out, value), "sm_80")
    assert list(out) == wanted


def test_scalars_on_the_short_way(cuda: FakeCuda) -> None:
    bits = {np.float16: np.uint16, ml_dtypes.bfloat16: np.uint16}
    out = tw.to_device(np.zeros(4, np.float32))
    for _ in range(4):
        for value, _dtype in SCALARS:
            cast[1](out, value)
            got = cuda.launches[-1].params[3]
            if type(value) in bits:
                assert int.from_bytes(got, "little") == int(np.asarray(value).view(bits[type(value)]))
            elif isinstance(got, float):
                assert np.float32(got) == np.float32(value)
            else:
                assert (got - int(value)) % 256 == 0
    assert len(cuda.linked) == len({dtype for _, dtype in SCALARS})


def test_constants_on_the_short_way(cuda: FakeCuda) -> None:
    x, out = tw.to_device(X), tw.to_device(X)
    for _ in range(4):
        for mode in ("negate", "add", None, Mode.ADD, Mode.NEGATE):
            modes[1](x, out, mode)
        axpy[1](x, out)
        axpy[1](x, out, bias=x)
        assert len(cuda.launches[-1].params) == 3 * 3 + 1
        axpy[1](x, out, bias=None, a=np.float64(0.5))
        assert cuda.launches[-1].params[6:] == [0.5]
    assert len(cuda.linked) == 7


def dtype_of(number: Any) -> Any:
    return number.dtype


def test_an_annotated_int_takes_numpy_integers() -> None:
    @tw.tile_kernel
    def kernel(out, n: tw.ScalarInt64):
        tw.static_assert(dtype_of(n) == tw.int64)
        tw.store(out, 0, tw.full((4,), n, tw.int64).astype(out.dtype))

    assert run(kernel, n=np.int32(5)) == [5] * 4


Act = Literal["relu", "none"]


@tw.tile_kernel
def activation(x, out, act: Act = "none", power: tw.Constant[Literal[1, 2]] = 1, how: Literal["up"] | None = None):
    t = tw.load(x, 0, 4) - 2.0
    if power == 2:
        t = t * t
    if how == "up":
        t = t + 10.0
    tw.store(out, 0, tw.maximum(t, 0.0) if act == "relu" else t)


def test_literals() -> None:
    assert run(activation, X) == [-2, -1, 0, 1]
    assert run(activation, X, act="relu") == [0, 0, 0, 1]
    assert run(activation, X, power=2) == [4, 1, 0, 1]
    assert run(activation, X, how="up") == [8, 9, 10, 11]
    with pytest.raises(ValueError, match=r"'act' must be 'relu' or 'none', as its annotation says, not 'gelu'"):
        run(activation, X, act="gelu")
    with pytest.raises(ValueError, match=r"'power' must be 1 or 2, as its annotation says, not 3"):
        run(activation, X, power=3)
    with pytest.raises(ValueError, match="'power' must be 1 or 2"):
        run(activation, X, power=True)
    with pytest.raises(ValueError, match="'how' must be 'up' or None"):
        run(activation, X, how="down")


def test_what_exists_only_while_compiling_needs_its_annotation() -> None:
    @tw.tile_kernel
    def kernel(out, mode):
        tw.store(out, 0, tw.zeros((4,), tw.float32))

    for value, words in (("fast", "the string 'fast'"), (Mode.ADD, "Mode.ADD"), (tw.int8, "the dtype int8"),
                         (twice, "the function twice"), (Options(1.0), "an object of type")):
        with pytest.raises(TypeError, match=f"'mode' is {words}.*annotate the parameter with Constant"):
            run(kernel, mode=value)
    for value in ({"a": 1}, object(), np.complex64(1), np.datetime64("2020-01-01")):
        with pytest.raises(TypeError, match="'mode' is .*which a kernel cannot take"):
            run(kernel, mode=value)


@dataclass
class Loose:
    """Not frozen."""

    scale: float = 1.0


def test_what_is_no_constant() -> None:
    for value in ({"a": 1}, [1], object(), X):
        with pytest.raises(TypeError, match="'options' is a Constant and must be a number, a str, a dtype"):
            run(configured, X, options=value)
    with pytest.raises(TypeError, match="'options' is a Loose, a dataclass that is not frozen"):
        run(configured, X, options=Loose())
    with pytest.raises(TypeError, match=r"'options.scale' is a Constant"):
        run(configured, X, options=Options(X))  # type: ignore[arg-type]


class Model:
    """A user's class."""

    @staticmethod
    @tw.tile_kernel
    def inner(x, out):
        tw.store(out, 0, tw.load(x, 0, 4) + 1.0)

    @tw.tile_kernel
    @staticmethod
    def outer(x, out):
        tw.store(out, 0, tw.load(x, 0, 4) + 2.0)


def test_methods() -> None:
    assert run(Model.inner, X) == [1, 2, 3, 4]
    assert run(Model().outer, X) == [2, 3, 4, 5]
    with pytest.raises(TypeError, match=r"is a method: its first parameter is self.*write @staticmethod above it"):
        class Wrong:
            """A method."""

            @tw.tile_kernel
            def kernel(self, x):
                pass


def test_annotations_do_not_mix() -> None:
    with pytest.raises(TypeError, match="as a Constant and as a scalar"):
        @tw.tile_kernel
        def kernel(x, n: Annotated[Literal[1, 2], tw.ScalarAnnotation()]):
            pass
