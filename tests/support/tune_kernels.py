"""Kernels and the grid that the tests of ct.tune search over."""

from __future__ import annotations

import tilewright as ct
from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import ArrayArgument
from tilewright.tune.job import Job


@ct.tile_kernel
def scale(x, y, n: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, i, ct.load(x, i, n) * 2)


@ct.tile_kernel
def increment(x):
    ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), 16) + 1)


@ct.tile_kernel
def endless(x):
    """No iteration leaves everything as it was, which a launch would notice."""
    n = 0
    while n < 1:
        ct.store(x, 0, ct.load(x, 0, 16))
        n -= 1


def grid(n: int) -> tuple[int, ...]:
    return (ct.cdiv(256, n),)


def array_of(job: Job, position: int) -> ArrayInfo:
    """The memory that a job has made for an array argument."""
    argument = job.arguments[position]
    assert isinstance(argument, ArrayArgument) and isinstance(argument.info, ArrayInfo)
    return argument.info
