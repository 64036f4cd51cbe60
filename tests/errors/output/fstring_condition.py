"""A formatted string as a condition."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    if f"{ct.bid(0)}":
        print("text")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
