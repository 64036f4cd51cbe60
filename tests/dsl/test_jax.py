"""Kernels inside programs of JAX: jit, vmap, grad, effects, and the names of cuTile's module."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined, valid-type, misc"

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.optional import optional

import tilewright as ct
import tilewright as tw


def test_every_name_of_the_module() -> None:
    assert set(ct.jax.__all__) == {"call", "cutile_call", "OutputPlaceholder", "InputOutput"}


def test_calls_need_jax() -> None:
    program = """
import sys, tilewright as tw
assert "jax" not in sys.modules
sys.modules["jax"] = None
for use in (lambda: tw.jax.call(None, (1,), None), lambda: tw.jax.cutile_call((1,), None, ())):
    try:
        use()
    except ImportError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "tw.jax needs JAX; install it with: pip install jax\n" * 2


@pytest.fixture(scope="module")
def jax() -> Any:
    return optional("jax")


@tw.tile_kernel
def softmax_rows(x, out, tile: tw.Constant[int]):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, tile), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (row, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def scaled_product(x, factor, y, out, largest):
    i = tw.bid(0)
    t = tw.load(x, i, 4) * tw.load(y, i, 4) * factor
    tw.store(out, i, t.astype(out.dtype))
    tw.store(largest, i, tw.max(t, axis=0, keepdims=True).astype(largest.dtype))


@tw.tile_kernel(grid="cdiv(N, 4)")
def accumulate(x: tw.Array["N"], total: tw.Array["N"]):
    i = tw.bid(0)
    tw.store(total, i, tw.load(total, i, 4) + tw.load(x, i, 4))


def softmax(jax: Any) -> Any:
    def function(x: Any) -> Any:
        out = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return tw.jax.call(softmax_rows, (x.shape[0],), out)(x, 8)

    return function


def values(jax: Any, *shape: int) -> Any:
    return jax.numpy.asarray(np.random.default_rng(sum(shape)).standard_normal(shape), jax.numpy.float32)


def test_jit(jax: Any) -> None:
    x = values(jax, 3, 6)
    before = np.array(x)
    for function in (softmax(jax), jax.jit(softmax(jax))):
        np.testing.assert_allclose(function(x), jax.nn.softmax(x, axis=1), rtol=1e-5)
    np.testing.assert_array_equal(before, x)


def test_in_a_larger_program(jax: Any) -> None:
    def step(x: Any, _: Any) -> tuple[Any, Any]:
        return softmax(jax)(x * 2) + 1, x.sum()

    def want(x: Any, _: Any) -> tuple[Any, Any]:
        return jax.nn.softmax(x * 2, axis=1) + 1, x.sum()

    x = values(jax, 2, 5)
    pairs = zip(jax.lax.scan(step, x, None, length=3), jax.lax.scan(want, x, None, length=3), strict=True)
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_vmap(jax: Any) -> None:
    x = values(jax, 4, 3, 6)
    for function in (jax.vmap(softmax(jax)), jax.jit(jax.vmap(softmax(jax), in_axes=1, out_axes=1))):
        np.testing.assert_allclose(function(x), jax.nn.softmax(x, axis=2), rtol=1e-5)


def test_grad(jax: Any) -> None:
    x, c = values(jax, 3, 6), values(jax, 3, 6)
    want = jax.grad(lambda x: (jax.nn.softmax(x, axis=1) * c).sum())(x)
    gradient = jax.grad(lambda x: (softmax(jax)(x) * c).sum())
    for function in (gradient, jax.jit(gradient)):
        np.testing.assert_allclose(function(x), want, rtol=1e-4, atol=1e-6)
    jacobian = jax.jacrev(softmax(jax))(x)
    np.testing.assert_allclose(jacobian, jax.jacrev(lambda x: jax.nn.softmax(x, axis=1))(x), rtol=1e-4, atol=1e-6)
    batched = jax.vmap(jax.grad(lambda x: (softmax(jax)(x[None]) * c[0]).sum()))(x)
    np.testing.assert_allclose(
        batched, jax.vmap(jax.grad(lambda x: (jax.nn.softmax(x) * c[0]).sum()))(x), rtol=1e-4, atol=1e-6)


def test_outputs_by_name_and_of_several_dtypes(jax: Any) -> None:
    x, y = values(jax, 8), values(jax, 8).astype(jax.numpy.bfloat16)
    shapes = {"largest": jax.ShapeDtypeStruct((2,), np.int32), "out": jax.ShapeDtypeStruct((8,), np.float32)}
    call = tw.jax.call(scaled_product, (2,), shapes)
    found = call(x, 3.0, y)
    product = np.asarray(x) * np.asarray(y, np.float32) * 3
    assert list(found) == ["out", "largest"]
    np.testing.assert_allclose(found["out"], product, rtol=1e-6)
    np.testing.assert_array_equal(found["largest"], product.reshape(2, 4).max(1).astype(np.int32))
    gx, gy = jax.grad(lambda x, y: call(x, 3.0, y)["out"].sum(), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(gx, np.asarray(y, np.float32) * 3, rtol=1e-6)
    assert gy.dtype == jax.numpy.bfloat16
    np.testing.assert_allclose(np.asarray(gy, np.float32), np.asarray(x) * 3, rtol=1e-2)


def test_wrt(jax: Any) -> None:
    x, y = values(jax, 4), values(jax, 4)
    shapes = {"largest": jax.ShapeDtypeStruct((1,), np.int32), "out": jax.ShapeDtypeStruct((4,), np.float32)}
    call = tw.jax.call(scaled_product, 1, shapes, wrt="x", stored_once="out")
    gx, gy = jax.grad(lambda x, y: call(x, 1.0, y)["out"].sum(), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(gx, y, rtol=1e-6)
    assert not np.asarray(gy).any()


def test_names_of_cutile(jax: Any) -> None:
    x, total = values(jax, 6), values(jax, 6)

    @jax.jit
    def both(x: Any, total: Any) -> Any:
        y = ct.jax.cutile_call((2,), accumulate, (x, ct.jax.InputOutput(total)))
        several = ct.jax.cutile_call((2,), scaled_product, (
            x, 2.0, y, ct.jax.OutputPlaceholder((6,), np.float32), ct.jax.OutputPlaceholder((2,), np.float32)))
        return y, several

    y, (out, largest) = both(x, total)
    np.testing.assert_allclose(y, x + total, rtol=1e-6)
    np.testing.assert_allclose(out, x * y * 2, rtol=1e-6)
    assert largest.shape == (2,)


def test_a_grid_of_the_decorator(jax: Any) -> None:
    out = ct.jax.cutile_call(None, accumulate, (jax.numpy.ones(6), ct.jax.InputOutput(jax.numpy.ones(6))))
    assert out.tolist() == [2.0] * 6


@tw.tile_kernel
def nonnegative(x, out, low: tw.Constant[float]):
    t = tw.load(x, 0, 4)
    tw.assert_(tw.min(t, axis=0) >= low, "too small")
    tw.store(out, 0, t)


def test_errors_of_a_launch_reach_the_program(jax: Any) -> None:
    function = jax.jit(tw.jax.call(nonnegative, 1, jax.ShapeDtypeStruct((4,), np.float32)), static_argnums=1)
    assert function(jax.numpy.ones(4), 0.0).sum() == 4
    with pytest.raises(Exception, match="TileAssertionError.*too small"):
        jax.block_until_ready(function(-jax.numpy.ones(4), -0.0))
    assert function(-jax.numpy.ones(4), -1.0).sum() == -4


def test_other_versions_of_xla_are_refused(jax: Any) -> None:
    """By the sizes of their structs."""
    from ctypes import pointer, sizeof

    from tilewright.jax import ffi

    def frame(**sizes: int) -> Any:
        made = ffi._Frame()
        made.struct_size, made.args.struct_size = sizeof(ffi._Frame), sizeof(ffi._Values)
        made.rets.struct_size, made.attributes.struct_size = sizeof(ffi._Values), sizeof(ffi._Attributes)
        for name, size in sizes.items():
            setattr(made, name, size)
        return made

    ffi.check_sizes(frame())
    with pytest.raises(ffi.UnknownLayout, match="XLA_FFI_CallFrame has 999 bytes, not 168; use a version of JAX"):
        ffi.check_sizes(frame(struct_size=999))
    buffer = ffi._Buffer(struct_size=40)
    made = frame()
    address = ffi.c_void_p(ffi.ctypes.addressof(buffer))
    made.args.size, made.args.values = 1, pointer(address)
    with pytest.raises(ffi.UnknownLayout, match="XLA_FFI_Buffer has 40 bytes, not 48"):
        ffi.check_sizes(made)


def test_refusals(jax: Any) -> None:
    """When it is traced, with the parameter's name."""
    x = jax.numpy.ones((2, 4))
    out = jax.ShapeDtypeStruct((2, 4), np.float32)
    with pytest.raises(ValueError, match="argument 'total' is an input, but kernel accumulate writes to it; arrays"):
        jax.jit(lambda x: ct.jax.cutile_call((1,), accumulate, (x[0], x[1])))(x)
    with pytest.raises(ValueError, match="argument 'x' is an output, but kernel accumulate does not write to it"):
        tw.jax.call(accumulate, None, (jax.ShapeDtypeStruct((4,), np.float32),) * 2)()
    with pytest.raises(ValueError, match="out_shapes names 'result', which is no parameter of kernel softmax_rows"):
        tw.jax.call(softmax_rows, (2,), {"result": out})(x, 8)
    with pytest.raises(TypeError, match="kernel softmax_rows takes 3 arguments"):
        tw.jax.call(softmax_rows, (2,), out)(x)
    with pytest.raises(TypeError, match="an output is given by something with shape and dtype"):
        tw.jax.call(softmax_rows, (2,), (2, 4))(x, 8)
    with pytest.raises(TypeError, match="the kernel must be made with @tile_kernel, not function"):
        tw.jax.call(softmax_rows.__wrapped__, (2,), out)(x, 8)
    with pytest.raises(TypeError, match="argument 'x' is the string 'x', which exists only while compiling"):
        tw.jax.call(softmax_rows, (2,), {"out": out})("x", 8)
