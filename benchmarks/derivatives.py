"""Gradients that `grad` derives, beside those written by hand in tilewright.kernels and torch's, checked in the run.

All contenders run as CUDA graphs, but for gradients through torch's autograd, which take long enough. Each side gets
what its forward pass leaves: torch and cuDNN what autograd saves, the kernels of the library what they take (of softmax
the result, of attention the logarithms of the sums), the derived ones the arrays that are named as residuals.
`python -m benchmarks.derivatives KIND ...` runs some families.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tilewright as tw
from benchmarks import derivative_kernels as forward
from benchmarks._timing import Row, alternate, fastest, graph_of
from benchmarks.library import random

Run = Callable[[], Any]
EPS = 1e-5


class Work(NamedTuple):
    """One gradient: its contenders, each of which gives the gradients as tensors in one order; the first is ours."""

    name: str
    runs: dict[str, Run]
    bytes: float = 0.0
    flops: float = 0.0
    tolerance: float = 2.0**-6  # of the largest element; bfloat16 rounds in between


class Autograd:
    """Torch's backward of what `make` gives: a result, its cotangent and the inputs. The graph is kept."""

    def __init__(self, make: Callable[[], tuple[Any, Any, tuple[Any, ...]]]) -> None:
        import torch

        with torch.enable_grad():
            self.result, self.cotangent, self.inputs = make()

    def __call__(self) -> Any:
        import torch

        return torch.autograd.grad(self.result, self.inputs, self.cotangent, retain_graph=True)


def softmax(m: int, n: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x, g = random(m, n), random(m, n)
    y, dx = torch.softmax(x, 1), torch.empty_like(x)
    rows = max(1, 4096 // n)
    backward = tw.grad(forward.softmax, wrt="x", outputs="out", overwrite="x")

    def ours() -> Any:
        backward[tw.cdiv(m, rows)](x, y, rows, n, g, dx)
        return (dx,)

    yield Work(f"softmax backward {m} x {n}", {
        "derived": ours, "library": lambda: (tk.softmax_backward.plain(g, y),),
        "torch": lambda: (torch.ops.aten._softmax_backward_data(g, y, 1, x.dtype),)}, bytes=6.0 * m * n)


def layer_norm(m: int, n: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x, g, w, b, out = random(m, n), random(m, n), random(n), random(n), random(m, n)
    dx, sums = torch.empty_like(x), torch.zeros(2, n, device="cuda")
    backward = tw.grad(forward.layer_norm, wrt=("x", "weight", "bias"), outputs="out", overwrite="x")
    processors = torch.cuda.get_device_properties(0).multi_processor_count

    def walking(rows: int, each: int) -> Run:
        def run() -> Any:
            sums.zero_()
            backward[each * processors](x, w, b, out, EPS, rows, n, g, dx, *sums)
            return dx, sums[0].to(w.dtype), sums[1].to(w.dtype)
        return run

    _, mean, scale = torch.ops.aten.native_layer_norm(x, [n], w, b, EPS)
    torchs = lambda: torch.ops.aten.native_layer_norm_backward(  # noqa: E731
        g, x, [n], mean, scale, w, b, [True, True, True])
    yield Work(f"layer norm backward {m} x {n}", {
        "derived": fastest({f"{rows} rows, {each}": walking(rows, each)
                            for rows in sorted({max(1, words // n) for words in (2048, 4096)})
                            for each in (1, 2, 4, 8)}),
        "library": lambda: tk.norm_backward.plain(g, x, w, EPS, True), "torch": torchs}, bytes=6.0 * m * n)


def cross_entropy(m: int, n: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x, labels = random(m, n), torch.randint(0, n, (m,), device="cuda")
    g, loss, lse = random(m, dtype=torch.float32), *(torch.empty(m, device="cuda") for _ in range(2))
    short, dx = labels.int(), torch.empty_like(x)

    def derived(chunk: int) -> Run:
        forward.cross_entropy[m](x, short, loss, lse, chunk)
        backward = tw.grad(forward.cross_entropy, wrt="logits", outputs="loss", residuals="lse", overwrite="logits")

        def run() -> Any:
            backward[m](x, short, loss, lse, chunk, g, dx)
            return (dx,)
        return run

    logarithms, total = torch.log_softmax(x.float(), 1), torch.tensor(float(m), device="cuda")

    def torchs() -> Any:
        above = torch.ops.aten.nll_loss_backward(g, logarithms, labels, None, 0, -100, total)
        return (torch.ops.aten._log_softmax_backward_data(above, logarithms, 1, torch.float32).to(x.dtype),)

    yield Work(f"cross entropy backward {m} x {n}", {
        "derived": fastest({str(chunk): derived(chunk) for chunk in (2048, 4096, 8192)}),
        "library": lambda: (tk.cross_entropy_backward.plain(g, x, labels),), "torch": torchs},
        bytes=4.0 * m * n)


def linear_gelu(m: int, n: int, k: int) -> Iterator[Work]:
    """The gradients of gelu(x @ w + bias), of two kernels, beside the two products alone as cuBLAS makes them."""
    import torch
    from torch.nn import functional as F

    x, w, bias, g = random(m, k), random(k, n) / k**0.5, random(n), random(m, n)
    hidden, between = torch.addmm(bias, x, w), torch.empty(m, n, device="cuda", dtype=x.dtype)
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.zeros(n, device="cuda")
    bend = tw.grad(forward.gelu, wrt="x", outputs="out", overwrite="x")
    sum_up = tw.grad(forward.linear, wrt="bias", outputs="out")
    by_tiles = {name: tw.grad(forward.linear, wrt=name, outputs="out", by_tiles=True, overwrite=name)
                for name in ("x", "w")}

    def product(name: str, made: Any, tm: int, tn: int, tk: int) -> Run:
        """The gradient of one operand, whose tiles are tm or tn by tk."""
        rows, columns = tw.cdiv(m, tm), tw.cdiv(n, tn)
        grid = (rows, tw.cdiv(k, tk)) if name == "x" else (tw.cdiv(k, tk), columns)
        return lambda: by_tiles[name][grid](x, w, bias, between, tm, tn, tk, between, made, (rows, columns))

    left = fastest({str(t): product("x", dx, *t) for t in ((128, 64, 256), (128, 64, 128), (256, 64, 128))})
    right = fastest({str(t): product("w", dw, *t) for t in ((64, 256, 128), (64, 128, 128), (64, 128, 256))})

    def derived() -> Any:
        db.zero_()
        bend[m * n // 2048](hidden.view(-1), hidden.view(-1), 2048, g.view(-1), between.view(-1))
        left()
        right()
        sum_up[tw.cdiv(m, 128), tw.cdiv(n, 128)](x, w, bias, between, 128, 128, 64, between, db)
        return dx, dw, db.to(bias.dtype)

    def products() -> Any:
        left()
        right()

    def torchs() -> Any:
        given = [t.clone().requires_grad_() for t in (x, w, bias)]
        return F.gelu(torch.addmm(given[2], *given[:2])), g, tuple(given)

    apart = [torch.empty_like(x), torch.empty_like(w)]

    def alone() -> Any:
        torch.matmul(between, w.T, out=apart[0])
        torch.matmul(x.T, between, out=apart[1])

    name = f"linear and gelu backward {m} x {n} x {k}"
    yield Work(name, {"derived": derived, "torch": Autograd(torchs), "products alone": alone}, flops=4.0 * m * n * k)
    yield Work(f"{name}, products", {"derived": products, "cuBLAS": alone}, flops=4.0 * m * n * k)


def attention(heads: int, tokens: int, d: int, causal: bool) -> Iterator[Work]:
    """Gradients of queries block by block of the kernel, those of keys and values by their own tiles; the library's are
    written by hand."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    import tilewright.kernels as tk

    q, k, v, g = (random(1, heads, tokens, d) for _ in range(4))
    out, sums = tk.attention.plain(q, k, v, causal)
    log_sums = sums[0] * forward.LOG2E
    dq, dk, dv = (torch.empty_like(t) for t in (q, k, v))
    kept = ("out", "lse")
    of_queries = tw.grad(forward.attention, wrt="q", outputs="out", overwrite="q", residuals=kept)
    of_keys = tw.grad(forward.attention, wrt=("k", "v"), outputs="out", overwrite=("k", "v"), residuals=kept,
                      by_tiles=True, workspace=True)
    given, scale = (q[0], k[0], v[0], out[0], log_sums), d**-0.5

    def queries(tm: int, tn: int) -> Run:
        return lambda: of_queries[tw.cdiv(tokens, tm), heads](*given, scale, tm, tn, d, causal, g[0], dq[0])

    def keys(tm: int, tn: int) -> Run:
        blocks = (tw.cdiv(tokens, tm), heads)
        sums = torch.empty(blocks[0] * heads, 1, tm, dtype=torch.int32, device="cuda")  # a number for each query
        return lambda: of_keys[heads, tw.cdiv(tokens, tn)](
            *given, scale, tm, tn, d, causal, g[0], dk[0], dv[0], blocks, workspace=sums)

    first = fastest({str(t): queries(*t) for t in ((128, 64), (128, 128), (64, 64))})
    second = fastest({str(t): keys(*t) for t in ((64, 128), (32, 128), (64, 64))})

    def derived() -> Any:
        first()
        second()
        return dq, dk, dv

    def torchs() -> Any:
        inputs = [t.clone().requires_grad_() for t in (q, k, v)]
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return scaled_dot_product_attention(*inputs, is_causal=causal), g, tuple(inputs)

    by_hand = lambda: tk.attention_backward.plain(g, None, q, k, v, out, sums, causal)  # noqa: E731
    name = f"attention backward {heads} x {tokens} x {d}{' causal' if causal else ''}"
    work = heads * tokens**2 * d * (0.5 if causal else 1.0)
    yield Work(name, {"derived": derived, "library": by_hand}, flops=10.0 * work, tolerance=2.0**-5)
    yield Work(f"  {name}, by hand", {"library": by_hand, "cuDNN": Autograd(torchs)}, flops=10.0 * work,
               tolerance=2.0**-5)
    yield Work(f"  {name}, of queries alone", {"derived": first}, flops=6.0 * work)
    yield Work(f"  {name}, of keys and values alone", {"derived": second}, flops=8.0 * work)


WORKS: tuple[tuple[Callable[..., Iterator[Work]], tuple[tuple[Any, ...], ...]], ...] = (
    (softmax, ((32768, 1024), (16384, 4096))),
    (layer_norm, ((32768, 1024), (16384, 4096))),
    (cross_entropy, ((4096, 8192), (4096, 50304))),
    (linear_gelu, ((4096, 4096, 4096),)),
    (attention, ((64, 4096, 128, False), (64, 4096, 128, True), (64, 4096, 64, True))),
)


def difference(work: Work) -> str:
    """Which contenders differ from the first one by more than the tolerance, of each tensor's largest element."""
    (_, mine_run), *others = work.runs.items()
    first = [t.double() for t in mine_run() or ()]
    for who, run in others:
        made = run()
        for k, (mine, other) in enumerate(zip(first, made or first, strict=False)):
            largest = max(float(other.abs().max()), 1e-6)
            found = float((mine - other.double()).abs().max()) / largest
            if not found <= work.tolerance:
                return f"gradient {k} differs from that of {who} by {found:.3g} of the largest element"
    return ""


def rows(kinds: tuple[str, ...] = ()) -> Iterator[Row | str]:
    """A line for each gradient; one that differs has no time."""
    import torch

    with torch.no_grad():
        for make, sizes in WORKS:
            if kinds and make.__name__ not in kinds:
                continue
            for size in sizes:
                try:
                    for work in make(*size):
                        wrong = difference(work)
                        if wrong:
                            yield f"{work.name}: WRONG, {wrong}"
                            continue
                        graphs = {who: run if isinstance(run, Autograd) else graph_of(run)
                                  for who, run in work.runs.items()}
                        times = alternate(graphs, rounds=7, warmup=2, inner=2)
                        yield Row(work.name, times, bytes=work.bytes, flops=work.flops)
                except Exception as error:
                    yield f"{make.__name__} {size}: {type(error).__name__}: {str(error)[:300]}"


if __name__ == "__main__":
    for row in rows(tuple(sys.argv[1:])):
        print(row if isinstance(row, str) else row.text(), flush=True)
