"""Matrix products over several GPUs, one process for each: shards gathered, and partial sums scattered, meanwhile.

All-gather and multiply: copy engines bring the other ranks' rows while the tensor cores multiply those that are there.
Multiply and reduce-scatter: tiles of other ranks' rows are stored right into their memory while the next ones are
computed, and summed there. `torchrun --nproc-per-node 2 examples/distributed_matmul.py` runs both over NCCL and
symmetric memory; without it, devices are groups of blocks in the interpreter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from _places import Host, check

import tilewright as tw

ACQUIRE, RELEASE, SYS = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryScope.SYS
TILES = (128, 256, 64)


@tw.tile_kernel
def meet(flags, count, rank: tw.Constant[int]):
    """A barrier of all devices, for one block on each. flags: an array of int32 on each device, with an element for
    each rank; count: how often this device has met the others. Afterwards it sees what they wrote before."""
    now = tw.load(count, 0, ()) + 1
    tw.store(count, 0, now)
    for other in range(len(flags)):
        tw.store(flags[other], rank, now, memory_order=RELEASE, memory_scope=SYS)
    for other in range(len(flags)):
        while tw.load(flags[rank], other, (), memory_order=ACQUIRE, memory_scope=SYS) < now:
            pass


def product(a, b, i, j, tm, tn, tk):
    """Tile (i, j) of a @ b in float32."""
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(x, y, acc)
    return acc


def banded(number, rows, columns, band):
    """Row and column of a tile: column by column within a band of `band` rows, so that blocks share the L2."""
    first = number // (band * columns) * band
    height = min(rows - first, band)
    inside = number % (band * columns)
    return first + inside % height, inside // height


@tw.tile_kernel
def multiply(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b; c may lie in another device's memory."""
    rows, columns = tw.cdiv(c.shape[0], tm), tw.cdiv(c.shape[1], tn)
    for number in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = banded(number, rows, columns, 8)
        tw.store(c, (i, j), product(a, b, i, j, tm, tn, tk).astype(c.dtype))


@tw.tile_kernel
def multiply_parts(
    a, b, outs, first: tw.Constant[int], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int],
):
    """outs[p] = part first + p of a's rows, counted round and round, @ b. Parts have a multiple of tm rows; each result
    may lie in another device's memory. In one launch a tile is on its way while the next one is computed."""
    rows, columns = tw.cdiv(outs[0].shape[0], tm), tw.cdiv(b.shape[1], tn)
    for number in range(tw.bid(0), len(outs) * rows * columns, tw.num_blocks(0)):
        p = number // (rows * columns)
        i, j = banded(number % (rows * columns), rows, columns, 8)
        part = (first + p) % (a.shape[0] // outs[0].shape[0])
        tw.store(outs[p], (i, j), product(a, b, part * rows + i, j, tm, tn, tk).astype(b.dtype))


@tw.tile_kernel
def multiply_add(a, b, others, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ b + what the other devices have computed: others[number of the device], shaped as c."""
    rows, columns = tw.cdiv(c.shape[0], tm), tw.cdiv(c.shape[1], tn)
    for number in range(tw.bid(0), rows * columns, tw.num_blocks(0)):
        i, j = banded(number, rows, columns, 8)
        acc = product(a, b, i, j, tm, tn, tk)
        row = i * tm + tw.arange(tm, dtype=tw.int32)[:, None]
        column = j * tn + tw.arange(tn, dtype=tw.int32)[None, :]
        for other in range(others.shape[0]):
            # Gathered as the sums lie in registers: a loaded tile would go through shared memory, which slots need.
            acc = acc + tw.gather(others, (other, row, column)).astype(tw.float32)
        tw.store(c, (i, j), acc.astype(c.dtype))


@tw.tile_kernel
def add_up(c, others, tm: tw.Constant[int], tn: tw.Constant[int]):
    """c += what the other devices have computed: others[number of the device], shaped as c."""
    i, j = tw.bid(0), tw.bid(1)
    total = tw.load(c, (i, j), (tm, tn), padding_mode=tw.PaddingMode.ZERO).astype(tw.float32)
    for other in range(others.shape[0]):
        t = tw.load(others, (other, i, j), (1, tm, tn), padding_mode=tw.PaddingMode.ZERO)
        total = total + t.reshape((tm, tn)).astype(tw.float32)
    tw.store(c, (i, j), total.astype(c.dtype))


def grid(c: Any, most: int, tiles: tuple[int, int, int] = TILES, parts: int = 1) -> tuple[int]:
    """A block for each tile of so many matrices shaped as c, at most so many."""
    return (min(parts * tw.cdiv(c.shape[0], tiles[0]) * tw.cdiv(c.shape[1], tiles[1]), most),)


def slot(source: int, target: int, world: int) -> int:
    """Where a rank keeps the sums of another one, among the places for all others."""
    return (source - target - 1) % world


# ---- on GPUs: one process for each ---------------------------------------------------------------------------------


class Gpus:
    """This process's GPU among those of all ranks: memory that each of them can reach, and a stream for copies."""

    def __init__(self) -> None:
        import torch
        import torch.distributed as dist
        import torch.distributed._symmetric_memory as symmetric

        self.torch, self.dist, self.symmetric = torch, dist, symmetric
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(self.device)
        dist.init_process_group("nccl", device_id=self.device)
        self.group = dist.group.WORLD
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.processors = torch.cuda.get_device_properties(self.device).multi_processor_count
        self.copies = torch.cuda.Stream()
        self._kept: list[Any] = []
        flags = self.shared((self.world,), torch.int32)
        count = torch.zeros(1, dtype=torch.int32, device=self.device)
        self.meet = meet.bind((1,), flags, count, self.rank)

    def shared(self, shape: tuple[int, ...], dtype: Any) -> list[Any]:
        """Zeros in the memory of each rank, by rank; each process makes its own, and maps those of the others."""
        own = self.symmetric.empty(shape, dtype=dtype, device=self.device)
        own.zero_()
        handle = self.symmetric.rendezvous(own, self.group)
        self._kept.append((own, handle))  # the tensors below do not own their memory
        self.torch.cuda.synchronize()
        self.dist.barrier()
        return [own if rank == self.rank else handle.get_buffer(rank, shape, dtype) for rank in range(self.world)]


def gather_and_multiply(gpus: Gpus, shards: Sequence[Any], gathered: Any, b: Any, c: Any) -> None:
    """c = gathered @ b, where gathered has the shards of all ranks one below the other (but for this rank's own, which
    is read where it lies). Copies bring the next shards while one is multiplied."""
    torch, now = gpus.torch, gpus.torch.cuda.current_stream()
    gathered, c = gathered.view(gpus.world, *shards[0].shape), c.view(gpus.world, -1, c.shape[1])
    others = [(gpus.rank + step) % gpus.world for step in range(1, gpus.world)]
    gpus.meet()  # all shards are there
    gpus.copies.wait_stream(now)
    arrived = {}
    with torch.cuda.stream(gpus.copies):
        for source in others:
            gathered[source].copy_(shards[source])
            arrived[source] = gpus.copies.record_event()
    multiply[grid(c[gpus.rank], gpus.processors)](shards[gpus.rank], b, c[gpus.rank], *TILES)
    for source in others:
        now.wait_event(arrived[source])
        multiply[grid(c[source], gpus.processors)](gathered[source], b, c[source], *TILES)
    gpus.meet()  # nobody reads this rank's shard any more


def multiply_and_scatter(gpus: Gpus, a: Any, b: Any, inboxes: Sequence[Any], c: Any) -> None:
    """c = this rank's rows of the sum over all ranks of a @ b. inboxes: on each rank, a matrix shaped as c for each of
    the others."""
    targets = [(gpus.rank + step) % gpus.world for step in range(1, gpus.world)]
    outs, mine = [inboxes[target][slot(gpus.rank, target, gpus.world)] for target in targets], inboxes[gpus.rank]
    gpus.meet()  # nobody reads the inboxes any more
    if gpus.world == 2:  # the other one's sums are read where this rank's are made
        multiply_parts[grid(c, gpus.processors)](a, b, outs, gpus.rank + 1, *TILES)
        gpus.meet()  # all sums have arrived
        rows = a.view(2, c.shape[0], a.shape[1])
        multiply_add[grid(c, gpus.processors)](rows[gpus.rank], b, mine, c, *TILES)
    else:  # this rank's rows come last: meanwhile the others' arrive
        multiply_parts[grid(c, gpus.processors, parts=gpus.world)](a, b, [*outs, c], gpus.rank + 1, *TILES)
        gpus.meet()
        add_up[tw.cdiv(c.shape[0], 8), tw.cdiv(c.shape[1], 1024)](c, mine, 8, 1024)


def on_gpus(m: int = 4096, n: int = 2048, k: int = 2048) -> None:
    """Both products with NCCL's results beside them, on the ranks of torchrun."""
    gpus = Gpus()
    torch, dist, world = gpus.torch, gpus.dist, gpus.world
    generator = torch.Generator(gpus.device).manual_seed(gpus.rank)

    def random(*shape: int) -> Any:
        return torch.randn(shape, generator=generator, device=gpus.device).bfloat16()

    def empty(*shape: int) -> Any:
        return torch.empty(shape, dtype=torch.bfloat16, device=gpus.device)

    shards, b = gpus.shared((m // world, k), torch.bfloat16), random(k, n)
    shards[gpus.rank].copy_(random(m // world, k))
    gathered, c, whole = empty(m, k), empty(m, n), empty(m, k)
    gather_and_multiply(gpus, shards, gathered, b, c)
    dist.all_gather_into_tensor(whole, shards[gpus.rank].clone())
    at_once = empty(m, n)
    multiply[grid(at_once, gpus.processors)](whole, b, at_once, *TILES)
    report(gpus, "all-gather and multiply: as one product", (c != at_once).float(), 0.0)
    want = whole.double() @ b.double()
    report(gpus, "all-gather and multiply", c.double() - want, 2.0**-8 * want.abs() + k * 2.0**-22)

    a, b = random(m, k // world), random(k // world, n)
    inboxes, c = gpus.shared((world - 1, m // world, n), torch.bfloat16), empty(m // world, n)
    multiply_and_scatter(gpus, a, b, inboxes, c)
    partial, want = (a.double() @ b.double()), torch.empty(c.shape, dtype=torch.float64, device=gpus.device)
    size = torch.empty_like(want)
    dist.reduce_scatter_tensor(want, partial)
    dist.reduce_scatter_tensor(size, partial.abs())
    report(gpus, "multiply and reduce-scatter", c.double() - want, 2.0**-8 * (want.abs() + size) + k * 2.0**-22)
    dist.destroy_process_group()


def report(gpus: Gpus, what: str, difference: Any, bound: Any) -> None:
    """One line for all ranks; the program ends where one is wrong."""
    good = gpus.torch.tensor([bool((difference.abs() <= bound).all())], device=gpus.device, dtype=gpus.torch.int32)
    gpus.dist.all_reduce(good, gpus.dist.ReduceOp.MIN)
    if not good.item():
        raise SystemExit(f"{what}: differs by up to {difference.abs().max().item()} on rank {gpus.rank}")
    if gpus.rank == 0:
        print(f"{what:<44} {gpus.world} GPUs       ok, largest difference {difference.abs().max().item():.3g}")


# ---- without one: devices are groups of blocks in the interpreter --------------------------------------------------


class Devices:
    """Some devices' arrays in the memory of the host."""

    def __init__(self, world: int) -> None:
        self.ranks = range(world)
        self.flags = [np.zeros(world, np.int32) for _ in self.ranks]
        self.counts = [np.zeros(1, np.int32) for _ in self.ranks]

    def meet(self) -> None:
        meet.interpret((1,), devices=[(self.flags, self.counts[rank], rank) for rank in self.ranks])

    def each(self, kernel: Any, blocks: int, arguments: Callable[[int], tuple[Any, ...]]) -> None:
        """A launch on each device."""
        kernel.interpret((blocks,), devices=[arguments(rank) for rank in self.ranks])


def on_devices(world: int, m: int, n: int, k: int, tiles: tuple[int, int, int] = (32, 32, 32)) -> None:
    """The same two products, each step on all devices."""
    rng, bfloat16, devices = np.random.default_rng(world), ml_dtypes.bfloat16, Devices(world)
    rows, place = m // world, Host()
    a, b = (rng.standard_normal(shape).astype(bfloat16) for shape in ((m, k), (k, n)))
    want = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = 2.0**-8 * np.abs(want) + k * 2.0**-22 * size

    shards = [a[rank * rows:(rank + 1) * rows] for rank in devices.ranks]
    gathered, c = np.zeros((world, world, rows, k), bfloat16), np.zeros((world, world, rows, n), bfloat16)
    devices.meet()
    for step in range(world):
        for rank in devices.ranks:
            source = (rank + step) % world
            gathered[rank, source] = shards[source]
        devices.each(multiply, 3, lambda rank, step=step: (
            gathered[rank, (rank + step) % world], b, c[rank, (rank + step) % world], *tiles))
    devices.meet()
    for rank in devices.ranks:
        check(f"all-gather and multiply, rank {rank} of {world}", place, c[rank].reshape(m, n), want, bound)

    part = k // world
    inboxes, out = np.zeros((world, world - 1, rows, n), bfloat16), np.zeros((world, rows, n), bfloat16)
    left = [np.ascontiguousarray(a[:, rank * part:(rank + 1) * part]).reshape(world, rows, part)
            for rank in devices.ranks]
    devices.meet()
    outs = [[inboxes[(rank + step) % world, slot(rank, (rank + step) % world, world)] for step in range(1, world)]
            for rank in devices.ranks]
    if world > 2:
        outs = [[*others, out[rank]] for rank, others in zip(devices.ranks, outs, strict=True)]
    devices.each(multiply_parts, 3, lambda rank: (
        left[rank].reshape(m, part), b[rank * part:(rank + 1) * part], outs[rank], rank + 1, *tiles))
    devices.meet()
    if world == 2:
        devices.each(multiply_add, 3, lambda rank: (
            left[rank][rank], b[rank * part:(rank + 1) * part], inboxes[rank], out[rank], *tiles))
    else:
        add_up.interpret((rows, 1), devices=[(out[rank], inboxes[rank], 1, 64) for rank in devices.ranks])
    check(f"multiply and reduce-scatter, {world} ranks", place, out.reshape(m, n), want, bound + 2.0**-8 * size)


def main() -> None:
    if "LOCAL_RANK" in os.environ:
        on_gpus()
        return
    on_devices(2, 128, 96, 128)
    on_devices(3, 96, 64, 96)


if __name__ == "__main__":
    main()
