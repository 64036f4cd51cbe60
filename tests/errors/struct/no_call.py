"""Calling an object without __call__."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: int


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), Pair(1, 2)(3))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
