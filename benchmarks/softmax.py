"""Softmax of rows beside torch, tuned Triton, and a copy that moves the same bytes; wide rows too."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks._check import near, require, sample_rows, spoil
from benchmarks._timing import Row, alternate, copier, fastest, triton_kernels

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

WORK = {
    "bfloat16": ((65536, 1024), (65536, 2048), (32768, 4096), (16384, 8192), (8192, 16384), (8192, 32768),
                 (4096, 65536)),
    "float32": ((65536, 1024), (32768, 4096), (8192, 16384), (4096, 32768), (2048, 65536)),
}
# (rows, columns) -> rows of a block
NARROW = {(1 << 19, 128): (8, 16, 32), (1 << 17, 512): (4, 8)}
# Rows for which a kernel that walks through them in chunks, and reads them twice, is shown as well.
CHUNKED = {"float32": ((2048, 65536),), "bfloat16": ((4096, 65536),)}


def rows() -> Iterator[Row]:
    import torch
    from online_softmax import online_softmax
    from softmax import softmax

    from benchmarks.row_kernels import softmax_rows

    rival = triton_kernels()
    for dtype in ("bfloat16", "float32"):
        narrow = NARROW if dtype == "bfloat16" else {}
        for m, n in (*narrow, *WORK[dtype]):
            x = torch.randn(m, n, device="cuda", dtype=getattr(torch, dtype))
            out = torch.empty_like(x)
            others = {"copy": copier(2 * x.nbytes), "torch": lambda: torch.softmax(x, 1)}  # noqa: B023
            if rival is not None:
                others["triton"] = fastest(rival.softmax_choices(x, out))
            ways = {}
            for height in narrow.get((m, n), ()):
                ways[f", {height} rows a block"] = lambda h=height: softmax_rows[(m // h,)](x, out, h, n)  # noqa: B023
            if (m, n) in WORK[dtype]:
                ways[""] = lambda: softmax[(m,)](x, out, n)  # noqa: B023
            if (m, n) in CHUNKED[dtype]:
                for chunk in (4096, 8192):
                    ways[f", chunks of {chunk}"] = lambda chunk=chunk: online_softmax[(m,)](x, out, chunk)  # noqa: B023
            for how, ours in ways.items():
                spoil(out)
                ours()
                some = sample_rows(x, 64)
                require("softmax", near(out[some], torch.softmax(x[some].double(), 1), 1e-9))
                require("softmax", not out.isnan().any())
                yield Row(f"softmax {dtype} {m}x{n}{how}", alternate({"ours": ours, **others}), bytes=2 * x.nbytes)
