"""static_iter outside a loop."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    items = ct.static_iter(range(4))
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
