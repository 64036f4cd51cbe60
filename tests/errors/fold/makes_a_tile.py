"""The function of a reduction works on scalars."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.reduce(t, 0, lambda a, b: ct.full((4,), 0.0, ct.float32), 0.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
