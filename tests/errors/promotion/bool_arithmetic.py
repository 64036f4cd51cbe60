"""Bools are not added."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    mask = ct.load(x, (0,), (16,)) > 0
    ct.store(x, (0,), ct.astype(mask + mask, ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
