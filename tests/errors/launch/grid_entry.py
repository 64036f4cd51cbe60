"""A grid entry that is no integer."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(16 / 4,)](np.zeros(16, np.float32))
