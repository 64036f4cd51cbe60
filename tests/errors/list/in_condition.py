"""A list that changes where only the run knows whether it is reached."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    xs = [1, 2]
    n = xs.pop() if ct.load(x, 0, ()) > 0.0 else 5
    ct.store(x, 0, ct.float32(n + len(xs)))


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
