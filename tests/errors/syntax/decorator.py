"""A decorator in a kernel."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    @ct.function
    def inner(v):
        return v + 1
    ct.store(x, (0,), inner(1.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
