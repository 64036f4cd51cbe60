"""Kernels inside programs of JAX on a GPU: launches on the stream of XLA, gradients, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.optional import optional

import tilewright as tw

jax = optional("jax")
if jax.default_backend() != "gpu":
    pytest.skip("this JAX sees no GPU", allow_module_level=True)
pytestmark = pytest.mark.gpu


@tw.tile_kernel
def softmax_rows(x, out, tile: tw.Constant[int]):
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, tile), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (row, 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def accumulate(x, total):
    i = tw.bid(0)
    tw.store(total, i, tw.load(total, i, 4) + tw.load(x, i, 4))


def softmax(x: Any) -> Any:
    return tw.jax.call(softmax_rows, (x.shape[0],), jax.ShapeDtypeStruct(x.shape, x.dtype))(x, 8)


def test_jit_vmap_and_grad() -> None:
    x = jax.random.normal(jax.random.key(0), (4, 3, 6))
    for _ in range(3):
        np.testing.assert_allclose(jax.jit(softmax)(x[0]), jax.nn.softmax(x[0], axis=1), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(softmax))(x), jax.nn.softmax(x, axis=2), rtol=1e-5)
    found = jax.jit(jax.grad(lambda x: (softmax(x) ** 2).sum()))(x[0])
    want = jax.grad(lambda x: (jax.nn.softmax(x, axis=1) ** 2).sum())(x[0])
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


def test_between_other_work_of_the_stream() -> None:
    @jax.jit
    def program(x: Any) -> Any:
        for _ in range(5):
            x = softmax(x @ x.T)[:, :6] + x
        return x

    x = jax.random.normal(jax.random.key(1), (6, 6))
    want = x
    for _ in range(5):
        want = jax.nn.softmax(want @ want.T, axis=1) + want
    np.testing.assert_allclose(program(x), want, rtol=1e-3)


def test_command_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that XLA has recorded runs again without the handler, on other values. (XLA records anew where memory
    has moved: the array is given away, so that the result takes its place.)"""
    from tilewright.jax import registry

    launched: list[int] = []
    make = registry._values

    def values(arguments: Any, handed: Any) -> Any:
        launched.append(1)
        return make(arguments, handed)

    monkeypatch.setattr(registry, "_values", values)
    base = np.random.default_rng(0).standard_normal((16, 6)).astype(np.float32)

    def program(x: Any) -> Any:
        count = x[0, 0]
        x = x * 0.01 + base
        for _ in range(8):
            x = softmax(x * (2 + count))
        return x.at[0, 0].set(count + 1)

    run, calls, want = jax.jit(program, donate_argnums=0), [], np.zeros((16, 6), np.float32)
    x = jax.device_put(want)
    for number in range(8):
        launched.clear()
        x = jax.block_until_ready(run(x))
        calls.append(len(launched))
        want = want * np.float32(0.01) + base
        for _ in range(8):
            e = np.exp((want - want.max(1, keepdims=True)) * (2 + number))
            want = e / e.sum(1, keepdims=True)
        want[0, 0] = number + 1
        np.testing.assert_allclose(np.asarray(x), want, rtol=1e-3)
    assert calls[0] >= 8 and not any(calls[2:]), calls


def test_inputs_do_not_change() -> None:
    x, total = jax.numpy.ones(8), jax.numpy.arange(8.0)
    out = jax.jit(lambda x, t: tw.jax.cutile_call((2,), accumulate, (x, tw.jax.InputOutput(t))))(x, total)
    np.testing.assert_array_equal(out, np.arange(8) + 1.0)
    np.testing.assert_array_equal(total, np.arange(8.0))
