"""A list that grows while a loop goes through it."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    xs = [ct.load(x, 0, 4)]
    for t in xs:
        if len(xs) < 4:
            xs.append(t + 1.0)
    ct.store(x, 0, xs[-1])


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
