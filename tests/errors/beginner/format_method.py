"""str.format."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    text = "value {}"
    print(text.format(ct.bid(0)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
