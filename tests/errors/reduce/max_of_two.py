"""The larger of two tiles, as NumPy's maximum."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.max(t, -t))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
