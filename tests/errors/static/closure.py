"""A function of the kernel called in static_eval."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    def inner():
        return 3
    ct.store(x, (0,), ct.static_eval(inner()))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
