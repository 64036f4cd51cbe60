"""The ten largest elements."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    values, _ = ct.topk(ct.load(x, 0, 16), 10)
    ct.store(x, 0, values)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
