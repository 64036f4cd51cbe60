"""A formatted string times a number."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print(f"{ct.bid(0)}" * 2)


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
