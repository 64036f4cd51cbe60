"""Members of an enum compared by order."""

import enum

import numpy as np

import tilewright as ct


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@ct.tile_kernel
def kernel(x):
    if Mode.FAST < Mode.SLOW:
        ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
