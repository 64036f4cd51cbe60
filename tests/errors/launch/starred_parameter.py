"""A kernel takes a fixed number of arguments."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, *rest):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
