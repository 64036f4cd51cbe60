"""A static assertion that is no bool."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.static_assert(3)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
