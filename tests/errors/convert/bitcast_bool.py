"""A bitcast of bools."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.bitcast(ct.load(x, (0,), (16,)) > 0, ct.int8).astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
