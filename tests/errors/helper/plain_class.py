"""An object of a plain class."""

import numpy as np

import tilewright as ct


class Scale:
    def __init__(self, v):
        self.v = v


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), Scale(1.0).v)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
