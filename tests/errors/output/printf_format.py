"""A format that is no constant string."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.printf(f"{ct.bid(0)}\n")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
