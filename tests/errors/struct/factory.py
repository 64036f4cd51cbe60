"""A default that is made by a function."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: tuple[int, ...] = dataclasses.field(default_factory=tuple)


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), Pair(1).a)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
