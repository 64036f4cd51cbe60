"""Sectors and wavefronts of estimates: those that the simulator's requests touch, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.counter_kernels import Work, works
from support.requested import requested

import tilewright as tw
from tilewright.arguments.bind import ArrayArgument, ArrayList, leaves
from tilewright.arguments.spec import Spec
from tilewright.backend_ptx.simulator import simulate
from tilewright.estimating.machine import Counted
from tilewright.launching.grid import make_grid

WAYS = ("read", "written", "atomic")


def compared(kernel: Any, grid: tuple[int, ...], args: list[Any], target: str) -> tuple[Counted, Any]:
    """What is counted and what a simulated launch touches, after a look at each array."""
    stages = kernel.lower(*args, target=target)
    counted = Counted(stages.target)
    counted.count(stages, stages.machine_ir(), make_grid(grid).size)
    with requested() as watched:
        simulate(kernel, grid, args, target, races=False)
    touched = 0
    for leaf in leaves(stages.arguments):
        items = leaf.items if isinstance(leaf, ArrayList) else [leaf] if isinstance(leaf, ArrayArgument) else []
        for item in items:
            for how in WAYS:
                assert not isinstance(item.info, Spec)
                found = counted.sectors.get(item.name, {}).get(how)
                mine = (found.requests, found.asked) if found is not None else (0, 0)
                assert mine == watched.of(item.info.array, how), (item.name, how)
                touched += mine[1]
    assert touched, "a launch that touches nothing shows nothing"
    return counted, watched


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("work", works(small=True), ids=lambda w: w.name.replace(" ", "-"))
def test_equal_those_of_simulated_requests(work: Work, target: str) -> None:
    made: dict[int, Any] = {}
    counted, watched = compared(
        work.kernel, work.grid, work.values(lambda a: made.setdefault(len(made), a.numbers())), target)
    if target == "sm_80":  # mbarriers lie in shared memory, too
        copies = sum(use.wavefronts for use in counted.uses() if use.what == "copy")
        assert sum(use.wavefronts for use in counted.uses()) - copies == watched.banks


def test_both_ways_of_products_are_there() -> None:
    ops = {work.name: {op.opcode for op in work.kernel.lower(
        *work.values(lambda a: a.spec()), target="sm_90a").machine_ir().walk()} for work in works(small=True)[-3:-1]}
    assert "tma_load" in ops["matmul, TMA"] and "async_load" not in ops["matmul, TMA"]
    assert "async_load" in ops["matmul, cp.async"] and "tma_load" not in ops["matmul, cp.async"]


@tw.tile_kernel
def listed(arrays, n: tw.Constant[int]):
    i = tw.bid(0)
    for k in range(len(arrays)):
        tw.store(arrays[k], (i,), tw.load(arrays[k], (i,), (n,)) + 1.0)


@tw.tile_kernel
def bins(x, out):
    i = tw.bid(0)
    tw.atomic_add(out, tw.load(x, (i,), (64,)), 1)


@tw.tile_kernel
def some_columns(x, out, mask_from, n: tw.Constant[int]):
    """A mask that cuts vectors in some threads."""
    column = tw.arange(n, dtype=tw.int32)
    t = tw.gather(x, (tw.bid(0), column), mask=column >= mask_from, padding_value=0)
    tw.scatter(out, (tw.bid(0), column), t, mask=column >= mask_from)


def aligned(array: Any, more: int = 0) -> Any:
    """A copy at an address that is a multiple of 256, or so many bytes behind one."""
    memory = np.zeros(array.nbytes + 512, np.uint8)
    start = -memory.ctypes.data % 256 + more
    out: Any = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


@pytest.mark.parametrize("target", ["sm_90a", "sm_80"])
def test_lists_atomics_masks_and_starts(target: str) -> None:
    ones = np.ones(200, np.float32)
    compared(listed, (2,), [[aligned(ones), aligned(ones, 4)], 128], target)
    compared(listed, (2,), [[aligned(ones, 12)], 128], target)
    numbers = np.random.default_rng(0).integers(0, 50, 256).astype(np.int32)
    compared(bins, (4,), [aligned(numbers), aligned(np.zeros(50, np.int32))], target)
    table = aligned(np.ones((3, 512), np.float32))
    for first in (0, 5, 256):
        compared(some_columns, (3,), [table, aligned(table), first, 512], target)
