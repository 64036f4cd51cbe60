"""ct.load of a view."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    v = x.tiled_view((4,))
    ct.store(x, (0,), ct.load(v, (0,), (4,)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
