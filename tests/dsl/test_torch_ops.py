"""Operators of torch made of functions that launch kernels: opcheck, gradients, vmap, autocast, effects, refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.optional import optional

import tilewright as tw

torch = optional("torch")
from support import torch_ops as ops  # noqa: E402  # it imports torch
from torch import Tensor  # noqa: E402


def rows(*shape: int, dtype: Any = None, grad: bool = False) -> Any:
    torch.manual_seed(sum(shape))
    return torch.randn(*shape, dtype=dtype or torch.float64).requires_grad_(grad)


CASES: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "softmax": lambda: (ops.softmax, (rows(3, 6, grad=True),)),
    "softmax_backward": lambda: (ops.softmax_backward, (rows(3, 6), rows(3, 6), 8)),
    "layer_norm": lambda: (ops.layer_norm, (rows(2, 3, 5, grad=True), rows(5, grad=True), rows(5, grad=True))),
    "matmul": lambda: (ops.matmul, (rows(5, 6, grad=True), rows(6, 3, grad=True))),
    "scale_": lambda: (ops.scale_, (rows(7, dtype=torch.float32), 3.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_opcheck(name: str) -> None:
    operator, args = CASES[name]()
    results = torch.library.opcheck(operator, args)
    assert set(results.values()) == {"SUCCESS"} and len(results) == 4


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "matmul"])
def test_gradcheck(name: str) -> None:
    operator, args = CASES[name]()
    assert torch.autograd.gradcheck(operator, args)


def test_values() -> None:
    x = rows(4, 7, dtype=torch.float32)
    torch.testing.assert_close(ops.softmax(x), torch.softmax(x, 1))
    w, b = rows(7, dtype=torch.float32), rows(7, dtype=torch.float32)
    out, mean = ops.layer_norm(x, w, b)
    torch.testing.assert_close(out, torch.nn.functional.layer_norm(x, (7,), w, b))
    torch.testing.assert_close(mean, x.mean(1))
    torch.testing.assert_close(ops.matmul(x, x.T.contiguous()), x @ x.T)


def test_schemas_have_the_effects_of_the_kernels() -> None:
    found = torch.ops.tilewright_tests
    assert [str(found.scale_.default._schema), str(found.matmul.default._schema)] == [
        "tilewright_tests::scale_(Tensor(a0!) x, float factor) -> ()",
        "tilewright_tests::matmul(Tensor a, Tensor b) -> Tensor"]


def test_gradients_of_views_and_of_some_inputs() -> None:
    """The gradient reaches inputs that are no dense memory, and is computed for those that need one alone."""
    base = rows(6, 10, grad=True)
    w = rows(5)
    out, _ = ops.layer_norm(base[::2, ::2], w, w)
    want = torch.nn.functional.layer_norm(base[::2, ::2], (5,), w, w)
    cotangent = rows(3, 5)
    (found,) = torch.autograd.grad(out, base, cotangent)
    (expected,) = torch.autograd.grad(want, base, cotangent)
    torch.testing.assert_close(found, expected)


def test_gradient_of_narrow_floats_is_added_up_in_float32() -> None:
    w = torch.ones(8, dtype=torch.bfloat16, requires_grad=True)
    x = torch.full((300, 8), 1.0, dtype=torch.bfloat16)
    x[:, ::2] = -1.0
    ops_out, _ = NARROW(x, w, torch.zeros(8, dtype=torch.bfloat16))
    ops_out.sum().backward()
    assert w.grad.dtype is torch.bfloat16
    torch.testing.assert_close(w.grad.abs(), torch.full((8,), 300.0, dtype=torch.bfloat16))


def _narrow(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    out, mean = torch.empty_like(x), x.new_empty(x.shape[0])
    ops.normalise_rows[(x.shape[0],)](x, weight, bias, out, mean, 8, 8)
    return out, mean


NARROW = tw.torch.op("tilewright_tests::narrow", backward=tw.grad)(_narrow)


# ---- vmap, autocast -------------------------------------------------------------------------------------------------


def test_vmap() -> None:
    x = rows(3, 4, 6)
    torch.testing.assert_close(torch.vmap(ops.softmax)(x), torch.softmax(x, 2))
    torch.testing.assert_close(torch.vmap(ops.softmax, in_dims=1, out_dims=1)(x), torch.softmax(x, 2))
    a, b = rows(4, 2, 6), rows(6, 3)
    torch.testing.assert_close(torch.vmap(ops.matmul, in_dims=(0, None))(a, b), a @ b)
    out, mean = torch.vmap(ops.layer_norm, in_dims=(0, None, None))(x, rows(6), rows(6))
    assert out.shape == (3, 4, 6) and mean.shape == (3, 4)


def test_vmap_of_a_gradient() -> None:
    x, w, cotangents = rows(2, 5, grad=True), rows(5), rows(3, 2, 5)
    for operator in (lambda t: ops.layer_norm(t, w, w)[0], ops.softmax):
        out = operator(x)
        found = torch.vmap(lambda c: torch.autograd.grad(out, x, c, retain_graph=True)[0])(cotangents)  # noqa: B023
        want = [torch.autograd.grad(out, x, one, retain_graph=True)[0] for one in cotangents]
        torch.testing.assert_close(found, torch.stack(want))


def test_vmap_in_place() -> None:
    x = torch.ones(2, 8)
    torch.vmap(lambda t: (ops.scale_(t, 3.0), t)[1])(x)
    assert torch.equal(x, torch.full((2, 8), 3.0))
    with pytest.raises(RuntimeError, match="operator tilewright_tests::add_into_ writes to 'out', which has no"):
        torch.vmap(lambda t: (add_into_(torch.ones(4), t), t)[1])(x)
    with pytest.raises(RuntimeError, match="cannot be called on an empty batch"):
        torch.vmap(ops.softmax)(torch.ones(0, 2, 8))


@tw.tile_kernel
def add_tiles(out, x):
    i = tw.bid(0)
    tw.store(out, i, tw.load(out, i, 4) + tw.load(x, i, 4))


@tw.torch.op("tilewright_tests::add_into_", mutates="out")
def add_into_(out: Tensor, x: Tensor) -> None:
    add_tiles[(tw.cdiv(out.shape[0], 4),)](out, x)


def test_autocast() -> None:
    a, b = torch.ones(2, 4, dtype=torch.bfloat16), torch.ones(4, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.matmul(a, b).dtype is torch.float32
    seen: list[Any] = []

    def look(x: Tensor, y: Tensor) -> Tensor:
        seen.append((x.dtype, y.dtype))
        return torch.zeros_like(x)

    for wanted, dtypes in (("region", [torch.bfloat16, torch.bfloat16]), ("widest", [torch.float32, torch.bfloat16])):
        operator, seen[:] = tw.torch.op(f"tilewright_tests::{wanted}", autocast=wanted)(look), []
        with torch.autocast("cpu", dtype=torch.bfloat16):
            operator(a, b), operator(a, a)
            assert operator(b.double(), b.double()).dtype is torch.float64 or wanted == "widest"
        assert [one for one, other in seen[:2] if one is other] == dtypes
    with pytest.raises(ValueError, match='it must be a dtype of torch, "region" or'):
        tw.torch.op("tilewright_tests::wrong_autocast", autocast="half")(look)


# ---- effects --------------------------------------------------------------------------------------------------------


def test_a_write_that_is_not_declared() -> None:
    operator = tw.torch.op("tilewright_tests::undeclared")(_undeclared)
    with pytest.raises(RuntimeError) as caught:
        operator(torch.ones(4), torch.ones(4))
    assert str(caught.value) == ("operator tilewright_tests::undeclared: a kernel has written to 'x', which the "
                                 "operator does not declare; write mutates=('x',)")


def _undeclared(x: Tensor, y: Tensor) -> Tensor:
    ops.scale_tiles[(1,)](x.view(2, 2).view(-1), 2.0)
    return y + 1


def test_versions_are_counted_up() -> None:
    x, y = torch.ones(8), torch.ones(8)
    ops.scale_tiles[(2,)](x, 2.0)
    assert (x._version, y._version) == (1, 0)
    add_tiles[(2,)](x[2:6], y[:4])
    assert (x._version, y._version) == (2, 0)
    ops.scale_tiles[(0,)](x, 2.0)
    assert x._version == 2


def test_what_autograd_saved_may_not_change() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x.exp()
    z = y.square().sum()
    add_tiles[(1,)](y.detach(), torch.ones(4))
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        z.backward()


def test_inference_tensors_are_written() -> None:
    with torch.inference_mode():
        x = torch.ones(4)
        ops.scale_tiles[(1,)](x, 2.0)
        assert x.sum() == 8
        assert ops.softmax(torch.ones(1, 4)).sum() == 1


@pytest.mark.parametrize("change", [lambda x: ops.scale_tiles[(2,)](x, 2.0), lambda x: ops.scale_(x, 2.0),
                                    lambda x: x.mul_(2.0)], ids=["launch", "operator", "torch"])
def test_leaves_are_refused(change: Callable[[Any], Any]) -> None:
    """With torch's own message, as the last case shows."""
    x = torch.ones(8, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        change(x)
    assert str(caught.value) == "a leaf Variable that requires grad is being used in an in-place operation."
    with pytest.raises(RuntimeError) as caught:
        change(x[:4])
    assert str(caught.value) == "a view of a leaf Variable that requires grad is being used in an in-place operation."
    with torch.no_grad():
        change(x)
    assert x[0] == 2


def test_operators_in_place_have_no_gradient() -> None:
    with pytest.raises(RuntimeError, match="scale_ changes a tensor in place that requires grad, and has no gradient"):
        ops.scale_(torch.ones(8, requires_grad=True) * 1, 2.0)
    with pytest.raises(ValueError, match="refused_ changes its arguments, and torch knows no gradient of"):
        tw.torch.op("tilewright_tests::refused_", mutates="x", backward=tw.grad)(_scaled)


def _scaled(x: Tensor, factor: float) -> None:
    ops.scale_tiles[(2,)](x, factor)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, message", [
    ({"mutates": "y"}, "mutates names 'y', which is no tensor among the parameters; these are x"),
    ({"mutates": "factor"}, "mutates names 'factor', which is no tensor"),
    ({"example": ("f32[?]", 1.0)}, r"example: f32\[\?\] must have a known extent for each axis"),
    ({"example": ("f32[8]", 1.0, 2)}, "example has 3 arguments, but the function takes 2"),
])
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tw.torch.op("tilewright_tests::never", **options)(_scaled)


def test_wrong_names() -> None:
    with pytest.raises(ValueError, match='the name must be "namespace::name", not \'softmax\''):
        tw.torch.op("softmax")(_scaled)
    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        tw.torch.op("tilewright_tests::never")(lambda x: x)
    with pytest.raises(ValueError, match="backward has a parameter 'cotangent'"):
        tw.torch.op("tilewright_tests::odd", backward=lambda cotangent: cotangent)(_twice)


def test_backward_gives_a_gradient_for_each_tensor() -> None:
    operator = tw.torch.op("tilewright_tests::short", backward=lambda grads, outputs: (grads[0], outputs))(_twice)
    with pytest.raises(RuntimeError, match="backward gives 2 gradients; there must be one, or None, for each of the 1"):
        operator(torch.ones(4, requires_grad=True)).sum().backward()


def test_another_gradient_may_be_registered() -> None:
    """It sees which inputs need one, without what our kernel adds to them."""
    operator = tw.torch.op("tilewright_tests::replaced", backward=lambda grad, x: grad * x)(_twice)
    x, seen = torch.ones(4, requires_grad=True), []

    def gradient(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return grad * 3

    assert torch.autograd.grad(operator(x).sum(), x)[0].tolist() == [1] * 4
    operator.register_autograd(gradient)
    assert torch.autograd.grad(operator(x).sum(), x)[0].tolist() == [3] * 4 and seen == [(True,)]


def test_functorch() -> None:
    """Its transforms of reverse mode; tensors that they left behind are taken as what they wrap."""
    operator = tw.torch.op("tilewright_tests::transformed", backward=lambda grad: grad * 2)(_twice)
    x, kept = torch.ones(4, requires_grad=True), []
    assert torch.func.grad(lambda t: (operator(t) * t).sum())(x).tolist() == [3] * 4
    assert torch.equal(torch.func.jacrev(torch.func.grad(lambda t: (operator(t) * t).sum()))(x), 4 * torch.eye(4))
    each = torch.vmap(torch.func.grad(lambda t: ops.softmax(t[None]).square().sum()))(rows(3, 6))
    torch.testing.assert_close(each, torch.func.grad(lambda t: torch.softmax(t, 1).square().sum())(rows(3, 6)))

    def keep(t: Any) -> Any:
        kept.append(t)
        return t.sum()

    torch.func.grad(keep)(x)
    assert torch.autograd.grad(operator(kept[0]).sum(), x)[0].tolist() == [2] * 4


def test_derivatives_that_are_not_there() -> None:
    """torch would drop the tangents, and the outer record of a gradient."""
    x = rows(2, 6, grad=True)
    square = tw.torch.op("tilewright_tests::no_gradient")(_twice)
    for run in (lambda: torch.func.jvp(ops.softmax, (x,), (x,)), lambda: torch.func.jvp(square, (x[0],), (x[0],)),
                lambda: torch.func.hessian(lambda t: ops.softmax(t).sum())(x)):
        with pytest.raises(RuntimeError, match="has no derivative in forward mode"):
            run()
    once = torch.autograd.grad(ops.softmax(x).square().sum(), x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="softmax_backward has no gradient; give"):
        once.sum().backward()
    with pytest.raises(RuntimeError, match="no_gradient has no gradient; give tw.torch.op one as backward="):
        square(x[0]).sum().backward()
    square.register_autograd(lambda ctx, grad: grad * 2)
    assert torch.autograd.grad(square(x[0]).sum(), x)[0][0].tolist() == [2] * 6


def _twice(x: Tensor) -> Tensor:
    out, both = torch.zeros_like(x), torch.zeros_like(x)
    add_tiles[(1,)](out, x)
    add_tiles[(1,)](both, out)
    return both


def _of_a_copy(x: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    ops.softmax_rows[(x.shape[0],)](x.exp(), out, 8)
    return out


def _of_a_tuple(x: Tensor) -> Tensor:
    out = torch.zeros_like(x)
    copy_pair[(1,)]((x, out))
    return out


@tw.tile_kernel
def copy_pair(pair):
    tw.store(pair[1], 0, tw.load(pair[0], 0, 4))


@pytest.mark.parametrize("function, shape, message", [
    (_twice, (4,), "the operator makes 2 launches, and the gradient of one is derived"),
    (_of_a_copy, (2, 4), "argument 'x' of kernel softmax_rows is no view of an input of the operator"),
    (_of_a_tuple, (4,), "argument 'pair' of kernel copy_pair is a tuple of tensors"),
])
def test_gradients_that_are_not_derived(function: Callable[..., Any], shape: tuple[int, ...], message: str) -> None:
    operator = tw.torch.op(f"tilewright_tests::underived{function.__name__}", backward=partial(tw.grad))(function)
    out = operator(torch.ones(shape, requires_grad=True))
    with pytest.raises(tw.TileUnsupportedFeatureError, match=message) as caught:
        out.sum().backward()
    assert "give backward= a function that computes the gradients" in str(caught.value)
