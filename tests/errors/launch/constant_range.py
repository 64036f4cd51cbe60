"""A constant that no integer type holds."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n: ct.Constant[int]):
    ct.store(x, (0,), n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 1 << 64)
