"""Constants are computed while compiling."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, zero: ct.Constant[int]):
    ct.store(x, (0,), 1.0 / zero)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 0)
