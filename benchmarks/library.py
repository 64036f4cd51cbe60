"""Functions of tilewright.kernels beside torch eager, torch.compile and cuDNN (through SDPA), checked in the same run.

All contenders run as CUDA graphs, so that the host's time has no part. `python -m benchmarks.library --warm K/N`
compiles every N-th work, for processes side by side; `--seconds S` leaves torch.compile out once S seconds are gone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.__main__ import machine
from benchmarks._timing import Row, alternate, copier, graph_of

Run = Callable[[], Any]
DEVICE = "cuda"
ROUNDS = 24  # of two, three or four sides each follows each other one equally often
# Numbers of other memory that is read before each run: 256 MiB, which fill the 50 MiB of L2. Else a run found what the
# one before it left, of its own or of another side: kernels that mark what they load as the first to leave L2, as those
# of torch.compile do, leave more.
OTHER = 64 << 20


class Work(NamedTuple):
    """One function at one size: how to run it by each side, and what it moves or computes."""

    name: str
    ours: Run
    theirs: Run
    bytes: float = 0.0
    flops: float = 0.0
    others: dict[str, Run] = {}  # noqa: RUF012  # never changed
    tolerance: float = 2.0**-6  # of the largest element: results are rounded to bfloat16 on both sides
    waits: bool = False  # whether the others wait for numbers from the GPU, which no graph can hold
    truth: Run | None = None  # compared with ours in place of theirs, which may round more


Make = Callable[..., Iterator[Work]]


def random(*shape: int, dtype: Any = None) -> Any:
    import torch

    return torch.randn(*shape, device=DEVICE, dtype=dtype or torch.bfloat16)


def softmax(m: int, n: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x, g = random(m, n), random(m, n)
    y = torch.softmax(x, 1)
    yield Work(f"softmax {m} x {n}", lambda: tk.softmax.plain(x), lambda: torch.softmax(x, 1), 4.0 * m * n)
    yield Work(f"softmax backward {m} x {n}", lambda: tk.softmax_backward.plain(g, y),
               lambda: torch.ops.aten._softmax_backward_data(g, y, 1, x.dtype), 6.0 * m * n)


def norms(m: int, n: int) -> Iterator[Work]:
    import torch
    from torch.nn import functional as F

    import tilewright.kernels as tk

    x, r, g, w, b = random(m, n), random(m, n), random(m, n), random(n), random(n)
    xr, wr, br = (t.clone().requires_grad_() for t in (x, w, b))

    def rms_backward() -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(F.rms_norm(xr, (n,), wr, 1e-6), (xr, wr), g)

    def layer_backward() -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(F.layer_norm(xr, (n,), wr, br), (xr, wr, br), g)

    yield Work(f"rms_norm {m} x {n}", lambda: tk.rms_norm.plain(x, w), lambda: F.rms_norm(x, (n,), w, 1e-6),
               4.0 * m * n)
    yield Work(f"add_rms_norm {m} x {n}", lambda: tk.add_rms_norm.plain(x, r, w),
               lambda: (F.rms_norm(x + r, (n,), w, 1e-6), x + r), 8.0 * m * n)
    yield Work(f"layer_norm {m} x {n}", lambda: tk.layer_norm.plain(x, w, b), lambda: F.layer_norm(x, (n,), w, b),
               4.0 * m * n)
    # Both sides compute the forward pass as well: torch's backward needs what it saves.
    yield Work(f"rms_norm and backward {m} x {n}",
               lambda: (tk.rms_norm.plain(x, w), tk.norm_backward.plain(g, x, w))[1][:2], rms_backward, 10.0 * m * n)
    yield Work(f"layer_norm and backward {m} x {n}",
               lambda: (tk.layer_norm.plain(x, w, b), tk.norm_backward.plain(g, x, w, 1e-5, True))[1], layer_backward,
               10.0 * m * n)


def groups(n: int, c: int, side: int) -> Iterator[Work]:
    from torch.nn import functional as F

    import tilewright.kernels as tk

    x, w, b = random(n, c, side, side), random(c), random(c)
    yield Work(f"group_norm {n} x {c} x {side}^2", lambda: tk.group_norm.plain(x, 32, w, b),
               lambda: F.group_norm(x, 32, w, b), 4.0 * x.numel())


def losses(m: int, n: int) -> Iterator[Work]:
    import torch
    from torch.nn import functional as F

    import tilewright.kernels as tk

    x, labels, g = random(m, n), torch.randint(0, n, (m,), device=DEVICE), random(m, dtype=torch.float32)
    xr = x.clone().requires_grad_()

    def backward() -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(F.cross_entropy(xr.float(), labels, reduction="none"), xr, g)

    yield Work(f"cross_entropy {m} x {n}", lambda: tk.cross_entropy.plain(x, labels),
               lambda: F.cross_entropy(x.float(), labels, reduction="none"), 2.0 * m * n)
    yield Work(f"cross_entropy and backward {m} x {n}",
               lambda: (tk.cross_entropy.plain(x, labels), tk.cross_entropy_backward.plain(g, x, labels))[1], backward,
               8.0 * m * n)


def elements(m: int, n: int) -> Iterator[Work]:
    import torch
    from torch.nn import functional as F

    import tilewright.kernels as tk

    gate, up, g, row = random(m, n), random(m, n), random(m, n), random(n)
    gr, ur = gate.clone().requires_grad_(), up.clone().requires_grad_()

    def backward() -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(F.silu(gr) * ur, (gr, ur), g)

    yield Work(f"gated {m} x {n}", lambda: tk.gated.plain(gate, up), lambda: F.silu(gate) * up, 6.0 * m * n)
    yield Work(f"gated and backward {m} x {n}",
               lambda: (tk.gated.plain(gate, up), tk.gated_backward.plain(g, gate, up))[1], backward, 16.0 * m * n)
    yield Work(f"transform a * row + 1, {m} x {n}", lambda: tk.transform(affine, gate, row), lambda: gate * row + 1.0,
               4.0 * m * n)
    for axis in (0, 1):
        yield Work(f"reduce sum over axis {axis}, {m} x {n}", lambda axis=axis: tk.reduce.plain(gate, "sum", (axis,)),
                   lambda axis=axis: torch.sum(gate, axis), 2.0 * m * n)


def affine(a: Any, row: Any) -> Any:
    return a * row + 1.0


def rotary(batch: int, heads: int, tokens: int, d: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x, cos, sin = random(batch, heads, tokens, d), random(tokens, d // 2), random(tokens, d // 2)

    def theirs() -> Any:
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    yield Work(f"rotary {batch} x {heads} x {tokens} x {d}", lambda: tk.rotary.plain(x, cos, sin), theirs,
               4.0 * x.numel(), tolerance=2.0**-5)


def matrices(n: int) -> Iterator[Work]:
    import torch
    from torch.nn import functional as F

    import tilewright.kernels as tk

    a, b, bias, res = random(n, n), random(n, n), random(n), random(n, n)
    yield Work(f"matmul {n}^3", lambda: tk.matmul.plain(a, b), lambda: a @ b, flops=2.0 * n**3)
    yield Work(f"linear gelu, residual {n}^3", lambda: tk.linear.plain(a, b, bias, res, "gelu_tanh"),
               lambda: res + F.gelu(F.linear(a, b, bias), approximate="tanh"), flops=2.0 * n**3)
    ar, br = a.clone().requires_grad_(), b.clone().requires_grad_()

    def backward() -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(F.linear(ar, br), (ar, br), res)

    yield Work(f"linear and backward {n}^3",
               lambda: (tk.linear.plain(a, b), tk.linear_backward.plain(res, a, b))[1][:2], backward, flops=6.0 * n**3)


def tables(tokens: int, rows: int, d: int) -> Iterator[Work]:
    import torch
    from torch.nn import functional as F

    import tilewright.kernels as tk

    table, g = random(rows, d), random(tokens, d)
    index = torch.randint(0, rows, (tokens,), device=DEVICE)
    yield Work(f"embedding {tokens} of {rows} x {d}", lambda: tk.embedding.plain(table, index),
               lambda: F.embedding(index, table), 4.0 * tokens * d)
    yield Work(f"embedding backward {tokens} of {rows} x {d}", lambda: tk.embedding_backward.plain(g, index, rows),
               lambda: torch.ops.aten.embedding_dense_backward(g, index, rows, -1, False), 2.0 * (tokens + rows) * d)


def attention(batch: int, heads: int, shared: int, tokens: int, d: int, causal: bool) -> Iterator[Work]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    import tilewright.kernels as tk

    q, g = random(batch, heads, tokens, d), random(batch, heads, tokens, d)
    k, v = random(batch, shared, tokens, d), random(batch, shared, tokens, d)
    qr, kr, vr = (t.clone().requires_grad_() for t in (q, k, v))
    kind = f"attention {batch}x{heads}/{shared}x{tokens}x{d}{' causal' if causal else ''}"
    flops = 4.0 * batch * heads * tokens**2 * d * (0.5 if causal else 1.0)

    def sdpa(*given: Any) -> Any:
        return scaled_dot_product_attention(*given, is_causal=causal, enable_gqa=heads != shared)

    def cudnn(*given: Any) -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return sdpa(*given)

    def backward(run: Callable[..., Any]) -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(run(qr, kr, vr), (qr, kr, vr), g)

    def ours() -> Any:
        out, lse = tk.attention.plain(q, k, v, causal)
        return tk.attention_backward.plain(g, None, q, k, v, out, lse, causal)

    yield Work(kind, lambda: tk.attention.plain(q, k, v, causal)[0], lambda: sdpa(q, k, v), flops=flops,
               others={"cuDNN": lambda: cudnn(q, k, v)})
    yield Work(f"{kind} and backward", ours, lambda: backward(sdpa), flops=3.5 * flops,
               others={"cuDNN": lambda: backward(cudnn)}, tolerance=2.0**-5)


def decode(sequences: int, heads: int, shared: int, length: int, d: int) -> Iterator[Work]:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    import tilewright.kernels as tk

    page = 64
    q, k, v = random(sequences, heads, d), *(random(sequences * length // page, page, shared, d) for _ in range(2))
    pages = torch.arange(k.shape[0], device=DEVICE, dtype=torch.int32).view(sequences, -1)
    lengths = torch.full((sequences,), length, device=DEVICE, dtype=torch.int32)
    dense = [x.view(sequences, length, shared, d).transpose(1, 2) for x in (k, v)]
    yield Work(f"decode {sequences}x{heads}/{shared}x{length}x{d}",
               lambda: tk.decode_attention.plain(q, k, v, pages, lengths)[0],
               lambda: scaled_dot_product_attention(q[:, :, None], *dense, enable_gqa=True)[:, :, 0],
               4.0 * sequences * shared * length * d)


def spectra(n: int, points: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x = torch.view_as_complex(random(points // n, n, 2, dtype=torch.float32))
    yield Work(f"fft {points // n} x {n}, complex64", lambda: torch.view_as_real(tk.fft.plain(x)),
               lambda: torch.view_as_real(torch.fft.fft(x)), 16.0 * points, tolerance=1e-5)


def real_spectra(n: int, numbers: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    x = random(numbers // n, n, dtype=torch.float32)
    z = torch.fft.rfft(x)
    yield Work(f"rfft {numbers // n} x {n}, float32", lambda: torch.view_as_real(tk.rfft.plain(x)),
               lambda: torch.view_as_real(torch.fft.rfft(x)), 8.0 * numbers, tolerance=1e-5)
    yield Work(f"irfft {numbers // n} x {n}, float32", lambda: tk.irfft.plain(z), lambda: torch.fft.irfft(z),
               8.0 * numbers, tolerance=1e-5)


def runs_of_keys(n: int, length: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    keys = torch.randint(0, max(1, n // length), (n,), device=DEVICE, dtype=torch.int32).sort().values
    values = random(n, dtype=torch.float32).abs()

    def theirs() -> Any:
        place = torch.unique_consecutive(keys, return_inverse=True)[1]
        return torch.zeros_like(values).index_add_(0, place, values)

    def truth() -> Any:
        place = torch.unique_consecutive(keys, return_inverse=True)[1]
        return torch.zeros_like(values, dtype=torch.float64).index_add_(0, place, values.double())

    # Keys and values are read, and at least the reductions written.
    yield Work(f"reduce_by_key {n}, runs of {length}", lambda: tk.reduce_by_key.plain(keys, values)[1], theirs,
               8.0 * n + 8.0 * n / length, tolerance=1e-6, waits=True, truth=truth)


def optimiser(n: int, layers: int) -> Iterator[Work]:
    import torch

    import tilewright.kernels as tk

    f32 = torch.float32
    sides = [[[random(n, n, dtype=f32) for _ in range(layers)] for _ in range(4)] for _ in range(2)]
    for mine, other in zip(sides[0], sides[1], strict=True):
        for x, y in zip(mine, other, strict=True):
            y.copy_(x.abs_())
    steps = [torch.tensor(2.0, device=DEVICE) for _ in range(layers)]

    def theirs() -> Any:
        values, grads, means, squares = sides[1]
        torch._fused_adamw_(values, grads, means, squares, [], steps, lr=1e-3, beta1=0.9, beta2=0.999,
                            weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False)
        return values[0]

    def ours() -> Any:
        values, grads, means, squares = sides[0]
        tk.adamw(values, grads, means, squares, 2)
        return values[0]

    yield Work(f"adamw {layers} of {n} x {n}, float32", ours, theirs, 28.0 * layers * n * n)


WORKS: tuple[tuple[Make, tuple[tuple[Any, ...], ...]], ...] = (
    (softmax, ((32768, 1024), (16384, 4096), (4096, 16384))),
    (norms, ((32768, 1024), (16384, 4096), (4096, 16384))),
    (groups, ((16, 256, 32), (32, 512, 32), (8, 512, 128))),
    (losses, ((4096, 8192), (4096, 50304), (2048, 128256))),
    (elements, ((8192, 2048), (8192, 8192), (4096, 28672))),
    (rotary, ((1, 32, 2048, 128), (4, 32, 4096, 128), (4, 32, 4096, 64))),
    (matrices, ((1024,), (4096,), (8192,))),
    (tables, ((4096, 32000, 1024), (16384, 50304, 4096), (8192, 128256, 4096))),
    (attention, ((4, 32, 8, 1024, 128, True), (4, 32, 32, 4096, 64, False), (4, 32, 8, 4096, 128, True))),
    (decode, ((1, 32, 8, 16384, 128), (64, 32, 8, 4096, 128), (16, 32, 32, 8192, 128))),
    (spectra, ((64, 1 << 24), (1024, 1 << 24), (8192, 1 << 24), (65536, 1 << 24))),
    (real_spectra, ((64, 1 << 24), (4096, 1 << 24), (65536, 1 << 24))),
    (runs_of_keys, ((1 << 20, 16), (1 << 24, 4), (1 << 24, 1 << 16))),
    (optimiser, ((1024, 4), (4096, 4), (1024, 64))),
)


def tensors(result: Any) -> list[Any]:
    return [result] if not isinstance(result, (tuple, list)) else list(result)


def difference(work: Work) -> float:
    """The largest difference of our results from the truth, or the other side's, in relation to the largest element."""
    worst = 0.0
    for mine, other in zip(tensors(work.ours()), tensors((work.truth or work.theirs)()), strict=True):
        largest = max(float(other.float().abs().max()), 1e-6)
        worst = max(worst, float((mine.float() - other.float()).abs().max()) / largest)
    return worst


def compiled(work: Work) -> Run | None:
    """What torch.compile makes of torch's side, None where it cannot."""
    return compiled_run(work.theirs)


def compiled_run(theirs: Run) -> Run | None:
    """What torch.compile makes of a function, None where it cannot."""
    import torch

    run = torch.compile(theirs, dynamic=False)
    try:
        run()
    except Exception as error:
        print(f"  (torch.compile: {type(error).__name__}: {str(error)[:120]})")
        return None
    return run


def contenders(work: Work, with_compile: bool) -> dict[str, Run]:
    """Each side as a graph, ours first."""
    found: dict[str, Run | None] = {"ours": work.ours, "torch": work.theirs, **work.others}
    if with_compile and not work.others:
        found["compile"] = compiled(work)
    out = {}
    for who, run in found.items():
        try:
            if run is not None:
                run()
                out[who] = run if work.waits and who != "ours" else graph_of(run)
        except Exception as error:  # cuDNN does not take every shape
            print(f"  ({work.name}, {who}: {type(error).__name__}: {str(error)[:120]})")
    return out


def works(kind: str = "") -> Iterator[Work]:
    """All works whose function has this in its name, made one after the other."""
    for make, sizes in WORKS:
        if kind in make.__name__:
            for size in sizes:
                yield from make(*size)


def rows(seconds: float = 1e9, kind: str = "") -> Iterator[Row | str]:
    """A line for each work; what differs by more than its tolerance has no time."""
    import torch

    start = time.perf_counter()
    torch._dynamo.config.cache_size_limit = 1000
    copy, other = copier(1 << 30), torch.ones(OTHER, device=DEVICE)
    for _ in range(500):  # a GPU that had nothing to do runs slower at first
        copy()
    with torch.no_grad():
        for work in works(kind):
            try:
                found = difference(work)
                if not found <= work.tolerance:
                    yield f"{work.name}: WRONG, differs by {found:.3g} of the largest element"
                    continue
                sides = contenders(work, time.perf_counter() - start < seconds)
                times = alternate(sides, rounds=ROUNDS, warmup=2, inner=1, before=lambda: other.sum())
                yield Row(work.name, times, bytes=work.bytes, flops=work.flops)
            except Exception as error:
                yield f"{work.name}: {type(error).__name__}: {str(error)[:300]}"


def warm(part: int, parts: int) -> None:
    """Compile every parts-th size, so that the run that times finds all of it in the caches."""
    import torch

    todo = [(make, size) for make, sizes in WORKS for size in sizes]
    with torch.no_grad():
        for make, size in todo[part::parts]:
            for work in make(*size):
                try:
                    work.ours()
                    if not work.others:
                        compiled(work)
                except Exception as error:
                    print(f"{work.name}: {type(error).__name__}: {str(error)[:200]}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library", description=__doc__)
    parser.add_argument("--warm", help="K/N: compile every N-th size, from the K-th on")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--kind", default="", help="a part of the name of a family, such as norms")
    options = parser.parse_args()
    if options.warm:
        part, parts = options.warm.split("/")
        warm(int(part), int(parts))
        return
    print(f"# each run behind a read of {OTHER >> 18} MiB of other memory\n{machine()}", flush=True)
    for row in rows(options.seconds, options.kind):
        print(row if isinstance(row, str) else row.text(), flush=True)


if __name__ == "__main__":
    main()
