"""The functions of tilewright.kernels as operators of torch: opcheck, gradcheck, torch's own results, one graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import doc_examples
import numpy as np
import pytest
from benchmarks import library
from support.library_cases import GROUPS, maker
from support.optional import optional
from support.pages import check, programs_of

import tilewright.kernels as tk
from tilewright.tileir.diagnostics import TileValueError

torch = optional("torch")
F = torch.nn.functional
tk.register_all()
WITH_GRADIENT = [name for name, function in tk.DECLARED.items() if function.backward is not None]
# Tensors that an operator takes as constants.
CONSTANT = {"rotary": (1, 2)}


def tensors(name: str, args: tuple[Any, ...], grad: bool) -> list[Any]:
    out = []
    for k, arg in enumerate(args):
        if not isinstance(arg, np.ndarray):
            out.append(arg)
            continue
        tensor = torch.from_numpy(np.ascontiguousarray(arg))
        wanted = grad and tensor.is_floating_point() and k not in CONSTANT.get(name, ())
        out.append(tensor.requires_grad_(wanted))
    return out


def one_case(name: str, grad: bool, seed: int = 0) -> list[Any]:
    """The first call of a function that has some elements."""
    for group in GROUPS:
        for found, args in group(maker(np.float64, seed)):
            if found == name and all(a.size > 1 for a in args if isinstance(a, np.ndarray)):
                return tensors(name, args, grad)
    raise AssertionError(name)


@pytest.mark.parametrize("name", tk.DECLARED)
def test_opcheck(name: str) -> None:
    function = tk.DECLARED[name]
    results = torch.library.opcheck(function.operator, tuple(one_case(name, function.backward is not None)))
    assert set(results.values()) == {"SUCCESS"} and len(results) == 4


@pytest.mark.parametrize("name", WITH_GRADIENT)
def test_gradcheck(name: str) -> None:
    args = one_case(name, True)
    places = [k for k, arg in enumerate(args) if isinstance(arg, torch.Tensor) and arg.requires_grad]

    def function(*given: Any) -> Any:
        filled = list(args)
        for k, tensor in zip(places, given, strict=True):
            filled[k] = tensor
        return tk.DECLARED[name](*filled)

    # Numbers such as eps and alpha are float32 in kernels: the slope is exact, the values are not quite those of torch.
    assert torch.autograd.gradcheck(function, tuple(args[k] for k in places), fast_mode=True)


# Slices of rows, lists and tuples of tensors: nothing is done again of these.
UNPLANNED = {"reduce_backward", "linear_cross_entropy", "linear_cross_entropy_backward", "adamw"}


@pytest.mark.parametrize("name", tk.DECLARED)
def test_calls_done_again(name: str) -> None:
    """The third call of a kind runs what the second one noted, on other tensors."""
    run: Any = tk.DECLARED[name].plain.__wrapped__  # type: ignore[attr-defined]
    run.plans.clear()
    for seed in (1, 2, 3):
        args = one_case(name, False, seed)
        got = run(*args)
    torch.testing.assert_close(got, run.__wrapped__(*args), rtol=0, atol=0, equal_nan=True)
    assert (None not in run.plans.values() and len(run.plans) == 1) == (name not in UNPLANNED)


def test_what_calls_done_again_hang_on() -> None:
    """Other numbers, and outputs that are no longer inputs, are other calls; views are looked at by their strides."""
    x, y = torch.arange(12.0).view(3, 4), torch.ones(3, 4)
    for _ in range(4):
        in_place = x.clone()
        tk.softmax(in_place, out=in_place)
        torch.testing.assert_close(in_place, torch.softmax(x, -1))
    assert tk.softmax(x, out=y) is y
    torch.testing.assert_close(y, torch.softmax(x, -1))
    torch.testing.assert_close(x, torch.arange(12.0).view(3, 4))
    for eps in (1e-6, 1.0, 1e-6, 1.0):
        for one in (x, x.T.contiguous().T):
            torch.testing.assert_close(tk.rms_norm(one, None, eps), F.rms_norm(x, (4,), None, eps))
    for axis in ((0,), (1,), (True,), (0,), (1,), (True,)):
        torch.testing.assert_close(tk.reduce(x, "sum", axis), x.sum(int(axis[0])))


def test_values() -> None:
    torch.manual_seed(0)
    x, w, b = torch.randn(4, 6), torch.randn(6), torch.randn(6)
    torch.testing.assert_close(tk.softmax(x, 0), torch.softmax(x, 0))
    torch.testing.assert_close(tk.rms_norm(x, w), F.rms_norm(x, (6,), w, 1e-6))
    torch.testing.assert_close(tk.layer_norm(x, w, b), F.layer_norm(x, (6,), w, b))
    torch.testing.assert_close(tk.group_norm(x[None], 2, w[:4], b[:4]), F.group_norm(x[None], 2, w[:4], b[:4]))
    torch.testing.assert_close(tk.linear(x, x.expand(2, 4, 6)[0], None, None, "gelu"), F.gelu(F.linear(x, x)))
    labels = torch.tensor([1, 5, -100, 0])
    torch.testing.assert_close(tk.cross_entropy(x, labels, 0.1),
                               F.cross_entropy(x, labels, label_smoothing=0.1, reduction="none"))
    torch.testing.assert_close(tk.embedding(x, torch.tensor([[1, 3]])), F.embedding(torch.tensor([[1, 3]]), x))
    torch.testing.assert_close(tk.transform(lambda s, t: s * t, x, w), x * w)


def test_heads_that_were_channels_become_channels_without_a_copy() -> None:
    """Neither attention, nor rotary embedding, nor their gradients change the order of axes in memory."""
    torch.manual_seed(0)
    wide = [torch.randn(2, 5, heads, 4).requires_grad_() for heads in (4, 2, 2)]
    q, k, v = (x.transpose(1, 2) for x in wide)
    q = tk.rotary(q, torch.ones(5, 2), torch.zeros(5, 2))
    out = tk.attention(q, k, v)[0]
    assert out.transpose(1, 2).is_contiguous()
    assert all(g.is_contiguous() for g in torch.autograd.grad(out.sum(), wide))


def test_autocast() -> None:
    """Products take the dtype of the region, sums the widest one, as torch's do; one graph."""
    x, w, g = torch.randn(4, 6, requires_grad=True), torch.randn(6, 6), torch.ones(6)

    def block(x: Any, w: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            normal, total = tk.add_rms_norm(tk.linear(x, w), x, g)
            return tk.gated(tk.matmul(normal, w), normal), total

    gate, total = torch.compile(block, fullgraph=True, backend="aot_eager")(x, w)
    assert gate.dtype is total.dtype is torch.float32 and tk.linear(x, w).dtype is torch.float32
    normal = F.rms_norm(x @ w.T + x, (6,), g, 1e-6)
    torch.testing.assert_close(gate, F.silu(normal @ w) * normal, rtol=0.05, atol=0.05)
    assert torch.autograd.grad(gate.sum(), x)[0].dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert tk.linear(x, w.bfloat16()).dtype is torch.bfloat16
        q, k, v = (torch.randn(1, 1, 4, 8, dtype=t) for t in (torch.bfloat16, torch.float32, torch.float32))
        assert tk.attention(q, k, v)[0].dtype is torch.bfloat16


def test_func_of_all_with_a_gradient() -> None:
    """torch.func.grad of each gives what torch.autograd.grad gives."""
    for name in ("rms_norm", "linear", "attention", "gated"):
        args = one_case(name, True)

        def loss(first: Any, name: str = name, rest: Any = tuple(args[1:])) -> Any:
            found = tk.DECLARED[name](first, *rest)
            return (found[0] if isinstance(found, tuple) else found).square().sum()

        torch.testing.assert_close(torch.func.grad(loss)(args[0]), torch.autograd.grad(loss(args[0]), args[0])[0])


def test_transforms_of_complex_tensors() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 16, dtype=torch.complex128, requires_grad=True)
    torch.testing.assert_close(tk.fft(x.conj(), False, "ortho"), torch.fft.fft(x.conj(), norm="ortho"))
    assert torch.autograd.gradcheck(lambda z: tk.fft(z, True), (x,), fast_mode=True)
    out = torch.empty(3, 16, dtype=torch.complex128)
    assert tk.fft(x.detach(), out=out) is out
    compiled = torch.compile(lambda z: tk.fft(z * 2).abs().sum(), fullgraph=True, dynamic=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), torch.fft.fft(x * 2).abs().sum())


def test_transforms_of_real_tensors() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 16, dtype=torch.float64, requires_grad=True)
    spectrum = torch.randn(3, 9, dtype=torch.complex128, requires_grad=True)
    torch.testing.assert_close(tk.rfft(x, "ortho"), torch.fft.rfft(x, norm="ortho"))
    torch.testing.assert_close(tk.irfft(spectrum.conj()), torch.fft.irfft(spectrum.conj()))
    for mine, other, given in ((tk.rfft, torch.fft.rfft, x), (tk.irfft, torch.fft.irfft, spectrum)):
        got, want = (torch.autograd.grad(run(given, norm="forward").abs().sum(), given) for run in (mine, other))
        torch.testing.assert_close(got, want)
    compiled = torch.compile(lambda z: tk.irfft(tk.rfft(z * 2)), fullgraph=True, dynamic=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), x * 2)


def test_out_records_no_gradient() -> None:
    x = torch.randn(3, 4)
    out = torch.empty(3, 4)
    assert tk.softmax(x, out=out) is out
    torch.testing.assert_close(out, torch.softmax(x, -1))
    with pytest.raises(TileValueError, match="with out= no gradient is recorded"):
        tk.softmax(x.requires_grad_(), out=out)


def block(x: Any, p: dict[str, Any]) -> Any:
    """A feed-forward block of library functions."""
    normal, total = tk.add_rms_norm(x, x * 2, p["norm"])
    hidden = tk.gated(tk.linear(normal, p["gate"]), tk.linear(normal, p["up"]))
    return tk.cross_entropy(tk.linear(hidden, p["down"], None, total), p["labels"]).sum()


def test_one_graph() -> None:
    torch.manual_seed(0)
    shapes = {"norm": (8,), "gate": (12, 8), "up": (12, 8), "down": (8, 12)}
    p = {name: torch.randn(*shape).requires_grad_() for name, shape in shapes.items()}
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend="aot_eager")
    for n in (3, 5):
        x = torch.randn(n, 8)
        p["labels"] = torch.arange(n)
        got = torch.autograd.grad(compiled(x, p), [p[name] for name in shapes])
        want = torch.autograd.grad(block(x, p), [p[name] for name in shapes])
        torch.testing.assert_close(got, want)
    assert not torch._dynamo.utils.counters["graph_break"]


def test_an_axis_that_is_a_symbol() -> None:
    """Numbers of a function that torch compiles for open sizes are symbols there."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(lambda x, k: tk.reduce(x, "sum", (k,)) + tk.cumsum(x, k).sum(), fullgraph=True,
                             dynamic=True, backend="aot_eager")
    x = torch.randn(4, 6)
    for k in (1, 0):
        torch.testing.assert_close(compiled(x, k), x.sum(k) + x.cumsum(k).sum())
    assert not torch._dynamo.utils.counters["graph_break"]


PROGRAMS = [program for program in programs_of("kernels.md") if "import torch" in program.source]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_program_of_the_page(program: doc_examples.Program, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(program, tmp_path, capfd)


def test_the_page_has_its_programs() -> None:
    assert len(PROGRAMS) == 1


SMALL: dict[str, tuple[Any, ...]] = {
    "softmax": (4, 64), "norms": (8, 64), "groups": (1, 64, 4), "losses": (4, 40), "elements": (8, 64),
    "rotary": (1, 2, 8, 16), "matrices": (64,), "tables": (16, 20, 32), "attention": (1, 4, 2, 32, 16, True),
    "decode": (2, 4, 2, 128, 16), "spectra": (16, 64), "real_spectra": (16, 64),
    "runs_of_keys": (60, 4), "optimiser": (16, 2),
}


@pytest.mark.parametrize("make", [make for make, _ in library.WORKS], ids=lambda make: make.__name__)
def test_both_sides_of_a_benchmark_agree(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "DEVICE", "cpu")
    with torch.no_grad():
        for work in make(*SMALL[make.__name__]):
            assert library.difference(work) <= work.tolerance, work.name


def rows_of_any_number() -> dict[str, Any]:
    """Functions of rows, with what else they take."""
    weight, norm, table = (torch.ones(*shape, requires_grad=True) for shape in ((6, 8), (8,), (30, 8)))
    cache, labels = torch.ones(8, 16, 2, 8), torch.arange(400) % 6
    pages, lengths = torch.zeros(400, 3, dtype=torch.int32), torch.ones(400, dtype=torch.int32)
    return {
        "linear": lambda x: tk.linear(x, weight), "gated": lambda x: tk.gated(x, x),
        "rms_norm": lambda x: tk.rms_norm(x, norm), "layer_norm": lambda x: tk.layer_norm(x, norm, norm),
        "reduce": lambda x: tk.reduce(x, "sum", (0,)), "matmul": lambda x: tk.matmul(x, weight.T),
        "linear_cross_entropy": lambda x: tk.linear_cross_entropy(x, table, labels[:len(x)]),
        "embedding": lambda x: tk.embedding(table, (x[:, 0] > 0).int()) * x,
        "attention": lambda x: tk.attention(*[x.view(-1, 2, 1, 4)] * 3)[0],
        "decode_attention": lambda x: x.sum() * tk.decode_attention(
            x.detach().view(-1, 2, 4).repeat(1, 1, 2), cache, cache, pages[:len(x)], lengths[:len(x)])[0],
    }


@pytest.mark.parametrize("name", rows_of_any_number())
def test_one_graph_serves_every_number_of_rows(name: str) -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(rows_of_any_number()[name], fullgraph=True, backend="aot_eager")
    for rows in (5, 7, 300, 12):
        x = torch.randn(rows, 8, requires_grad=True)
        torch._dynamo.mark_dynamic(x, 0)
        compiled(x).sum().backward()
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
