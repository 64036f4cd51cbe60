"""An update that does not broadcast to the indices."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_add(x, ct.arange(4, dtype=ct.int32), ct.zeros((8,), ct.int32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
