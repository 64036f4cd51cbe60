"""Softmax and norms that walk over rows in a loop beside the same kernels with a block for each row, and a copy.

The number of blocks is a user's choice: the fastest of a few counts, as a tuner would find it. Multiples of the SMs are
the usual ones; a power of two of rows for each block leaves no block with a row more than others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._check import require, spoil
from benchmarks._timing import Row, alternate, copier, fastest

EPS = 1e-5
SHAPES = ((65536, 1024), (32768, 4096), (16384, 8192), (8192, 16384), (4096, 32768), (2048, 65536))
BLOCKS_PER_SM = (1, 2, 4, 8, 16, 32)
ROWS_PER_BLOCK = (2, 4, 8, 16)


def rows() -> Iterator[Row]:
    import torch

    for m, n in SHAPES:
        x = torch.randn(m, n, device="cuda", dtype=torch.bfloat16)
        weight, bias = torch.randn(2, n, device="cuda", dtype=torch.bfloat16)
        outs = torch.empty_like(x), torch.empty_like(x)
        copy = copier(2 * x.nbytes)
        for name, plain, walking in _pairs(x, weight, bias, outs):
            spoil(outs[0])
            spoil(outs[1])
            plain()
            walk = fastest(walking)
            walk()
            # With other numbers of warps the two add up a row in other orders: a rounding of bfloat16 apart.
            require(name, bool(torch.allclose(*outs, rtol=2.0**-7, atol=1e-6)))
            times = alternate({"ours": walk, "plain": plain, "copy": copy})
            yield Row(f"persistent {name} bf16 {m}x{n}", times, bytes=2 * x.nbytes)


def _pairs(x: Any, weight: Any, bias: Any, outs: tuple[Any, Any]) -> Iterator[
        tuple[str, Callable[[], Any], dict[str, Callable[[], Any]]]]:
    """The name, the launch with a block for each row, and by number of blocks those of the persistent kernel."""
    from benchmarks import row_kernels as kernels

    m, n = x.shape
    counts = {f"{k} blocks an SM": k * _multiprocessors() for k in BLOCKS_PER_SM}
    counts |= {f"{k} rows a block": m // k for k in ROWS_PER_BLOCK}
    for name, plain, persistent, extra in (
        ("softmax", kernels.softmax_rows, kernels.persistent_softmax, ()),
        ("rms norm", kernels.rms_norm, kernels.persistent_rms_norm, (weight,)),
        ("layer norm", kernels.layer_norm, kernels.persistent_layer_norm, (weight, bias)),
    ):
        more = (EPS, 1, n) if extra else (1, n)
        yield (
            name, lambda k=plain, e=extra, r=more: k[(m,)](x, *e, outs[0], *r),
            {text: lambda k=persistent, e=extra, r=more, g=blocks: k[(g,)](x, *e, outs[1], *r)
             for text, blocks in counts.items()})


def _multiprocessors() -> int:
    import torch

    return int(torch.cuda.get_device_properties(0).multi_processor_count)
