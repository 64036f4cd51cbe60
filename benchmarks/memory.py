"""Memory-bound kernels against a device copy that moves the same bytes, and against torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks._timing import Row, alternate, copier, triton_kernels

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def require(name: str, ok: bool) -> None:
    if not ok:
        raise SystemExit(f"{name}: wrong result, so its time means nothing")


def rows() -> Iterator[Row]:
    import torch
    from fused_relu import relu_scale_add
    from softmax import softmax
    from transpose import transpose
    from vector_add import vector_add

    from benchmarks.kernels import row_sum

    rival = triton_kernels()

    def report(name: str, nbytes: int, ours, theirs, triton=None) -> Row:
        contenders = {"ours": ours, "copy": copier(nbytes), "torch": theirs}
        if rival is not None and triton is not None:
            contenders["triton"] = triton
        return Row(name, alternate(contenders), bytes=nbytes)

    n = 1 << 27
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.full_like(x, float("nan"))
    for tile in (1024, 2048, 4096):
        run = lambda tile=tile: vector_add[(n // tile,)](x, y, out, tile)  # noqa: E731
        out.fill_(float("nan"))
        run()
        require("vector add", torch.equal(out, x + y))
        yield report(f"vector add f32 2^27, tile {tile}", 12 * n, run, lambda: torch.add(x, y, out=out),
                     lambda: rival.run_vector_add(x, y, out))

    x = x.reshape(16384, 8192)
    out = torch.full_like(x, float("nan"))
    for tm, tn in ((1, 2048), (4, 512), (2, 2048)):
        run = lambda tm=tm, tn=tn: relu_scale_add[(16384 // tm, 8192 // tn)](x, out, 0.5, 1.0, tm, tn)  # noqa: E731
        out.fill_(float("nan"))
        run()
        require("fused chain", torch.allclose(out, torch.relu(x) * 0.5 + 1, atol=1e-6))
        yield report(f"relu(x)*0.5+1 f32 16384x8192, tile {tm}x{tn}", 8 * n, run, lambda: torch.relu(x) * 0.5 + 1)

    for columns in (1024, 2048, 4096, 8192):
        m = n // columns
        x = x.reshape(m, columns)
        sums = torch.full((m,), float("nan"), device="cuda")
        run = lambda: row_sum[(m,)](x, sums, columns)  # noqa: E731, B023
        run()
        require("row sum", bool(((sums - x.double().sum(1)).abs() <= columns * 1.2e-7 * x.double().abs().sum(1)).all()))
        yield report(f"row sum f32 {m}x{columns}", 4 * n + 4 * m, run, lambda: torch.sum(x, 1, out=sums))

    for dtype in (torch.bfloat16, torch.float32):
        for columns in (1024, 2048, 4096, 8192):
            m = n // columns
            z = torch.randn(m, columns, device="cuda", dtype=dtype)
            out = torch.full_like(z, float("nan"))
            run = lambda: softmax[(m,)](z, out, columns)  # noqa: E731, B023
            run()
            want = torch.softmax(z.double()[:512], 1)
            eps = 2.0**-8 if dtype is torch.bfloat16 else 1e-6
            require("softmax", bool(((out[:512] - want).abs() <= eps * want).all()) and not bool(out.isnan().any()))
            yield report(f"softmax {dtype} {m}x{columns}"[:44], 2 * z.nbytes, run, lambda: torch.softmax(z, 1),  # noqa: B023
                         lambda: rival.run_softmax(z, out))  # noqa: B023


    for dtype in (torch.bfloat16, torch.float32):
        z = torch.randn(16384, 16384, device="cuda", dtype=dtype)
        out = torch.empty_like(z)
        for tile in (32, 64, 128):
            run = lambda tile=tile: transpose[(16384 // tile, 16384 // tile)](z, out, tile, tile)  # noqa: E731
            out.zero_()
            run()
            require("transpose", torch.equal(out, z.t()))
            yield report(f"transpose {dtype} 16384^2 tile {tile}", 2 * z.nbytes, run, lambda: out.copy_(z.t()))
