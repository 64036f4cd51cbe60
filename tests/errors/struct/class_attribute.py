"""An attribute that a class does not have."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: int


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), Pair.c)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
