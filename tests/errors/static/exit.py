"""Python that runs while compiling ends the program."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = ct.static_eval(exit(3))
    ct.store(x, 0, n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
