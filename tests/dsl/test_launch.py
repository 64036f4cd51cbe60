"""Launches on host arrays: they run in the interpreter, in place; wrong arguments are refused before anything runs."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw


@tw.tile_kernel
def add(x, y, z):
    i = tw.bid(0)
    tw.store(z, (i,), tw.load(x, (i,), (16,)) + tw.load(y, (i,), (16,)))


@tw.tile_kernel
def axpy(x, y, a, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(y, (i,), a * tw.load(x, (i,), (n,)) + tw.load(y, (i,), (n,)))


def arrays(n: int = 100, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
    return np.arange(n).astype(dtype), np.ones(n, dtype), np.zeros(n, dtype)


def test_forms() -> None:
    x, y, z = arrays()
    add[(7,)](x, y, z)
    assert np.array_equal(z, x + 1)
    z[:] = 0
    add[7](x, y, z, stream=None)
    assert np.array_equal(z, x + 1)
    z[:] = 0
    tw.launch(None, (7,), add, (x, y, z))
    assert np.array_equal(z, x + 1)
    z[:] = 0
    add.interpret((7,), x, y, z)
    assert np.array_equal(z, x + 1)
    z[:] = 0
    add.interpret((7,), x, y, z, mode="single")
    assert np.array_equal(z, x + 1)


def test_grid_smaller_than_the_array() -> None:
    x, y, z = arrays()
    add[(2,)](x, y, z)
    assert np.array_equal(z[:32], x[:32] + 1) and not z[32:].any()


def test_views() -> None:
    x, y, z = (np.zeros((100, 3), np.float32) for _ in range(3))
    x[:, 1], y[:, 0] = np.arange(100), 1
    add[(7,)](x[::-1, 1], y[:, 0], z[:, 2])
    assert np.array_equal(z[:, 2], np.arange(100)[::-1] + 1) and not z[:, :2].any()
    base = np.arange(200, dtype=np.float32)
    add[(7,)](base[::2], base[::2], base[1::2])
    assert np.array_equal(base[1::2], 2 * base[::2]), "interleaved views do not overlap"


def test_scalars_and_constants() -> None:
    x, y, _ = arrays()
    axpy[(4,)](x, y, 2.5, 32)
    assert np.array_equal(y, np.float32(2.5) * x + 1)
    axpy[(2,)](x, y, -1, 64)
    assert np.array_equal(y, np.float32(1.5) * x + 1)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int32):
        x, y, z = torch.arange(100).to(dtype), torch.ones(100, dtype=dtype), torch.zeros(100, dtype=dtype)
        add[(7,)](x, y, z)
        assert torch.equal(z, x + y)
    x, y = torch.ones(100), np.ones(100, np.float32)
    z = torch.nn.Parameter(torch.zeros(100), requires_grad=False)
    add[(7,)](x, y, z)
    assert float(z.sum()) == 200


def test_bfloat16() -> None:
    x, y, z = arrays(dtype=ml_dtypes.bfloat16)
    add[(7,)](x, y, z)
    assert np.array_equal(z, x + y)


def test_nothing_runs() -> None:
    x, y, z = arrays()
    for grid in ((0,), (7, 0), (0, 0, 0)):
        add[grid](x, y, z)
    assert not z.any()
    empty = np.zeros(0, np.float32)
    add[(3,)](empty, empty, empty.copy())


def test_refused_before_anything_runs() -> None:
    x, y, z = arrays()
    frozen = z.copy()
    frozen.flags.writeable = False
    refused: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
        (TypeError, "takes 3 arguments", (x, y)),
        (ValueError, "'z' is read-only", (x, y, frozen)),
        (TypeError, "'x': arrays of dtype complex64", (x.astype(np.complex64), y, z)),
        (TypeError, "'x' is an object of type object", (object(), y, z)),
        (tw.TileTypeError, "load", (x[:, None], y, z)),
        (TypeError, "'x' is a specification", (tw.spec("f32[100]"), y, z)),
    ]
    for error, message, args in refused:
        with pytest.raises(error, match=message):
            add[(7,)](*args)
        assert not z.any(), message
    for grid in ((1 << 24,), (-1,), (1, 1, 1, 1)):
        with pytest.raises(ValueError, match="grid"):
            add[grid](x, y, z)
    read_only_input = x.copy()
    read_only_input.flags.writeable = False
    add[(7,)](read_only_input, y, z)
    assert z.any()


def test_launch_function_refusals() -> None:
    x, y, z = arrays()
    refused: list[tuple[type[Exception], tuple[Any, ...]]] = [
        (TypeError, (None, [7], add, (x, y, z))), (TypeError, (None, (7,), add, [x, y, z])),
        (TypeError, (None, (7,), add.__wrapped__, (x, y, z))), (ValueError, (None, (1, 2, 3, 4), add, (x, y, z))),
        (TypeError, ("stream", (7,), add, (x, y, z))),
    ]
    for error, args in refused:
        with pytest.raises(error):
            tw.launch(*args)
    with pytest.raises(RuntimeError, match="no keyword 'colour'"):
        tw.launch(None, (7,), add, (x, y, z), colour=1)  # type: ignore[arg-type]
    assert not z.any()


def test_mistakes_leave_outputs_alone() -> None:
    """A kernel that is wrong anywhere runs nowhere: not up to the mistake, and not in other blocks."""

    def late_mistake(x, y):
        tw.store(x, (0,), tw.full((16,), 1.0, tw.float32))
        if tw.bid(0) > 0:
            tw.store(x, (0,), y)

    def late_failure(x, y):
        tw.store(x, (0,), tw.full((16,), 1.0, tw.float32))
        tw.static_assert(x.ndim == 2)

    for function in (late_mistake, late_failure):
        x, y = np.zeros(16, np.float32), np.zeros(16, np.float32)
        with pytest.raises(tw.TileError):
            tw.tile_kernel(function)[(2,)](x, y)
        assert not x.any()


def test_a_list_is_no_grid() -> None:
    x, y, z = arrays()
    for grid in ([7], 7.0, "7", None):
        with pytest.raises(TypeError, match="grid"):
            add[grid](x, y, z)


FACTOR = 1


def test_globals_are_captured_once() -> None:
    def run(kernel: Any) -> float:
        z = np.zeros(16, np.float32)
        kernel[(1,)](z)
        return float(z[0])

    global FACTOR
    FACTOR = 2

    @tw.tile_kernel
    def kernel(z):
        tw.store(z, (0,), tw.full((16,), FACTOR, tw.float32))

    assert run(kernel) == 2
    FACTOR = 3
    assert run(kernel) == 2


def test_starred_parameters_are_refused_with_their_place() -> None:
    @tw.tile_kernel
    def starred(x, *rest):
        tw.store(x, (0,), tw.zeros((16,), tw.float32))

    for args in ((), (np.zeros(16, np.float32),), (np.zeros(16, np.float32), 1, 2)):
        with pytest.raises(tw.TileSyntaxError, match="rest"):
            starred[(1,)](*args)


PROGRAM = """
import numpy as np, tilewright as tw
from tilewright.launching import launcher
assert launcher.FORCE_INTERPRETER
"""


def test_environment_forces_the_interpreter() -> None:
    environment = {**os.environ, "TILEWRIGHT_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, env=environment)
