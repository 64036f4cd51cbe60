"""An update that does not fit the array."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_add(x, 0, 1.5)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
