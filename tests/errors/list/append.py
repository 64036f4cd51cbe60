"""Growing a list of arrays."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(xs):
    xs.append(1)


def main() -> None:
    kernel[(1,)]([np.zeros(16, np.float32)])
