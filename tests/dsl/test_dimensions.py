"""Names of dimensions in annotations, the grid that they give, and kernels that shall be deterministic."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined, valid-type, misc"

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    yield fake_cuda.install(monkeypatch)
    fake_cuda.uninstall()


@tw.tile_kernel(grid="cdiv(M, TM), cdiv(N, TN)")
def matmul(
    a: tw.Array["M", "K"], b: tw.Array["K", "N"], c: tw.Array["M", "N"], bias: tw.Array["N"] | None = None,
    TM: tw.Constant[int] = 16, TN: tw.Constant[int] = 16,
):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((TM, TN), tw.float32)
    for k in range(tw.num_tiles(a, 1, (TM, 16))):
        acc = tw.mma(tw.load(a, (i, k), (TM, 16), padding_mode=tw.PaddingMode.ZERO),
                     tw.load(b, (k, j), (16, TN), padding_mode=tw.PaddingMode.ZERO), acc)
    if bias is not None:
        acc = acc + tw.load(bias, j, TN)
    tw.store(c, (i, j), acc)


def ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


def test_the_grid_follows_from_the_shapes() -> None:
    for m, k, n in ((40, 50, 33), (16, 16, 16), (1, 5, 100)):
        c = ones(m, n)
        matmul(ones(m, k), ones(k, n), c)
        assert (c == k).all()
        matmul(ones(m, k), ones(k, n), c=c, bias=ones(n), TM=32)
        assert (c == k + 1).all()


WRONG = [
    ((ones(40, 50), ones(32, 33), ones(40, 33)),
     r"'b': axis 0 has length 32, but must have K = 50 \(K is that of axis 1 of 'a'\)"),
    ((ones(40, 50), ones(50, 33), ones(40, 34)), "'c': axis 1 has length 34, but must have N = 33"),
    ((ones(40, 50), ones(50), ones(40, 33)), r"'b' must have 2 axes \(K, N\), but has 1"),
    ((ones(40, 50), ones(50, 33), ones(40, 33), ones(40)), "'bias': axis 0 has length 40, but must have N = 33"),
]


@pytest.mark.parametrize(("args", "message"), WRONG)
def test_shapes_that_do_not_agree(args: tuple[Any, ...], message: str) -> None:
    for call in (matmul, matmul[1, 1], matmul.ir):
        with pytest.raises(ValueError, match=message):
            call(*args)


def test_a_grid_that_is_not_the_decorators(cuda: FakeCuda) -> None:
    """On the host, and on both ways of a launch on a GPU."""
    kernel = tw.tile_kernel(grid="cdiv(M, TM), cdiv(N, TN)")(matmul.__wrapped__)
    host = (ones(40, 50), ones(50, 33), ones(40, 33))
    for args in (host, tuple(map(tw.to_device, host))):
        for _ in range(3):
            kernel[3, 3](*args)
            kernel[2, 3](*args, TM=32)
            with pytest.raises(ValueError, match=r"the grid is \(3, 2, 1\), but the decorator of kernel matmul gives "
                                                 r"\(3, 3, 1\) for these arguments; leave it out: matmul\(...\)"):
                kernel[3, 2](*args)
            with pytest.raises(ValueError, match="the decorator of kernel matmul"):
                tw.launch(None, (3,), kernel, (*args, None, 16, 16))
    assert len(cuda.launches) == 6


def test_on_the_short_way(cuda: FakeCuda) -> None:
    a, b, c, wrong = (tw.to_device(ones(*s)) for s in ((40, 50), (50, 33), (40, 33), (32, 33)))
    for _ in range(4):
        matmul(a, b, c)
        assert cuda.launches[-1].grid == (3, 3, 1)
        matmul(a, b, c, TM=32, stream=7)
        assert cuda.launches[-1].grid == (2, 3, 1) and cuda.launches[-1].stream == 7
        with pytest.raises(ValueError, match="'b': axis 0 has length 32"):
            matmul(a, wrong, c)
    assert len(cuda.linked) == 2 and len(cuda.launches) == 8


@tw.tile_kernel(grid="N // W, n")
def windows(x: tw.Array["2*N + 1", 3], y: tw.Array["_", "N"], out: tw.Array["cdiv(N, W)", "W"],
            n: int, W: tw.Constant[int] = 4):
    tw.store(out, (tw.bid(0), 0), tw.full((1, W), tw.bid(1) + 1, tw.float32))


def test_expressions_and_constants() -> None:
    out = np.zeros((2, 4), np.float32)
    windows(ones(17, 3), ones(5, 8), out, 3, W=4)
    assert (out == 3).all()
    windows.ir(tw.spec("f32[17,3]"), tw.spec("f32[?,8]"), tw.spec("f32[?,4]"), 1)
    for args, message in (
        ((ones(16, 3), ones(5, 8), out, 3), r"'x': axis 0 has length 16, but must have 2 \* N \+ 1 = 17"),
        ((ones(17, 4), ones(5, 8), out, 3), r"'x': axis 1 has length 4, but must have 3$"),
        ((ones(17, 3), ones(5, 8), out, 3, 2), r"'out': axis 0 has length 2, but must have cdiv\(N, W\) = 4"),
        ((ones(17, 3), ones(5, 8), ones(2, 5), 3), r"'out': axis 1 has length 5, but must have W = 4 \(W is th"),
    ):
        with pytest.raises(ValueError, match=message):
            windows(*args)


def test_dimensions_of_arrays_in_tuples() -> None:
    @tw.tile_kernel(grid="N")
    def kernel(pair: tuple[tw.Array["N"], tw.Array["N"]], out: tw.Array["_"]):
        tw.store(out, tw.bid(0), tw.full((1,), tw.num_blocks(0), tw.float32))

    out = np.zeros(4, np.float32)
    kernel((ones(3), ones(3)), out)
    assert list(out) == [3, 3, 3, 0]
    with pytest.raises(ValueError, match=r"'pair\[1\]': axis 0 has length 4, but must have N = 3"):
        kernel((ones(3), ones(4)), out)


def test_in_place_with_names_is_one_array() -> None:
    @tw.tile_kernel(grid="cdiv(N, 4)")
    def kernel(x: tw.Array["N"], out: tw.Array["N"]):
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), 4) + 1.0)

    x = ones(10)
    kernel(x, x)
    assert (x == 2).all() and "same=((1, 0))" in kernel.ir(x, x)


def made(grid: Any = None, **annotations: Any) -> Any:
    def kernel(a: Any, b: Any) -> None: ...

    kernel.__annotations__ = annotations
    return tw.tile_kernel(kernel, grid=grid)


@pytest.mark.parametrize(("annotations", "message"), [
    ({"a": tw.Array["2*N"]}, r"parameter 'a': nothing tells what N is in the dimension 2 \* N"),
    ({"a": tw.Array["N +"]}, r"parameter 'a': 'N \+' is no expression of names and ints"),
    ({"a": tw.Array["N / 2"]}, "no expression"), ({"a": tw.Array["f(N)"]}, "no expression"),
    ({"a": tw.Array["M, N"]}, "is no dimension; write names"), ({"a": tw.Array[1.5]}, "no expression"),
    ({"a": tw.Array["b"]}, "the dimension b names the parameter b, whose value is known at run time only"),
    ({"a": tw.Array["N"], "grid": "M"}, "the grid of kernel kernel: nothing tells what M is in M"),
    ({"grid": "1, 2, 3, 4"}, "the grid of kernel kernel has 4 axes"),
    ({"grid": "x.shape[0]"}, "the grid of kernel kernel: 'x.shape.0.' is no expression"),
])
def test_wrong_names(annotations: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(**annotations)


def test_wrong_rules() -> None:
    with pytest.raises(TypeError, match="grid must be a string"):
        made(grid=(1, 2))
    with pytest.raises(TypeError, match="deterministic must be True or False"):
        tw.tile_kernel(deterministic=1)
    with pytest.raises(TypeError, match="cannot be called directly"):
        made()(1, 2)
    with pytest.raises(ValueError, match="divides by zero"):
        made(grid="a // b")(1, 0)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        made(grid="a")(1)
    with pytest.raises(ValueError, match="'b': axis 0 has length 6"):
        tw.launch(None, (1, 1), matmul, (ones(4, 5), ones(6, 7), ones(4, 7), None, 16, 16))


def test_replaced_hints_keep_the_rules() -> None:
    c = ones(20, 20)
    matmul.replace_hints(num_worker_warps=8)(ones(20, 3), ones(3, 20), c)
    assert (c == 3).all()


def test_deterministic() -> None:
    @tw.tile_kernel(deterministic=True)
    def floats(x):
        tw.atomic_add(x, 0, 1.0)

    @tw.tile_kernel(deterministic=True)
    def exchanged(x):
        tw.atomic_xchg(x, 0, tw.bid(0))

    @tw.tile_kernel(deterministic=True)
    def swapped(x):
        tw.atomic_cas(x, 0, 0, tw.bid(0))

    @tw.tile_kernel(deterministic=True)
    def ticket(x):
        tw.store(x, 1, tw.atomic_add(x, 0, 1))

    for kernel, dtype, words in ((floats, np.float32, "the rounding of a sum by atomic_add of floats"),
                                 (exchanged, np.int32, "what atomic_xchg leaves"),
                                 (swapped, np.int32, "what a compare-and-swap stores"),
                                 (ticket, np.int32, "the old value that atomic_add gives")):
        x = np.zeros(2, dtype)
        for call in (kernel[3], lambda x, kernel=kernel: kernel.ptx(x, target="sm_80")):
            with pytest.raises(tw.TileUnsupportedFeatureError, match=f"{words} depends on the order in which blocks"):
                call(x)
        tw.tile_kernel(kernel.__wrapped__)[3](x)

    @tw.tile_kernel(deterministic=True)
    def counted(x, y, z):
        tw.atomic_add(x, 0, 1)
        tw.atomic_max(x, 1, tw.bid(0))
        tw.atomic_min(z, 0, 1.5 - tw.bid(0))
        tw.store(y, tw.bid(0), tw.sum(tw.load(y, tw.bid(0), 4)))

    x, y, z = np.zeros(2, np.int32), ones(12), np.zeros(1, np.float32)
    counted[3](x, y, z)
    assert list(x) == [3, 2] and z[0] == -0.5
