"""A format that does not fit a constant."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    print(f"{7:.2z}")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
