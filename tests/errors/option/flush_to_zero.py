"""Flushing to zero in float16."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.exp2(t, flush_to_zero=True))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float16))
