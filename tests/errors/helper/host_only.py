"""A function for the host only."""

import numpy as np

import tilewright as ct


@ct.function(host=True, tile=False)
def read_file(name):
    return 1.0


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), read_file("weights"))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
