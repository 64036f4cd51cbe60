"""Products with more in the same kernel, beside torch's separate kernels, and products that no table lists.

`limit` is the time that the product itself takes in cuBLAS: what a perfect fusion would reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks._timing import Row, alternate, fastest
from benchmarks.matmul import GROUP, TILES, Run, places


def rows() -> Iterator[Row | str]:
    yield from linear_gelu(4096, 4096, 4096)
    yield from gated(4096, 4096, 4096)
    yield dequantised(4096)
    yield gathered(4096)
    yield chained(16384)


def _random(*shape: int) -> Any:
    import torch

    return torch.randn(*shape, device="cuda").to(torch.bfloat16)


def _best(kernel: Any, m: int, n: int, args: tuple[Any, ...], check: Any, tiles: Any = TILES) -> Run:
    import tilewright as tw

    def choice(tm: int, tn: int, tk: int) -> Run:
        run = lambda: kernel[(tw.cdiv(m, tm) * tw.cdiv(n, tn),)](*args, tm, tn, tk, GROUP)  # noqa: E731
        return check(run)

    return fastest({str(t): choice(*t) for t in tiles})


def _same(name: str, c: Any, want: Any) -> Any:
    """A check of some rows of c against `want(rows)` in float32."""
    import torch

    def check(run: Run) -> Run:
        def first() -> None:
            run()
            rows = torch.randint(0, c.shape[0], (64,), device=c.device)
            expected = want(rows)
            if not torch.allclose(c[rows].float(), expected, rtol=2e-2, atol=2e-2 * float(expected.std())):
                raise SystemExit(f"{name}: wrong result, so its time means nothing")
        c.fill_(float("nan"))
        first()
        return run
    return check


def linear_gelu(m: int, n: int, k: int) -> Iterator[Row | str]:
    import torch
    from torch.nn.functional import gelu

    import tilewright as tw
    from benchmarks.kernels import linear_gelu as plain
    from benchmarks.kernels import persistent_linear_gelu as persistent

    a, b, bias, c = _random(m, k) / k**0.5, _random(k, n), _random(n), _random(m, n)
    want = lambda r: gelu(a[r].float() @ b.float() + bias.float(), approximate="tanh")  # noqa: E731
    check = _same("linear_gelu", c, want)

    def walking(tm: int, tn: int, tk: int, by_tma: bool) -> Run:
        grid = (min(tw.cdiv(m, tm) * tw.cdiv(n, tn), places(tm, tn)),)
        return check(lambda: persistent[grid](a, b, bias, c, tm, tn, tk, GROUP, by_tma))

    ours = fastest({
        "plain": _best(plain, m, n, (a, b, bias, c), check),
        **{f"persistent {t} {by_tma}": walking(*t, by_tma) for t in TILES for by_tma in (True, False)},
    })
    times = alternate({
        "ours": ours, "torch": lambda: gelu(torch.addmm(bias, a, b), approximate="tanh"),
        "limit": lambda: torch.matmul(a, b, out=c),
    })
    yield Row(f"gelu(a @ b + bias) {m}x{n}x{k}", times, flops=2.0 * m * n * k)
    yield _share(times)


def gated(m: int, n: int, k: int) -> Iterator[Row | str]:
    import torch

    from benchmarks.kernels import gated as kernel

    a, b, g, c = _random(m, k) / k**0.5, _random(k, n), _random(k, n), _random(m, n)
    both = torch.cat([b, g], dim=1)
    wide = torch.empty(m, 2 * n, device="cuda", dtype=torch.bfloat16)
    want = lambda r: (a[r].float() @ b.float()) * torch.sigmoid(a[r].float() @ g.float())  # noqa: E731
    tiles = ((128, 128, 64), (64, 256, 64), (256, 64, 64), (64, 128, 64))
    ours = _best(kernel, m, n, (a, b, g, c), _same("gated", c, want), tiles)
    times = alternate({
        "ours": ours, "torch": lambda: (a @ b) * torch.sigmoid(a @ g), "limit": lambda: torch.matmul(a, both, out=wide),
    })
    yield Row(f"(a @ b) * sigmoid(a @ g) {m}x{n}x{k}", times, flops=4.0 * m * n * k)
    yield _share(times)


def _share(times: dict[str, float]) -> str:
    saved, possible = times["torch"] - times["ours"], times["torch"] - times["limit"]
    return f"  saves {saved:.1f} us of the {possible:.1f} us that the product alone would save ({saved / possible:.2f})"


def dequantised(n: int) -> Row:
    import torch

    from benchmarks.kernels import dequantised_matmul as kernel

    a = torch.randint(-127, 128, (n, n), device="cuda", dtype=torch.int8)
    scales, b, c = torch.rand(n, device="cuda") / 127, _random(n, n), _random(n, n)
    want = lambda r: (a[r].float() * scales[r, None]).bfloat16().float() @ b.float()  # noqa: E731
    ours = _best(kernel, n, n, (a, scales, b, c), _same("dequantised", c, want), (*TILES, (128, 256, 128)))
    theirs = lambda: torch.matmul((a.float() * scales[:, None]).bfloat16(), b)  # noqa: E731
    times = alternate({"ours": ours, "torch": theirs, "limit": lambda: torch.matmul(b, b, out=c)})
    return Row(f"(int8 a * scales) @ b {n}^3", times, flops=2.0 * n**3)


def gathered(n: int) -> Row:
    import torch

    from benchmarks.kernels import gathered_matmul as kernel

    a, table, c = _random(n, n), _random(2 * n, n), _random(n, n)
    index = torch.randint(0, 2 * n, (n,), device="cuda", dtype=torch.int32)
    want = lambda r: a[r].float() @ table[index.long()].float()  # noqa: E731
    ours = _best(kernel, n, n, (a, table, index, c), _same("gathered", c, want), ((128, 128, 64), (128, 256, 64)))
    times = alternate({"ours": ours, "torch": lambda: torch.matmul(a, table[index]),
                       "limit": lambda: torch.matmul(a, a, out=c)})
    return Row(f"a @ table[rows] {n}^3", times, flops=2.0 * n**3)


def chained(m: int, n: int = 128, k: int = 1024) -> Row:
    import torch

    import tilewright as tw
    from benchmarks.kernels import chained as kernel

    a, b, d, c = _random(m, k), _random(k, n), _random(n, n), _random(m, n)
    want = lambda r: torch.relu(a[r].float() @ b.float()).bfloat16().float() @ d.float()  # noqa: E731
    run = _same("chained", c, want)(lambda: kernel[(tw.cdiv(m, 128), 1)](a, b, d, c, 128, n, 64, n))
    times = alternate({"ours": run, "torch": lambda: torch.relu(a @ b) @ d})
    return Row(f"relu(a @ b) @ d {m}x{n}x{k}", times, flops=2.0 * m * n * (k + n))
