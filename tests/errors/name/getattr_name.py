"""getattr by a run-time name."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), getattr(x, ct.bid(0)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
