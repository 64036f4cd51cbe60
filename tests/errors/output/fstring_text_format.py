"""A number'\''s format of a string."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print(f"{'a':d}")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
