"""An output that cannot be written."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    x = np.zeros(16, np.float32)
    x.flags.writeable = False
    kernel[(1,)](x)
