"""A static assertion."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, tile: ct.Constant[int]):
    ct.static_assert(tile % 16 == 0, f"tile is {tile}, not a multiple of 16")
    ct.store(x, (0,), ct.zeros((tile,), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), 8)
