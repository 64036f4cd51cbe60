"""Transposes beside torch, and a copy that moves the same bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks._check import require
from benchmarks._timing import Row, alternate, copier

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

WORK = {"bfloat16": ((64, 64), (128, 128), (64, 128), (128, 64)), "float32": ((32, 32), (64, 64), (128, 128))}


def rows(n: int = 16384) -> Iterator[Row]:
    import torch
    from transpose import transpose

    for dtype, tiles in WORK.items():
        x = torch.randn(n, n, device="cuda", dtype=getattr(torch, dtype))
        out = torch.empty_like(x)
        for tile in tiles:
            run = lambda t=tile: transpose[(n // t[0], n // t[1])](x, out, *t)  # noqa: E731, B023
            out.zero_()
            run()
            require("transpose", torch.equal(out, x.t()))
            others = {"copy": copier(2 * x.nbytes), "torch": lambda: out.copy_(x.t())}  # noqa: B023
            name = f"transpose {dtype} {n}^2, tile {tile[0]}x{tile[1]}"
            yield Row(name, alternate({"ours": run, **others}), bytes=2 * x.nbytes)
