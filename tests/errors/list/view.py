"""A dict that changes while a view of it has a name."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    sums = {"a": ct.load(x, 0, 4)}
    values = sums.values()
    sums["a"] += 1.0
    ct.store(x, 0, values[0])


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
