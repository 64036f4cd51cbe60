"""Other libraries give positions with the maximum."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    values, places = ct.max(ct.load(x, (0, 0), (16, 16)), axis=1)
    ct.store(x, (0, 0), values[:, None])


def main() -> None:
    kernel[(1,)](np.zeros((16, 16), np.float32))
