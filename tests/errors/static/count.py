"""static_eval of two expressions."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    n = ct.static_eval(1, 2)
    ct.store(x, (n,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
