"""Products over several GPUs beside NCCL with cuBLAS, and beside torch's fused operators.

`torchrun --nproc-per-node 2 -m benchmarks.distributed`: each rank multiplies, the figures are those of the slowest one.
All contenders alternate in one run, and results are checked before they are timed. NVLink multicast stays off.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks._timing import Row

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

Run = Callable[[], Any]
SIZES = ((8192, 8192, 8192), (8192, 2048, 8192))


def rows(gpus: Any) -> Iterator[Row]:
    for m, n, k in SIZES:
        yield gather(gpus, m, n, k)
    for m, n, k in SIZES:
        yield scatter(gpus, m, n, k)


def gather(gpus: Any, m: int, n: int, k: int) -> Row:
    """c = all shards of a, below each other, @ b."""
    from distributed_matmul import TILES, gather_and_multiply, grid, multiply

    torch, dist = gpus.torch, gpus.dist
    shards = gpus.shared((m // gpus.world, k), torch.bfloat16)
    shards[gpus.rank].copy_(random(gpus, m // gpus.world, k))
    shard, b = shards[gpus.rank].clone(), random(gpus, k, n)
    gathered, whole = (random(gpus, m, k) for _ in range(2))
    c, theirs, at_once = (random(gpus, m, n) for _ in range(3))

    def apart() -> None:
        dist.all_gather_into_tensor(whole, shard)
        torch.matmul(whole, b, out=theirs)

    contenders: dict[str, Run] = {
        "ours": lambda: gather_and_multiply(gpus, shards, gathered, b, c),
        "NCCL + cuBLAS": apart,
        "torch fused": lambda: torch.ops.symm_mem.fused_all_gather_matmul(shard, [b], 0, gpus.group.group_name),
        "NCCL alone": lambda: dist.all_gather_into_tensor(whole, shard),
        "cuBLAS alone": lambda: torch.matmul(whole, b, out=theirs),
    }
    for run in contenders.values():
        run()
    dist.all_gather_into_tensor(whole, shard)
    multiply[grid(at_once, gpus.processors)](whole, b, at_once, *TILES)
    agree(gpus, "the gathered product and the one at once", c, at_once, 0.0)
    bound = 2.0**-7 * (theirs.float().abs() + k**0.5)  # both are rounded; near zero the order of sums shows
    agree(gpus, "the gathered product and cuBLAS", c, theirs, bound)
    agree(gpus, "torch's fused product and cuBLAS", contenders["torch fused"]()[1][0], theirs, bound)
    return Row(f"all-gather and multiply {m}x{n}x{k}, {gpus.world} GPUs", alternate(gpus, contenders),
               flops=2.0 * m * n * k)


def scatter(gpus: Any, m: int, n: int, k: int) -> Row:
    """c = this rank's rows of the sum of all ranks' a @ b, whose inner dimension is k over the number of ranks."""
    from distributed_matmul import multiply_and_scatter

    torch, dist, part = gpus.torch, gpus.dist, k // gpus.world
    a, b = random(gpus, m, part), random(gpus, part, n)
    inboxes = gpus.shared((gpus.world - 1, m // gpus.world, n), torch.bfloat16)
    partial, c, theirs = random(gpus, m, n), random(gpus, m // gpus.world, n), random(gpus, m // gpus.world, n)

    def apart() -> None:
        torch.matmul(a, b, out=partial)
        dist.reduce_scatter_tensor(theirs, partial)

    contenders: dict[str, Run] = {
        "ours": lambda: multiply_and_scatter(gpus, a, b, inboxes, c),
        "cuBLAS + NCCL": apart,
        "torch fused": lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, gpus.group.group_name),
        "cuBLAS alone": lambda: torch.matmul(a, b, out=partial),
        "NCCL alone": lambda: dist.reduce_scatter_tensor(theirs, partial),
    }
    for run in contenders.values():
        run()
    exact = a.float() @ b.float()
    want, size = (torch.empty(c.shape, device=gpus.device) for _ in range(2))
    dist.reduce_scatter_tensor(want, exact)
    dist.reduce_scatter_tensor(size, exact.abs())
    # What ranks send is rounded, and what they add to it; near zero the order of sums shows.
    bound = 2.0**-8 * (want.abs() + gpus.world * size + part**0.5)
    agree(gpus, "the scattered sums and those in float32", c, want, bound)
    agree(gpus, "NCCL's sums and those in float32", theirs, want, bound)
    agree(gpus, "torch's fused sums and those in float32", contenders["torch fused"](), want, bound)
    del exact, want, size, bound
    return Row(f"multiply and reduce-scatter {m}x{n}x{part}, {gpus.world} GPUs", alternate(gpus, contenders),
               flops=2.0 * m * n * part)


def random(gpus: Any, *shape: int) -> Any:
    return gpus.torch.randn(shape, device=gpus.device).bfloat16()


def agree(gpus: Any, what: str, one: Any, other: Any, bound: Any) -> None:
    """SystemExit on all ranks where results of any rank differ by more than the bound."""
    torch = gpus.torch
    wrong = torch.tensor([not bool(((one.float() - other.float()).abs() <= bound).all())], dtype=torch.int32,
                         device=gpus.device)
    gpus.dist.all_reduce(wrong)
    if wrong.item():
        raise SystemExit(f"{what} differ, so their times mean nothing")


def alternate(
    gpus: Any, contenders: dict[str, Run], *, samples: int = 9, warmup: int = 3, inner: int = 4,
) -> dict[str, float]:
    """The median time of each contender in microseconds, of the slowest rank in each sample."""
    torch = gpus.torch
    times: dict[str, list[float]] = {who: [] for who in contenders}
    for run in contenders.values():
        for _ in range(warmup):
            run()
    for number in range(samples):
        order = list(contenders.items())
        for who, run in reversed(order) if number % 2 else order:
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            gpus.meet()
            start.record()
            for _ in range(inner):
                run()
            stop.record()
            stop.synchronize()
            slowest = torch.tensor([start.elapsed_time(stop) * 1e3 / inner], device=gpus.device)
            gpus.dist.all_reduce(slowest, gpus.dist.ReduceOp.MAX)
            times[who].append(slowest.item())
    return {who: statistics.median(found) for who, found in times.items()}


def main() -> None:
    os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    from distributed_matmul import Gpus

    from benchmarks.__main__ import machine

    gpus = Gpus()
    if gpus.rank == 0:
        print(f"{machine()}, {gpus.world} of them")
    for row in rows(gpus):
        if gpus.rank == 0:
            print(row.text(), flush=True)
    gpus.dist.destroy_process_group()


if __name__ == "__main__":
    main()
