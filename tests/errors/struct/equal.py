"""Objects of two dataclasses compared."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: int


@dataclasses.dataclass(frozen=True)
class Couple:
    a: int
    b: int


@ct.tile_kernel
def kernel(x):
    if Pair(1, 2) == Couple(1, 2):
        ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
