"""A decision on a run-time value in static_eval."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    b = ct.bid(0)
    n = ct.static_eval(1 if b > 0 else 2)
    ct.store(x, (0,), n)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
