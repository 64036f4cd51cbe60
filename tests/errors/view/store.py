"""A tile that does not broadcast to the view's."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    v = x.tiled_view((4,))
    v.store((0,), ct.zeros((8,), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
