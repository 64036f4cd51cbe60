"""`tw.grad`: what the derived kernel is called with, that it is a kernel like any other, and what is refused."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined, valid-type, misc"

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.gradcheck import gradients

import tilewright as tw
from tilewright.tileir.parser import parse
from tilewright.tileir.verifier import verify

ATOMICS = re.compile(r"\b(?:red|atom)\.[a-z0-9.:]*\.add\.")  # in PTX, whatever their order and scope


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


@tw.tile_kernel(deterministic=True)
def shared(x, w, out):
    """Blocks share rows of w, of two axes, in a loop."""
    i, j = tw.bid(0), tw.bid(1)
    for k in range(3):
        t = tw.load(x, (i, j), (2, 4)) * tw.load(w, (k, j), (1, 4))
        tw.store(out, (k, i, j), tw.reshape(t, (1, 2, 4)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_partial_gradients_are_added_up_in_order(dtype: Any) -> None:
    """The same bits for any order of blocks; narrow gradients are added up in float32."""
    random = np.random.default_rng(6)
    x, w, g = (random.standard_normal(shape).astype(dtype) for shape in ((7, 6), (3, 6), (3, 7, 6)))
    backward = tw.grad(shared, wrt=("x", "w"), outputs="out")
    found = []
    for order in ("asc", "desc", 5):
        made = [np.zeros_like(x), np.ones_like(w)]
        backward.interpret((4, 2), x, w, g, g, *made, mode="single", order=order)
        found.append(made)
    launched = [np.zeros_like(x), np.ones_like(w)]
    backward[4, 2](x, w, g, g, *launched)
    for made in found:
        for got, want in zip(made, launched, strict=True):
            np.testing.assert_array_equal(got, want)
    wide = [a.astype(np.float64) for a in (x, w, g)]
    exact = (wide[2] * wide[1][:, None]).sum(0), 1 + (wide[2] * wide[0]).sum(1)
    for got, want in zip(launched, exact, strict=True):
        assert np.abs(got - want).max() <= 8 * np.finfo(dtype).eps * np.abs(want).max()


def test_partial_gradients_of_bound_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the interpreter they are added up as always; a launch that a GPU is handed as it is would leave them out."""
    from tilewright.launching.launcher import Launcher

    x, w, g = np.ones((7, 6)), np.ones((3, 6)), np.ones((3, 7, 6))
    backward, made = tw.grad(shared, wrt="w", outputs="out"), np.zeros((3, 6))
    arguments = (x, w, g.copy(), g, made)
    backward.bind((4, 2), *arguments)()
    np.testing.assert_array_equal(made, np.full((3, 6), 7.0))
    monkeypatch.setattr(Launcher, "bind", lambda *_: (object(), [], 0))
    with pytest.raises(tw.TileUnsupportedFeatureError, match="a second kernel adds up its partial gradients"):
        backward.launcher.bind(backward[4, 2].grid, arguments)


def test_partial_gradients_are_decided_and_compiled() -> None:
    from tilewright.inspecting.decisions import decisions

    spec = [tw.spec("f32[?,?]"), tw.spec("f32[?,?]"), tw.spec("f32[?,?,?]")]
    backward = tw.grad(shared, wrt=("x", "w"), outputs="out")
    assert backward.roles.optional == ("x_grad_parts", "w_grad_parts") and len(backward.roles.parameters) == 6
    arguments = (*spec, spec[2], *spec[:2], None, tw.spec("f32[?,?,?]"))
    lines = decisions(backward, arguments, "sm_80")
    assert any("w: partial gradients, added up by a second kernel (blocks may read the same" in line for line in lines)
    assert not ATOMICS.findall(backward.ptx(*arguments, target="sm_80"))


def test_partial_gradients_in_the_simulator() -> None:
    random = np.random.default_rng(6)
    x, w, g = (random.standard_normal(shape).astype(np.float32) for shape in ((7, 6), (3, 6), (3, 7, 6)))
    parts, made = np.zeros((8, 3, 6), np.float32), [np.zeros_like(x), np.zeros_like(w)]
    backward = tw.grad(shared, wrt=("x", "w"), outputs="out")
    backward.simulate((4, 2), x, w, g, g, *made, None, parts, target="sm_80")
    np.testing.assert_allclose(parts.sum(0), (g * x).sum(1), rtol=1e-5, atol=1e-6)
    assert not made[1].any()


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
    """Of w, whose tile all blocks share, with atomic additions; of x without."""
    spec = tw.spec("f32[1024]")
    for wrt, atomic in ((("x", "w"), True), (("x",), False)):
        extra = [spec] * (1 + len(wrt))
        made = tw.grad(scaled, wrt=wrt, outputs="out").compiled(*[spec] * 3, 2.0, *extra, target=target)
        assert f".target {target}" in made.ptx and bool(ATOMICS.findall(made.ptx)) is atomic


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


def test_the_gradient_of_a_specialisation() -> None:
    """Its constants are gone; arrays fit what it was made for."""
    x, w, cotangent = np.arange(8.0), np.arange(4.0) + 1, np.arange(8.0) - 3
    stages = scaled.lower(x, w, x.copy(), 2.0, target="sm_80")
    backward = stages.vjp(wrt="x", outputs="out")
    assert backward.roles == tw.grad(stages, wrt="x", outputs="out").roles
    assert backward.roles.parameters == ("x", "w", "out", "out_grad", "x_grad")
    x_grad = np.zeros(8)
    backward[2](x, w, x.copy(), cotangent, x_grad)
    np.testing.assert_array_equal(x_grad, 2 * cotangent * np.tile(w, 2))
    with pytest.raises(TypeError, match="'w' must be an array of float64 with 1 axes, as in the Tile IR"):
        backward[2](x, w.astype(np.float32), x.copy(), cotangent, x_grad)


def test_a_backward_of_the_users_own() -> None:
    @tw.tile_kernel
    def kernel(x, y, out):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 4) * tw.load(y, i, 4))

    @kernel.defvjp(wrt="x", outputs="out")
    @tw.tile_kernel(occupancy=2)
    def negative(x, y, out, out_grad, x_grad):
        i = tw.bid(0)
        tw.store(x_grad, i, tw.load(x_grad, i, 4) - tw.load(out_grad, i, 4))

    x, y, g, x_grad, y_grad = np.ones(8), np.full(8, 3.0), np.arange(8.0), np.zeros(8), np.zeros(8)
    own = tw.grad(kernel.replace_hints(occupancy=4), wrt="x", outputs="out")
    assert own.roles.gradients == ("x_grad",) and own.hints.occupancy == 2
    own[2](x, y, x.copy(), g, x_grad)
    np.testing.assert_array_equal(x_grad, -g)
    tw.grad(kernel, wrt=("y", "x"), outputs="out")[2](x, y, x.copy(), g, y_grad, x_grad)  # of other names: derived
    np.testing.assert_array_equal(x_grad, -g + 3 * g)
    with pytest.raises(ValueError, match="must have the parameters x, y, out, out_grad, y_grad; negative has x, y"):
        kernel.defvjp(wrt="y", outputs="out")(negative)
    with pytest.raises(TypeError, match="the backward must be made with @tile_kernel, not function"):
        kernel.defvjp(wrt="y", outputs="out")(lambda x: None)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="wrt names 'z', which is no parameter of kernel kernel"):
        kernel.defvjp(wrt="z", outputs="out")


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
