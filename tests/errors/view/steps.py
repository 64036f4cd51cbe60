"""Steps of a view that do not move."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    v = x.tiled_view((4,), traversal_steps=(0,))
    ct.store(x, (0,), v.load((0,)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
