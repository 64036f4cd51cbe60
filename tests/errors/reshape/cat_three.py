"""Three tiles joined at once."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (4,))
    ct.store(x, (0,), ct.cat((t, t, t), 0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
