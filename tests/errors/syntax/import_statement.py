"""import."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    import math
    ct.store(x, (0,), math.pi)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
