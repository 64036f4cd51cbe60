"""A member of an enum by two values."""

import enum

import numpy as np

import tilewright as ct


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), Mode(1, 2).value)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
