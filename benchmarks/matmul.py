"""Matrix products beside cuBLAS (through torch), correctness checked in the same run."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks._timing import Row, alternate, triton_kernels

GROUP = 8
TILES = ((128, 128, 64), (128, 128, 32), (128, 256, 32), (64, 128, 64))


def close(c, a, b, eps: float) -> bool:
    """|c - a@b| <= (k * 2^-24 sum|a||b| + eps |a@b|), on a sample of rows, in float64."""
    import torch

    rows = torch.randint(0, a.shape[0], (32,), device=a.device)
    x, y = a[rows].double(), b.double()
    want = x @ y
    bound = a.shape[1] * 2.0**-24 * (x.abs() @ y.abs()) + eps * want.abs()
    return bool(((c[rows].double() - want).abs() <= bound).all())


def rows() -> Iterator[Row | str]:
    import torch

    import tilewright as tw
    from benchmarks.kernels import matmul

    rival = triton_kernels()
    torch.backends.cuda.matmul.allow_tf32 = True
    work = [
        (torch.bfloat16, 4096, 4096, 4096, False), (torch.float16, 4096, 4096, 4096, False),
        (torch.float32, 4096, 4096, 4096, True), (torch.bfloat16, 8192, 8192, 8192, False),
        (torch.bfloat16, 1000, 1032, 520, False),
    ]
    for dtype, m, n, k, tf32 in work:
        a, b = torch.randn(m, k, device="cuda", dtype=dtype), torch.randn(k, n, device="cuda", dtype=dtype)
        c, theirs = torch.empty(m, n, device="cuda", dtype=dtype), torch.empty(m, n, device="cuda", dtype=dtype)
        eps = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-10, torch.float32: 0.0}[dtype]
        for tm, tn, tk in TILES:
            tk = tk // 2 if tf32 else tk
            args = (a, b, c, tm, tn, tk, GROUP, tf32)
            run = lambda args=args, grid=(tw.cdiv(m, tm) * tw.cdiv(n, tn),): matmul[grid](*args)  # noqa: E731
            name = f"matmul {'tf32' if tf32 else str(dtype)[6:]} {m}x{n}x{k}, tile {tm}x{tn}x{tk}"
            c.fill_(float("nan"))
            run()
            rounded = [x.double() for x in (a, b)] if not tf32 else [to_tf32(x) for x in (a, b)]
            if not close(c, *rounded, eps):
                raise SystemExit(f"{name}: wrong result, so its time means nothing")
            contenders = {"ours": run, "cuBLAS": lambda: torch.matmul(a, b, out=theirs)}  # noqa: B023
            if rival is not None and (tm, tn) == (128, 128):
                contenders["triton"] = lambda: rival.run_matmul(a, b, theirs, tf32)  # noqa: B023
            yield Row(name, alternate(contenders), flops=2.0 * m * n * k)
    yield float32_error()


def float32_error(n: int = 1024) -> str:
    """A float32 product is real float32: its largest error against float64."""
    import torch

    from benchmarks.kernels import matmul

    a, b, c = (torch.randn(n, n, device="cuda") for _ in range(3))
    matmul[((n // 64) ** 2,)](a, b, c, 64, 64, 32, GROUP, False)
    worst = float((c.double() - a.double() @ b.double()).abs().max())
    return f"matmul float32 {n}^3 by FMA: largest error {worst:.2e} against float64"


def to_tf32(x):
    """Round to ten mantissa bits, as the cast to tfloat32 does."""
    import torch

    bits = x.view(torch.int32)
    return ((bits + 0x0FFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32).double()
