"""@ of bools."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((16, 16), ct.bool_)
    ct.store(x, (0,), ct.sum(a @ a).astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
