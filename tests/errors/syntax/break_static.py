"""A loop that is repeated for each item, and left with lists of different lengths."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    found = []
    for i in ct.static_iter(range(4)):
        found.append(i)
        if ct.bid(0) > i:
            break
    ct.store(x, (0,), float(len(found)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
