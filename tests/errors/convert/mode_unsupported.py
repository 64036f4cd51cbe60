"""A rounding mode that the target lacks."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,)).astype(ct.bfloat16, rounding_mode=ct.RoundingMode.RP)
    ct.store(x, (0,), t.astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
