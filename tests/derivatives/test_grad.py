"""`tw.grad`: what the derived kernel is called with, that it is a kernel like any other, and what is refused."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined, valid-type, misc"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.gradcheck import gradients

import tilewright as tw
from tilewright.tileir.parser import parse
from tilewright.tileir.verifier import verify


@tw.tile_kernel
def scaled(x, w, out, FACTOR: tw.Constant[float]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 4) * tw.load(w, 0, 4) * FACTOR)


def test_the_roles_name_the_parameters_in_order() -> None:
    roles = tw.grad(scaled, wrt=("w", "x"), outputs="out").roles
    assert roles.parameters == ("x", "w", "out", "FACTOR", "out_grad", "w_grad", "x_grad")
    assert (roles.cotangents, roles.gradients) == (("out_grad",), ("w_grad", "x_grad"))


def test_gradients_are_added_and_shared_arrays_get_all_blocks() -> None:
    x, w, cotangent = np.arange(8.0), np.arange(4.0) + 1, np.arange(8.0) - 3
    x_grad, w_grad = np.ones(8), np.ones(4)
    backward = tw.grad(scaled, wrt=("x", "w"), outputs="out")
    backward[(2,)](x, w, np.zeros(8), 2.0, out_grad=cotangent, x_grad=x_grad, w_grad=w_grad)
    np.testing.assert_array_equal(x_grad, 1 + 2 * cotangent * np.tile(w, 2))
    np.testing.assert_array_equal(w_grad, 1 + 2 * (cotangent * x).reshape(2, 4).sum(0))


def test_atomics_only_where_blocks_share_elements() -> None:
    backward = tw.grad(scaled, wrt=("x", "w"), outputs="out")
    text = backward.ir(*[tw.spec("f32[1024]")] * 3, 2.0, *[tw.spec("f32[1024]")] * 3)
    assert text.count("atomic_rmw") == 1 and "atomic_rmw(array=%w_grad" in text
    assert text.count("store(array=%x_grad") == 1
    verify(parse(text))


def test_a_deterministic_kernel_has_no_atomic_gradient() -> None:
    @tw.tile_kernel(deterministic=True)
    def kernel(x, w, out):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 4) * tw.load(w, 0, 4))

    spec = tw.spec("f32[1024]")
    assert "atomic" not in tw.grad(kernel, wrt="x", outputs="out").ir(*[spec] * 5)
    with pytest.raises(tw.TileUnsupportedFeatureError, match="depends on the order in which blocks run") as error:
        tw.grad(kernel, wrt="w", outputs="out").ir(*[spec] * 5)
    assert "tw.load(w, 0, 4)" in str(error.value)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_it_lowers_to_ptx(target: str) -> None:
    spec = tw.spec("f32[1024]")
    made = tw.grad(scaled, wrt=("x", "w"), outputs="out").compiled(*[spec] * 3, 2.0, *[spec] * 3, target=target)
    assert (f".target {target}" in made.ptx and "red.global" in made.ptx) or "atom" in made.ptx


def test_it_runs_in_the_simulator() -> None:
    random = np.random.default_rng(0)
    x, w, cotangent = (random.standard_normal(8).astype(np.float32) for _ in range(3))
    arguments = {"x": x, "w": w[:4].copy(), "out": np.zeros(8, np.float32), "FACTOR": 2.0}
    want = gradients(scaled, (2,), arguments, ["x", "w"], ["out"], [cotangent], np.float32)
    made = [np.zeros(8, np.float32), np.zeros(4, np.float32)]
    backward = tw.grad(scaled, wrt=("x", "w"), outputs="out")
    backward.simulate((2,), *arguments.values(), cotangent, *made, target="sm_80")
    for got, wanted in zip(made, want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2**-22)


def test_hints_and_grid_are_the_kernels() -> None:
    @tw.tile_kernel(occupancy=2, grid="cdiv(N, 4)")
    def kernel(x: tw.Array["N"], out: tw.Array["N"]):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 4) * 3.0)

    backward = tw.grad(kernel, wrt="x", outputs="out")
    x_grad = np.zeros(6)
    backward(np.zeros(6), np.zeros(6), np.ones(6), x_grad)
    np.testing.assert_array_equal(x_grad, np.full(6, 3.0))
    assert backward.hints == kernel.hints and backward.replace_hints(occupancy=1).roles == backward.roles


def arrays(**changed: Any) -> tuple[Any, ...]:
    own = {"x": np.zeros(8), "w": np.zeros(4), "out": np.zeros(8), "factor": 1.0, "out_grad": np.zeros(8),
           "x_grad": np.zeros(8)}
    return tuple((own | changed).values())


@pytest.mark.parametrize("error, text, arguments", [
    (ValueError, r"'x_grad' must have the shape of 'x', \(8,\), but has \(7,\)", arrays(x_grad=np.zeros(7))),
    (TypeError, "'x_grad' must be an array of floats that can be added, not of int32",
     arrays(x_grad=np.zeros(8, np.int32))),
    (TypeError, "'x' is an array of int32, and only floats have gradients", arrays(x=np.zeros(8, np.int32))),
    (TypeError, "'out_grad' must be an array, as 'out' is", arrays(out_grad=2.0)),
    (TypeError, r"kernel scaled_grad takes 6 arguments \(x, w, out, FACTOR, out_grad, x_grad\)", arrays()[:5]),
])
def test_arguments_that_do_not_fit(error: type[Exception], text: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(error, match=text):
        tw.grad(scaled, wrt="x", outputs="out")[(2,)](*arguments)


def test_a_gradient_shares_no_memory() -> None:
    x = np.zeros(8)
    with pytest.raises(tw.TileValueError, match="'x_grad' and 'x' share memory"):
        tw.grad(scaled, wrt="x", outputs="out")[(2,)](*arrays(x=x, x_grad=x))


@pytest.mark.parametrize("error, text, names", [
    (ValueError, "wrt names 'y', which is no parameter of kernel scaled; it has x, w, out, FACTOR",
     {"wrt": "y", "outputs": "out"}),
    (ValueError, "outputs names 'out' twice", {"wrt": "x", "outputs": ("out", "out")}),
    (ValueError, "'x' is named in wrt and in outputs", {"wrt": "x", "outputs": ("out", "x")}),
    (TypeError, "wrt must be the name of a parameter, or a tuple of names, not 3", {"wrt": 3, "outputs": "out"}),
    (TypeError, "outputs must be", {"wrt": "x", "outputs": ()}),
])
def test_names_that_do_not_fit(error: type[Exception], text: str, names: dict[str, Any]) -> None:
    with pytest.raises(error, match=text):
        tw.grad(scaled, **names)
    with pytest.raises(TypeError, match="the kernel must be made with @tile_kernel, not function"):
        tw.grad(lambda x: None, wrt="x", outputs="x")  # type: ignore[arg-type]
