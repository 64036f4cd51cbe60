"""A field that a named tuple does not have."""

import typing

import numpy as np

import tilewright as ct


class Pair(typing.NamedTuple):
    a: int
    b: int


pair = Pair(1, 2)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), pair.c)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
