"""Adding to an attribute in place."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    x.scale += 2.0


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
