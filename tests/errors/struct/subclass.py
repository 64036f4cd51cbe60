"""A subclass of a dataclass that is none."""

import dataclasses

import numpy as np

import tilewright as ct


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: int


class Named(Pair):
    pass


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), Named(1, 2).a)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
