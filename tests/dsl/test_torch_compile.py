"""Operators and launches under torch.compile, torch.export and FakeTensorMode."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined, valid-type, misc"

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.optional import optional

import tilewright as tw

torch = optional("torch")
from support import torch_ops as ops  # noqa: E402  # it imports torch

NO_MEMORY = "argument 'x': a tensor that has no memory of its own cannot be passed"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def model(x: Any, w: Any) -> Any:
    """Operators with and without a gradient, one in place, and operations of torch between them."""
    y = ops.softmax(x + 1) * 2
    z = y.clone()
    with torch.no_grad():
        ops.scale_(z.view(-1), 3.0)
    return (ops.layer_norm(y, w, w)[0] + z).sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_graph_with_sizes_that_are_symbols(backend: str) -> None:
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    for n in (3, 5, 9):
        x, w = torch.randn(n, 6), torch.randn(6)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, w), model(x, w))
    counters = torch._dynamo.utils.counters
    assert not counters["graph_break"] and counters["stats"]["unique_graphs"] == 1
    assert not counters["unimplemented"]


def test_gradients_of_a_graph() -> None:
    """Forward and backward of one graph, which serves sizes that it was not made for."""

    def loss(x: Any, w: Any) -> Any:
        return ops.layer_norm(ops.matmul(ops.softmax(x), x.T.contiguous().T), w, w)[0].square().sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (6, 7):
        x, w = torch.randn(n, n).requires_grad_(), torch.randn(n).requires_grad_()
        found = torch.autograd.grad(compiled(x, w), (x, w))
        want = torch.autograd.grad(loss(x, w), (x, w))
        torch.testing.assert_close(found, want)
    assert not torch._dynamo.utils.counters["graph_break"]


def test_export() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return ops.softmax(x) + 1

    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Model(), (torch.randn(4, 6),), dynamic_shapes={"x": {0: rows}})
    assert [str(node.target) for node in program.graph.nodes if node.op == "call_function"] == [
        "tilewright_tests.softmax.default", "aten.add.Tensor"]
    x = torch.randn(9, 6)
    torch.testing.assert_close(program.module()(x), torch.softmax(x, 1) + 1)


@pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a compiler of C++")
def test_a_package_of_aotinductor(tmp_path: Path) -> None:
    """It calls operators through torch's dispatcher, with a size that is open."""
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return ops.softmax(x * 2) + 1

    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(Model(), (torch.randn(4, 6),), dynamic_shapes={"x": {0: rows}})
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
    run = torch._inductor.aoti_load_package(path)
    for n in (4, 9):
        x = torch.randn(n, 6)
        torch.testing.assert_close(run(x), torch.softmax(x * 2, 1) + 1)


def test_sizes_of_fakes_stay_symbols() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    def function(x: Any, w: Any) -> Any:
        return ops.softmax(x), ops.matmul(x, w)

    graph = make_fx(function, tracing_mode="symbolic")(torch.ones(5, 6), torch.ones(6, 7))
    values = {str(node.target): node.meta["val"] for node in graph.graph.nodes if "val" in node.meta}
    x, w = values["x_1"], values["w_1"]
    assert isinstance(x.shape[0], torch.SymInt) and isinstance(w.shape[1], torch.SymInt)
    assert values["tilewright_tests.softmax.default"].shape == x.shape
    assert values["tilewright_tests.matmul.default"].shape == (x.shape[0], w.shape[1])


def direct(x: Any) -> Any:
    out = torch.empty_like(x)
    ops.softmax_rows[(x.shape[0],)](x, out, 8)
    return out + 1


@tw.tile_kernel(grid="M")
def over_rows(x: tw.Array["M", 4], out: tw.Array["M", 4]):
    row = tw.bid(0)
    tw.store(out, (row, 0), tw.load(x, (row, 0), (1, 4)) + 1.0)


def over_own_grid(x: Any) -> Any:
    out = torch.empty_like(x)
    over_rows(x, out)
    return out


def by_launch(x: Any) -> Any:
    out = torch.empty_like(x)
    tw.launch(None, (2,), over_rows, (x, out))
    return out


@pytest.mark.parametrize("function", [direct, over_own_grid, by_launch], ids=lambda f: f.__name__)
def test_a_launch_in_a_compiled_region(function: Any) -> None:
    """It says what to do, or stands between two graphs."""
    x = torch.randn(2, 4)
    with pytest.raises(Exception, match="a launch cannot be traced by torch.compile") as caught:
        torch.compile(function, fullgraph=True, backend="eager")(x)
    assert type(caught.value).__name__ == "Unsupported" and '@tw.torch.op("my::name")' in str(caught.value)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(function, backend="eager")(x), function(x))


@pytest.mark.parametrize("function", [direct, over_own_grid, by_launch], ids=lambda f: f.__name__)
def test_a_launch_does_not_run_on_fakes(function: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), pytest.raises(TypeError, match=NO_MEMORY) as caught:
        function(torch.ones(2, 4))
    assert '@tw.torch.op("my::name")' in str(caught.value)


def test_a_launch_in_vmap_and_in_export() -> None:
    with pytest.raises(TypeError, match=NO_MEMORY):
        torch.vmap(direct)(torch.ones(3, 2, 4))

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return direct(x)

    with pytest.raises(TypeError, match=NO_MEMORY):
        torch.export.export(Model(), (torch.ones(2, 4),))


def _own_grid(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    over_rows(x, out)
    over_rows[(x.shape[0],)](x, out)
    tw.launch(None, (2,), over_rows, (x, out))
    return out


def test_every_way_to_launch_in_an_operator() -> None:
    operator = tw.torch.op("tilewright_tests::own_grid")(_own_grid)
    compiled = torch.compile(operator, fullgraph=True, backend="aot_eager")
    x = torch.ones(2, 4)
    assert torch.equal(compiled(x), x + 1) and torch.equal(operator(x), x + 1)
