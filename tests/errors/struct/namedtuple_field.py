"""A field of a named tuple."""

import typing

import numpy as np

import tilewright as ct


class Pair(typing.NamedTuple):
    a: int
    b: int


pair = Pair(1, 2)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), pair.a)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
