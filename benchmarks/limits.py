"""What this machine can do at most, as measured: a large copy, and the best matrix product of the vendor's library."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks._timing import Row, alternate, copier


def rows() -> Iterator[Row]:
    yield copy_rate()
    yield from matrix_rates()


def copy_rate(nbytes: int = 4 << 30) -> Row:
    """A device copy of 2 GiB to 2 GiB."""
    return Row("limit: copy", alternate({"copy": copier(nbytes)}, rounds=7), bytes=nbytes)


def matrix_rates(n: int = 8192) -> Iterator[Row]:
    """cuBLAS on random data; zeros would run faster, as they take less power."""
    import torch

    for dtype in (torch.bfloat16, torch.float16):
        a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
        out = torch.empty_like(a)
        times = alternate({"cuBLAS": lambda: torch.matmul(a, b, out=out)}, rounds=9)  # noqa: B023
        yield Row(f"limit: matrix product {str(dtype)[6:]} {n}^3", times, flops=2.0 * n**3, moved=3.0 * a.nbytes)
