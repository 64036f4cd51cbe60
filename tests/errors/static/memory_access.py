"""A load in static_eval."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.static_eval(ct.load(x, (0,), (16,)))
    ct.store(x, (0,), t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
