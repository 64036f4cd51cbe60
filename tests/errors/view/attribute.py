"""A view has a tile shape, no shape."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    v = x.tiled_view((4,))
    ct.store(x, (0,), v.shape[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
