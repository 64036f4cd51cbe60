"""A member of an enum for a parameter that is no Constant."""

import enum

import numpy as np

import tilewright as ct


class Mode(enum.Enum):
    FAST = 1


@ct.tile_kernel
def kernel(x, mode):
    ct.store(x, (0,), mode)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), Mode.FAST)
