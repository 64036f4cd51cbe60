"""Operators of torch on a GPU: values, gradients, Inductor, CUDA graphs, versions on the short way of a launch."""

from __future__ import annotations

from typing import Any

import pytest
from support.optional import optional

torch = optional("torch")
if not torch.cuda.is_available():
    pytest.skip("this torch sees no GPU", allow_module_level=True)
from support import torch_ops as ops  # noqa: E402  # it imports torch

pytestmark = pytest.mark.gpu


def rows(*shape: int) -> Any:
    torch.manual_seed(sum(shape))
    return torch.randn(*shape, device="cuda")


@pytest.mark.parametrize("operator, args", [
    (ops.softmax, lambda: (rows(3, 6).requires_grad_(),)),
    (ops.layer_norm, lambda: (rows(3, 6).requires_grad_(), rows(6).requires_grad_(), rows(6).requires_grad_())),
    (ops.scale_, lambda: (rows(7), 3.0)),
], ids=["softmax", "layer_norm", "scale_"])
def test_opcheck(operator: Any, args: Any) -> None:
    assert set(torch.library.opcheck(operator, args()).values()) == {"SUCCESS"}


def test_gradients() -> None:
    x, w, b = (rows(*shape).requires_grad_() for shape in ((33, 7), (7,), (7,)))
    cotangent = rows(33, 7)
    found = torch.autograd.grad(ops.layer_norm(x, w, b)[0], (x, w, b), cotangent)
    want = torch.autograd.grad(torch.nn.functional.layer_norm(x, (7,), w, b), (x, w, b), cotangent)
    for one, other in zip(found, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_inductor(mode: str) -> None:
    def model(x: Any, w: Any) -> Any:
        return ops.layer_norm(ops.softmax(x + 1) * 2, w, w)[0] + x

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(model, fullgraph=True, mode=mode)
    x, w = rows(64, 8), rows(8)
    for _ in range(4):  # with CUDA graphs: warm up, record, replay
        x = x + 1
        torch.testing.assert_close(compiled(x, w).clone(), model(x, w), rtol=1e-4, atol=1e-4)
    assert not torch._dynamo.utils.counters["graph_break"]
    assert not torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]


def test_versions_and_leaves_on_the_short_way() -> None:
    x = torch.ones(8, device="cuda")
    for count in range(1, 5):
        ops.scale_tiles[(2,)](x, 2.0)
        assert x._version == count
    leaf = torch.ones(8, device="cuda", requires_grad=True)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
            ops.scale_tiles[(2,)](leaf, 2.0)
        with torch.no_grad():
            ops.scale_tiles[(2,)](leaf, 2.0)
    assert float(leaf[0].detach()) == 8


def test_side_stream() -> None:
    x = rows(4, 6)
    want = torch.softmax(x, 1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out = ops.softmax(x)
    side.synchronize()
    torch.testing.assert_close(out, want)
